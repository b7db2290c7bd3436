"""Credentials of many kinds, made up from the shapes of the masker's rules: seeded, and none is real."""

# ruff: noqa: PERF401, PLR0911
from __future__ import annotations

import math
import random
import re
import re._constants as code
import re._parser as parser
import string
import tomllib
from collections import Counter
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from crosswind.gateway.recorder import secret_rules

LETTERS = string.ascii_letters + string.digits
SKIPPED = {
    "generic-api-key": "made below, by the names that hold secrets",
    "curl-auth-header": "a header's value, as below",
    "curl-auth-user": "made below",
    "private-key": "made below",
    "discord-client-id": "no secret: an id of digits",
    "jwt-base64": "its shape can't be made up: base64 of a token",
}


@dataclass(frozen=True)
class Canary:
    """A credential in the text that makes it known; `bare` if its own shape does."""

    kind: str
    text: str
    secret: str

    @property
    def bare(self) -> bool:
        return self.text.strip() == self.secret


def make_canaries(seed: int) -> list[Canary]:
    rng = random.Random(seed)
    found = list(by_rules(rng))
    for name in (
        "api_key",
        "API-KEY",
        "accessToken",
        "client_secret",
        "auth_token",
        "db_credential",
        "passwd",
    ):
        found.append(_named(name, f'"{name}": "{{}}"', _key(rng, 32)))
        found.append(_named(f"{name}=", f"{name}={{}} ", _key(rng, 28)))
    for header in ("X-Auth-Token", "X-Amz-Security-Token", "X-Api-Key", "Authorization", "PRIVATE-TOKEN"):
        found.append(_named(header, f"{header}: {{}}", _key(rng, 40)))
    for scheme in ("Basic", "Bearer", "Token", "Digest"):
        found.append(_named(scheme, f"Authorization: {scheme} {{}}", _key(rng, 40)))
    for parameter in ("sig", "signature", "X-Amz-Signature", "token", "access_token", "key"):
        url = f"https://files.example.com/a.pdf?expires=9&{parameter}={{}}&more=1"
        found.append(_named(f"?{parameter}", url, _key(rng, 40)))
    for prefix in (
        "gsk_",
        "pplx-",
        "r8_",
        "sk_live_",
        "npm_",
        "ya29.",
        "dop_v1_",
        "xai-",
        "nvapi-",
        "sk-",
        "sk-ant-api03-",
    ):
        found.append(Canary(prefix, (key := prefix + _key(rng, 64)), key))
    found.append(Canary("SG.", (key := f"SG.{_key(rng, 22)}.{_key(rng, 43)}"), key))
    found.append(_named("cookie", "Cookie: session={}; theme=dark", _key(rng, 40)))
    found.append(_named("Set-Cookie", "Set-Cookie: sid={}; Path=/; HttpOnly", _key(rng, 40)))
    found.append(_named("url", "postgres://admin:{}@db.example.com:5432/shop", _key(rng, 20)))
    found.append(_named("curl", "curl -u admin:{} https://api.example.com/", _key(rng, 20)))
    lines = "\n".join(_key(rng, 64) for _ in range(6))
    found.append(_named("pem", "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----", lines))
    for text in ("password: {}", 'DB_PASSWORD="{}"', '{{"passphrase": "{}"}}', "Pwd={};Encrypt=yes"):
        found.append(_named(text, text, f"{_key(rng, 8)}!{_key(rng, 9)}"))
    return found


def by_rules(rng: random.Random) -> list[Canary]:
    """One credential for each of gitleaks' rules that apply to texts."""
    rules = tomllib.loads(files(secret_rules).joinpath("gitleaks.toml").read_text())["rules"]
    found = []
    for rule in rules:
        if "regex" in rule and "path" not in rule and rule["id"] not in SKIPPED:
            found.append(_by_rule(rule, rng))
    return found


def _by_rule(rule: dict[str, Any], rng: random.Random) -> Canary:
    pattern = re.compile(secret_rules.translate(rule["regex"]))
    tree = parser.parse(pattern.pattern)
    for _ in range(300):
        text = _write(tree, rng)
        if not any(word in text.lower() for word in rule["keywords"]):
            text = f"{rule['keywords'][0]} {text}"
        match = pattern.search(text)
        if match is None:
            continue
        groups = [match[rule["secretGroup"]]] if "secretGroup" in rule else match.groups()
        if rule["id"] == "microsoft-teams-webhook":
            groups = ()  # Its groups are parts of it.
        secret = next((one for one in groups if one), match[0])
        if _bits(secret) > max(rule.get("entropy", 0), 2.5):
            return Canary(rule["id"], text, secret)
    raise AssertionError(f"no credential can be made for {rule['id']}")


def _named(kind: str, text: str, secret: str) -> Canary:
    return Canary(kind, text.format(secret), secret)


def _key(rng: random.Random, size: int) -> str:
    return (
        "".join(rng.choices(LETTERS, k=size - 2))
        + rng.choice(string.digits)
        + rng.choice(string.ascii_letters)
    )


def _bits(text: str) -> float:
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())


def _write(tree: Any, rng: random.Random) -> str:
    """A text that a parsed regular expression matches."""
    return "".join(_one(op, argument, rng) for op, argument in tree)


def _one(op: Any, argument: Any, rng: random.Random) -> str:
    if op is code.LITERAL:
        return chr(argument)
    if op is code.ANY:
        return rng.choice(LETTERS)
    if op is code.NOT_LITERAL:
        return rng.choice([one for one in LETTERS if ord(one) != argument])
    if op is code.IN:
        return rng.choice(_choices(argument))
    if op is code.BRANCH:
        return _write(rng.choice(argument[1]), rng)
    if op is code.SUBPATTERN:
        return _write(argument[3], rng)
    if op in (code.MAX_REPEAT, code.MIN_REPEAT):
        least, most, inner = argument
        # Separators and names as short as they may be; secrets of some length.
        times = least if most - least <= 30 or op is code.MIN_REPEAT else min(least + 24, int(most))
        return "".join(_write(inner, rng) for _ in range(times))
    return ""


def _choices(members: Any) -> str:
    negated, found = members[0][0] is code.NEGATE, ""
    for op, argument in members[1:] if negated else members:
        if op is code.LITERAL:
            found += chr(argument)
        elif op is code.RANGE:
            found += "".join(map(chr, range(argument[0], argument[1] + 1)))
        elif op is code.CATEGORY:
            classes = {
                code.CATEGORY_DIGIT: string.digits,
                code.CATEGORY_SPACE: " ",
                code.CATEGORY_WORD: LETTERS,
            }
            found += classes.get(argument, LETTERS)
    if negated:
        return "".join(one for one in LETTERS if one not in found) or " "
    usual = "".join(one for one in found if one in LETTERS)
    return usual or found or " "
