"""What a page has around its article, and words of tools that run commands or give pages."""

from __future__ import annotations

import re

from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Half

COMMANDS = frozenset(
    "bash shell terminal command cat ls cd grep pwd wc du tail diff mv cp mkdir touch git pytest".split()
)
"""Words of tools that run commands."""
PAGES = frozenset("page web website site url browse browser fetch wikipedia wiki article news blog".split())
"""Words of tools that give a page's text."""


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


def write_page(rng: SeededRandom, half: Half, size: int, text: str) -> tuple[str, str]:
    """What a page has above and below its text, in about so many characters at most: other pages are on what
    the text names."""
    menu = _MENU[half].split(",")
    above = [" | ".join(rng.sample(menu, rng.integer(6, 10))), rng.choice(_COOKIES[half])]
    if size < 600:
        above.pop()
    subjects = list(dict.fromkeys(_PHRASE.findall(text[:LONGEST])))[:MOST_SUBJECTS]
    titles = [title.format(subject) for title in _TITLES[half] for subject in subjects]
    shown = rng.sample(titles, min(len(titles), max(2, (size - 500) // 36)))
    related = [f"- {title[:1].upper()}{title[1:]}" for title in shown]
    heads = ("Related", "More for you", "You may also like", "Most read", "See also")
    below = ["", rng.choice(heads), *related] if related else []
    return "\n\n".join(above), "\n".join((*below, "", _FOOTERS[half]))


LONGEST, MOST_SUBJECTS = 8_000, 24
"""Characters that are read for what a page is about, and the subjects that are taken."""
