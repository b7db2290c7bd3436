"""What systems say at length beside an answer: diagnostics of a call, a login's banner, a page around a text.

All figures agree: a trace's spans lie within it, times go on, and counts are those of what is listed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
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
COMMANDS = frozenset("bash shell terminal command cat ls cd grep pwd wc du tail diff git pytest".split())
"""Words of tools that run commands."""

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


def write_diagnostics(target: ToolResultTarget, rng: SeededRandom, size: int) -> Mapping[str, Any]:
    """The diagnostics of a call in about so many characters."""
    parts: list[tuple[str, Callable[[], Any]]] = [
        ("headers", lambda: _write_headers(target, rng)),
        ("trace", lambda: _write_trace(target, rng)),
        ("shape", lambda: _describe_shape(parse_json(target.text))),
        ("auth_context", lambda: _write_token(rng)),
    ]
    told: dict[str, Any] = {}
    left = size
    for name, write in rng.shuffled(parts):
        if left > 0:
            told[name] = write()
            left -= len(json.dumps(told[name]))
    if left > 0:
        told["recent_calls"] = _list_calls(target, rng, left)
    return told


def _write_headers(target: ToolResultTarget, rng: SeededRandom) -> Mapping[str, str]:
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
    return dict(rng.shuffled((*rng.sample(_HEADERS[half], rng.integer(7, 11)), *own)))


def _write_trace(target: ToolResultTarget, rng: SeededRandom) -> Mapping[str, Any]:
    half = target.branch.half
    spans: list[dict[str, Any]] = []
    now, root = 0, draw_token(rng, "hex", "16")
    for step in rng.sample(_STEPS[half], rng.integer(5, 9)):
        now += rng.integer(0, 400)
        took = rng.integer(60, 9_000)
        spans.append(
            {
                "span_id": draw_token(rng, "hex", "16"),
                "parent_id": root,
                "name": step,
                "service": rng.choice(_SERVICES[half]),
                "start_us": now,
                "duration_us": took,
                "status": "OK",
            }
        )
        now += took
    whole = {"trace_id": draw_token(rng, "hex", "32"), "root": root, "operation": target.tool}
    return {**whole, "duration_us": now + rng.integer(20, 300), "spans": spans}


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


def _write_token(rng: SeededRandom) -> Mapping[str, Any]:
    body = draw_token(rng, "alnum", str(rng.integer(300, 620)))
    token = f"eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.eyJ{body}.{draw_token(rng, 'alnum', '342')}"
    issued = int(_draw_moment(rng).timestamp())
    return {"token_type": "JWT", "assertion": token, "issued_at": issued, "expires_at": issued + 3600}


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
    most = max(2, min(len(names), (size - 700) // 90))
    updates = []
    for name in sorted(names[:most]):
        new = rng.integer(4, 30)
        version = f"{rng.integer(1, 9)}.{rng.integer(0, 30)}.{rng.integer(0, 9)}-{rng.integer(1, 4)}ubuntu0"
        updates.append(
            f"{name}/jammy-updates {version}.{new} amd64 [upgradable from: "
            f"{version}.{new - rng.integer(1, 3)}]"
        )
    return "\n".join(
        (
            f"Welcome to Ubuntu 22.04.{release} LTS (GNU/Linux 5.15.0-{kernel}-generic x86_64)",
            "",
            " * Documentation:  https://help.ubuntu.com",
            " * Management:     https://landscape.canonical.com",
            "",
            f"  System information as of {now:%a %b %d %H:%M:%S UTC %Y}",
            "",
            f"  System load:  0.{rng.integer(0, 70):02}              Processes:             "
            f"{rng.integer(96, 240)}",
            f"  Usage of /:   {rng.integer(18, 79)}.{rng.integer(0, 9)}% of 48.27GB   Users "
            f"logged in:       1",
            f"  Memory usage: {rng.integer(11, 64)}%               IPv4 address for eth0: "
            f"10.0.{rng.integer(0, 40)}."
            f"{rng.integer(2, 250)}",
            "",
            f"{len(updates)} updates can be applied immediately.",
            *updates,
            "",
            f"Last login: {now - timedelta(minutes=rng.integer(40, 4_000)):%a %b %d %H:%M:%S %Y} from 10.0.0."
            f"{rng.integer(2, 250)}",
            "",
        )
    )


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
    titles = [title.format(subject) for title in _TITLES[half] for subject in _SUBJECTS[half].split(",")]
    shown = rng.sample(titles, max(3, min(len(titles), (size - 600) // 36)))
    related = [f"- {title[:1].upper()}{title[1:]}" for title in shown]
    below = ["", rng.choice(("Related", "More for you", "You may also like", "Most read")), *related]
    return "\n\n".join(above), "\n".join((*below, "", _FOOTERS[half]))
