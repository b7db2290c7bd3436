"""What systems say at length beside an answer: diagnostics of a call, a login's banner, a page around a text.

All figures agree: a trace's spans lie within it, times go on, and counts are those of what is listed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.stacks.templates import draw_token
from crosswind.injectors.targets import Half, ToolResultTarget
from crosswind.injectors.text.json_payload import parse_json

HOLDERS = (
    "debug",
    "_debug",
    "diagnostics",
    "verbose",
    "debug_info",
    "trace_info",
    "_diagnostics",
    "telemetry",
)
"""Fields that hold the diagnostics of a call."""
COMMANDS = frozenset(
    "bash shell terminal command cat ls cd grep pwd wc du tail diff mv cp mkdir touch git pytest".split()
)
"""Words of tools that run commands."""
PAGES = frozenset("page web website site url browse browser fetch wikipedia wiki article news blog".split())
"""Words of tools that give a page's text."""

_STEPS = {
    Half.TRAIN: """auth routing validation
    cache lookup policy load_record permissions serialize audit quota""".split(),
    Half.TEST: """gateway token_check ratelimit session
    fetch decode rules enrich render persist notify""".split(),
}
_SERVICES = {
    Half.TRAIN: "edge-proxy identity core-api store cache-01 events".split(),
    Half.TEST: "ingress accounts backend replica-2 redis stream".split(),
}
_HEADERS = {
    Half.TRAIN: (
        ("content-type", "application/json; charset=utf-8"),
        ("strict-transport-security", "max-age=31536000; includeSubDomains; preload"),
        ("cache-control", "private, no-store, max-age=0"),
        ("vary", "Accept-Encoding, Origin, Authorization"),
        ("x-frame-options", "DENY"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "strict-origin-when-cross-origin"),
        (
            "content-security-policy",
            "default-src 'none'; frame-ancestors 'none'; base-uri 'self'; form-action 'self'; "
            "img-src 'self' data:; style-src 'self' 'unsafe-inline'; connect-src 'self' wss:",
        ),
        (
            "permissions-policy",
            "accelerometer=(), camera=(), geolocation=(), gyroscope=(), magnetometer=(), "
            "microphone=(), usb=()",
        ),
        ("access-control-allow-headers", "Authorization, Content-Type, If-None-Match, X-Requested-With"),
        ("server", "nginx/1.24.0"),
        ("via", "1.1 varnish, 1.1 google"),
    ),
    Half.TEST: (
        ("Content-Type", "application/json"),
        ("Connection", "keep-alive"),
        ("Transfer-Encoding", "chunked"),
        ("Pragma", "no-cache"),
        ("X-XSS-Protection", "0"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-site"),
        ("Access-Control-Expose-Headers", "ETag, Link, Location, Retry-After, X-OAuth-Scopes, Deprecation"),
        ("X-DNS-Prefetch-Control", "off"),
        ("Origin-Agent-Cluster", "?1"),
        ("X-Permitted-Cross-Domain-Policies", "none"),
        ("Alt-Svc", 'h3=":443"; ma=86400, h3-29=":443"; ma=86400, h2=":443"; ma=3600'),
        ("Report-To", "group=default; max_age=10886400; endpoints=https://csp.example.net/r"),
    ),
}


def write_diagnostics(
    target: ToolResultTarget, rng: SeededRandom, size: int, *, command: bool = False
) -> Mapping[str, Any]:
    """The diagnostics of a call, or of a command, in about so many characters."""
    parts: list[tuple[str, Callable[[int], Any]]] = [
        ("headers", lambda room: _write_headers(target, rng, room)),
        ("trace", lambda room: _write_trace(target, rng, room)),
    ]
    shape = _describe_shape(parse_json(target.text))
    if size >= 2 * len(json.dumps(shape)):
        parts.append(("shape", lambda _: shape))
    if command:
        parts = [
            ("environment", lambda room: _list_variables(rng, target.branch.half, room)),
            ("limits", lambda room: _list_limits(rng, room)),
            ("usage", lambda room: _write_usage(rng, room)),
        ]
    told: dict[str, Any] = {}
    left = size
    for name, write in rng.shuffled(parts):
        if left > 0:
            told[name] = write(left)
            left -= len(json.dumps(told[name])) + len(name) + 6
    if left > 0:
        told["recent_calls"] = _list_calls(target, rng, left)
    return told


def write_exchange(target: ToolResultTarget, rng: SeededRandom, size: int) -> str:
    """The head of the response whose body a text is, in about so many characters."""
    told = dict(_write_headers(target, rng, size))
    for name in told:
        if name.lower() == "content-type":
            told[name] = "text/plain; charset=utf-8"
    lines = ["HTTP/1.1 200 OK", *(f"{name}: {value}" for name, value in told.items())]
    left = size - sum(map(len, lines))
    while left > 0:
        cookie = f"{draw_token(rng, 'hex', '6')}={draw_token(rng, 'b64', '64')}"
        lines.append(f"set-cookie: {cookie}; Path=/; HttpOnly; Secure; SameSite=Lax")
        left -= len(lines[-1])
    return "\n".join(lines)


def _fill_room(pairs: Iterable[tuple[str, Any]], room: int) -> dict[str, Any]:
    """As many of these members as have room, one at least."""
    told: dict[str, Any] = {}
    for name, value in pairs:
        if room <= 0:
            break
        told[name] = value
        room -= len(name) + len(json.dumps(value)) + 6
    return told


def _write_headers(target: ToolResultTarget, rng: SeededRandom, room: int) -> Mapping[str, str]:
    half = target.branch.half
    own: tuple[tuple[str, str], ...] = (
        ("x-request-id", draw_token(rng, "uuid", "")),
        ("etag", f'W/"{draw_token(rng, "hex", "16")}"'),
        ("content-length", str(len(target.text.encode(errors="surrogatepass")))),
        ("date", f"{_draw_moment(rng):%a, %d %b %Y %H:%M:%S GMT}"),
        ("set-cookie", f"sid={draw_token(rng, 'b64', '64')}; Path=/; HttpOnly; Secure; SameSite=Lax"),
    )
    if half is Half.TEST:
        own = tuple(("-".join(map(str.title, name.split("-"))), value) for name, value in own)
    return _fill_room(rng.shuffled((*rng.sample(_HEADERS[half], rng.integer(7, 11)), *own)), room)


def _write_trace(target: ToolResultTarget, rng: SeededRandom, room: int) -> Mapping[str, Any]:
    half = target.branch.half
    whole: dict[str, Any] = {"trace_id": draw_token(rng, "hex", "32"), "operation": target.tool}
    root, now = draw_token(rng, "hex", "16"), 0
    room -= len(json.dumps(whole)) + 24
    spans: list[dict[str, Any]] = []
    for step in rng.sample(_STEPS[half], rng.integer(5, 9)):
        if room <= 0:
            break
        now += rng.integer(0, 400)
        took = rng.integer(60, 9_000)
        span = {
            "span_id": draw_token(rng, "hex", "16"),
            "parent_id": root,
            "name": step,
            "service": rng.choice(_SERVICES[half]),
            "start_us": now,
            "duration_us": took,
            "status": "OK",
        }
        spans.append(span)
        room -= len(json.dumps(span))
        now += took
    if not spans:
        return {**whole, "duration_us": rng.integer(900, 40_000)}
    return {**whole, "root": root, "duration_us": now + rng.integer(20, 300), "spans": spans}


_VARIABLES = {
    Half.TRAIN: (
        ("SHELL", "/bin/bash"),
        ("LANG", "en_US.UTF-8"),
        ("TERM", "xterm-256color"),
        ("PAGER", "less"),
        ("EDITOR", "vim"),
        ("HISTSIZE", "1000"),
        ("LESSOPEN", "| /usr/bin/lesspipe %s"),
        ("XDG_SESSION_TYPE", "tty"),
        ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
        ("LS_COLORS", "rs=0:di=01;34:ln=01;36:mh=00:pi=40;33:so=01;35:do=01;35:bd=40;33;01:ex=01;32"),
    ),
    Half.TEST: (
        ("SHELL", "/usr/bin/zsh"),
        ("LC_ALL", "C.UTF-8"),
        ("TERM", "screen-256color"),
        ("VISUAL", "nano"),
        ("TMPDIR", "/tmp"),
        ("HISTFILESIZE", "5000"),
        ("MANPATH", "/usr/local/man:/usr/share/man"),
        ("XDG_DATA_DIRS", "/usr/local/share:/usr/share:/var/lib/snapd/desktop"),
        ("PATH", "/opt/bin:/usr/local/bin:/usr/bin:/bin:/usr/games"),
        ("GREP_COLORS", "ms=01;31:mc=01;31:sl=:cx=:fn=35:ln=32:bn=32:se=36"),
    ),
}


def _list_variables(rng: SeededRandom, half: Half, room: int) -> Mapping[str, str]:
    drawn = (("SHLVL", str(rng.integer(1, 3))), ("COLUMNS", str(rng.integer(80, 240))))
    session = (("XDG_SESSION_ID", str(rng.integer(2, 900))), ("SSH_TTY", f"/dev/pts/{rng.integer(0, 9)}"))
    return _fill_room(rng.shuffled((*_VARIABLES[half], *drawn, *session)), room)


def _list_limits(rng: SeededRandom, room: int) -> Mapping[str, Any]:
    limits: tuple[tuple[str, Any], ...] = (
        ("open_files", rng.choice((1024, 4096, 65_536))),
        ("max_user_processes", rng.integer(7_000, 127_000)),
        ("stack_size_kb", 8192),
        ("pending_signals", rng.integer(7_000, 127_000)),
        ("core_file_size", 0),
        ("file_locks", "unlimited"),
        ("virtual_memory", "unlimited"),
        ("pipe_size_512b", 8),
        ("timeout_s", rng.choice((30, 60, 120, 300))),
    )
    return _fill_room(rng.shuffled(limits), room)


def _write_usage(rng: SeededRandom, room: int) -> Mapping[str, Any]:
    usage = (
        ("user_ms", rng.integer(0, 9)),
        ("system_ms", rng.integer(0, 9)),
        ("max_rss_kb", rng.integer(1_800, 9_900)),
        ("minor_faults", rng.integer(80, 900)),
        ("voluntary_switches", rng.integer(1, 30)),
        ("pid", rng.integer(900, 60_000)),
    )
    return _fill_room(rng.shuffled(usage), room)


def _describe_shape(value: Any, depth: int = 0) -> Mapping[str, Any]:
    """The JSON schema that an answer has."""
    if isinstance(value, dict) and depth < 3:
        fields = {str(key): _describe_shape(one, depth + 1) for key, one in list(value.items())[:12]}
        return {"type": "object", "properties": fields, "required": list(fields)}
    if isinstance(value, list):
        items = _describe_shape(value[0], depth + 1) if value else {}
        return {"type": "array", "items": items, "minItems": 0}
    kinds: Mapping[type, str] = {str: "string", bool: "boolean", int: "integer", float: "number"}
    return {"type": kinds.get(type(value), "null" if value is None else "object"), "readOnly": True}


def _list_calls(target: ToolResultTarget, rng: SeededRandom, size: int) -> list[Mapping[str, Any]]:
    """The calls of the same tools before this one, each a little later than the one before."""
    names = sorted({tool.name for tool in target.tools} or {target.tool})[:12]
    now, calls = _draw_moment(rng), list[Mapping[str, Any]]()
    while size > 0:
        now += timedelta(milliseconds=rng.integer(900, 90_000))
        call = {
            "at": f"{now:%Y-%m-%dT%H:%M:%S}.{now.microsecond // 1000:03}Z",
            "id": draw_token(rng, "hex", "12"),
            "operation": rng.choice(names),
            "ms": rng.integer(3, 480),
            "ok": True,
        }
        size -= len(json.dumps(call))
        calls.append(call)
    return calls


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
_SUBJECTS = {
    Half.TRAIN: "gardening,city cycling,home cooking,old cameras,board games,hiking boots,pottery",
    Half.TEST: "bird watching,night trains,bread baking,vinyl records,sailing,street art,beekeeping",
}
_TITLES = {
    Half.TRAIN: (
        "What beginners should know about {}",
        "{}: our readers' favourites",
        "A short guide to {}",
        "Why {} is back",
        "Ten questions about {}",
        "In pictures: {}",
        "Podcast: the quiet joy of {}",
        "How we fell for {}",
    ),
    Half.TEST: (
        "{} on a small budget",
        "The best books on {}",
        "Interview: a life with {}",
        "{} for families",
        "Is {} for you? A quiz",
        "From our archive: {} through the years",
        "Letters to the editor: {}",
        "Weekend ideas: {}",
    ),
}
_FOOTERS = {
    Half.TRAIN: "About | Contact | Privacy | Terms of use | Accessibility | Sitemap | Cookie settings",
    Half.TEST: "Imprint | Data protection | Advertise with us | Corrections | Feedback | Mobile version",
}


def write_page(rng: SeededRandom, half: Half, size: int) -> tuple[str, str]:
    """What a page has above and below a text, in about so many characters at most."""
    menu = _MENU[half].split(",")
    above = [" | ".join(rng.sample(menu, rng.integer(6, 10))), rng.choice(_COOKIES[half])]
    if size < 600:
        above.pop()
    titles = [title.format(subject) for title in _TITLES[half] for subject in _SUBJECTS[half].split(",")]
    shown = rng.sample(titles, max(2, min(len(titles), (size - 500) // 36)))
    related = [f"- {title[:1].upper()}{title[1:]}" for title in shown]
    below = ["", rng.choice(("Related", "More for you", "You may also like", "Most read")), *related]
    return "\n\n".join(above), "\n".join((*below, "", _FOOTERS[half]))
