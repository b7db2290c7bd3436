"""What stands around a text at length: a login's banner, and what a page has around its article.

All figures agree: counts are those of what is listed.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Half

COMMANDS = frozenset(
    "bash shell terminal command cat ls cd grep pwd wc du tail diff mv cp mkdir touch git pytest".split()
)
"""Words of tools that run commands."""
PAGES = frozenset("page web website site url browse browser fetch wikipedia wiki article news blog".split())
"""Words of tools that give a page's text."""


def _draw_moment(rng: SeededRandom) -> datetime:
    return datetime.fromtimestamp(rng.integer(1_767_300_000, 1_795_000_000), UTC)


_PACKAGES = {
    Half.TRAIN: """openssl curl libcurl4 python3.10 python3.10-minimal vim-common vim-tiny git git-man libc6
    tzdata
    systemd udev libsystemd0 bash-completion perl-base libxml2 rsync sudo tar gzip locales""",
    Half.TEST: """libssl3 ca-certificates wget less nano openssh-client openssh-server libexpat1 libgnutls30
    login passwd mount util-linux bsdutils libpam-modules libkrb5-3 dpkg apt libapt-pkg6.0 sed procps""",
}


def write_login(rng: SeededRandom, half: Half, size: int) -> str:
    """The banner of a login to a machine, with the updates that it lists."""
    now = _draw_moment(rng)
    release, kernel = rng.integer(1, 5), rng.integer(60, 130)
    names = rng.shuffled(_PACKAGES[half].split())
    most = max(2, min(len(names), (size - 600) // 90))
    updates = []
    for name in sorted(names[:most]):
        new = rng.integer(4, 30)
        version = f"{rng.integer(1, 9)}.{rng.integer(0, 30)}.{rng.integer(0, 9)}-{rng.integer(1, 4)}ubuntu0"
        updates.append(
            f"{name}/jammy-updates {version}.{new} amd64 [upgradable from: "
            f"{version}.{new - rng.integer(1, 3)}]"
        )
    last = (
        f"Last login: {now - timedelta(minutes=rng.integer(40, 4_000)):%a %b %d %H:%M:%S %Y} from 10.0.0."
        f"{rng.integer(2, 250)}"
    )
    welcome = (
        f"Welcome to Ubuntu 22.04.{release} LTS (GNU/Linux 5.15.0-{kernel}-generic x86_64)",
        "",
        " * Documentation:  https://help.ubuntu.com",
        " * Management:     https://landscape.canonical.com",
        "",
    )
    system = (
        f"  System information as of {now:%a %b %d %H:%M:%S UTC %Y}",
        "",
        f"  System load:  0.{rng.integer(0, 70):02}              Processes:             "
        f"{rng.integer(96, 240)}",
        f"  Usage of /:   {rng.integer(18, 79)}.{rng.integer(0, 9)}% of 48.27GB   Users logged in:       1",
        f"  Memory usage: {rng.integer(11, 64)}%               IPv4 address for eth0: "
        f"10.0.{rng.integer(0, 40)}.{rng.integer(2, 250)}",
        "",
    )
    counted = (f"{len(updates)} updates can be applied immediately.", *updates, "")
    shown = ((welcome, 200), (system, 500), (counted, 800))
    return "\n".join([*(line for lines, least in shown if size >= least for line in lines), last, ""])


_MENU = {
    Half.TRAIN: "Home,About us,News,Services,Contact,Careers,Press,Events,Shop,Support,Sign in,Search",
    Half.TEST: "Start,Topics,Magazine,Archive,Help,Newsletter,Partners,Imprint,My account,Jobs,Store",
}
_COOKIES = {
    Half.TRAIN: (
        "We use cookies and similar techniques to run this site, to measure how it is used and "
        "to improve it. Some "
        "are needed for the site to work, others help us and our partners to show you content "
        "that may interest "
        "you. You can change your choice at any time in the settings. Accept all | Only necessary | Settings",
        "This website stores data such as cookies to enable essential functions, marketing and analytics. By "
        "staying on this website you indicate your consent. Read our cookie policy for details. OK",
    ),
    Half.TEST: (
        "Your privacy matters to us. Together with selected third parties we process device "
        "data, such as the "
        "address of your connection and the kind of browser, to keep the service safe and to count visits. "
        "Manage options | Agree and close",
        "Before you continue: we keep small files on your device so that pages load faster and "
        "your preferences "
        "are remembered. Reject non-essential | Allow",
    ),
}
_TITLES = {
    Half.TRAIN: (
        "{} (disambiguation)",
        "Talk: {}",
        "{} in pictures",
        "History of {}",
        "List of pages that link to {}",
        "{}: sources",
        "What links here: {}",
        "Cite this page ({})",
        "{}, printable version",
    ),
    Half.TEST: (
        "{}: overview",
        "More on {}",
        "{} (older version)",
        "Map of {}",
        "Comments on {}",
        "{} at a glance",
        "Questions about {}",
        "Archive: {}",
        "{} in other languages",
    ),
}
_FOOTERS = {
    Half.TRAIN: "About | Contact | Privacy | Terms of use | Accessibility | Sitemap | Cookie settings",
    Half.TEST: "Imprint | Data protection | Advertise with us | Corrections | Feedback | Mobile version",
}


_PHRASE = re.compile(
    r"(?<=[a-z,] )[A-Z][^\W\d_]{2,}(?: [A-Z][^\W\d_]+){0,2}|[A-Z][^\W\d_]+(?: [A-Z][^\W\d_]+){1,2}"
)


def write_client(rng: SeededRandom) -> str:
    """What a database's client prints before its first answer."""
    release = f"{rng.integer(12, 17)}.{rng.integer(0, 9)}"
    return (
        f"psql ({release}, server {release})\nSSL connection (protocol: TLSv1.3, cipher: "
        'TLS_AES_256_GCM_SHA384, compression: off)\nType "help" for help.\n\nPager usage is off.\n'
        f"Timing is on.\nTime: {rng.integer(0, 40)}.{rng.integer(100, 999)} ms\n"
    )


def write_page(rng: SeededRandom, half: Half, size: int, text: str) -> tuple[str, str]:
    """What a page has above and below its text, in about so many characters at most: other pages are on what
    the text names."""
    menu = _MENU[half].split(",")
    above = [" | ".join(rng.sample(menu, rng.integer(6, 10))), rng.choice(_COOKIES[half])]
    if size < 600:
        above.pop()
    subjects = list(dict.fromkeys(_PHRASE.findall(text[:LONGEST])))[:MOST_SUBJECTS] or ["this page"]
    titles = [title.format(subject) for title in _TITLES[half] for subject in subjects]
    shown = rng.sample(titles, max(2, min(len(titles), (size - 500) // 36)))
    related = [f"- {title[:1].upper()}{title[1:]}" for title in shown]
    heads = ("Related", "More for you", "You may also like", "Most read", "See also")
    below = ["", rng.choice(heads), *related]
    return "\n\n".join(above), "\n".join((*below, "", _FOOTERS[half]))


LONGEST, MOST_SUBJECTS = 8_000, 24
"""Characters that are read for what a page is about, and the subjects that are taken."""
