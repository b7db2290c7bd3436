"""Find secrets in bytes by the rules of a well-kept list, gitleaks', and by ours for what it leaves out.

The rules are data: `gitleaks.toml` (unchanged, its version at its top) and `crosswind.toml` (in the same
format). Rules that gitleaks limits to files of certain names don't apply to texts.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from ahocorasick import Automaton

from crosswind.gateway.recorder.secret_rules.reading import Readable

Span = tuple[int, int]

_SPARED = ("generic-api-key", "curl-auth-user", "curl-auth-header", "private-key")
"""Rules of gitleaks' that are not used as they are: the first has exemptions of ours, the others may take
quadratic time outside of RE2; `crosswind.toml` and `_PRIVATE_KEY` stand for them."""
_GENERIC = "generic-api-key"
_SLOW_START = r"[\w.-]{0,50}?"
"""How many of gitleaks' rules begin. It widens what is matched and not the secret in it."""
_CONTEXT = (100, 160)
"""How many bytes before and behind a long run of key characters a rule looks at."""

_PRIVATE_KEY = re.compile(
    rb"-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----"
    rb"(?:[^\"']{0,20000}?-----END[ A-Z0-9_-]{0,100}KEY(?: BLOCK)?-----|[A-Za-z0-9+/=:,\s-]{0,20000})"
)
_END_OF_KEY = re.compile(rb"-----END[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----")
_IN_PRIVATE_KEY = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/= \t\r\n"
_LONGEST_PRIVATE_KEY = 20_000

_KEY_CHARACTERS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.~+/")
_CLASSES = bytes(ord("k") if byte in _KEY_CHARACTERS else ord(" ") for byte in range(256))
_RUN = b"k" * 12
_LONG_RUN = 20
"""Every secret but a private key has 12 key characters in a row with a digit among them, or 20, or stands
beside such a run. Rules that hold `anywhere` need none.
"""
_PARTS = ("microsoft-teams-webhook", "jwt-base64")
"""Rules whose groups are parts of the secret only."""
_DEMANDED = {"vault-service-token": re.compile(rb"s\.(?:[0-9A-Za-z]{24}|[\w-]{90})")}
"""What every match of a rule holds, for rules whose keywords most texts have: `s.` ends a sentence."""
_NEAR = (80, 4)
"""How many bytes before and behind a run the keyword of a rule may stand."""
_find_digit = re.compile(rb"[0-9]").search
_HINTS = [
    re.compile(one)
    for one in (
        rb"k(?:ie(?<=cookie)|ey(?<=[-i]key)|en(?<=-token))",
        rb"p(?:ass[wp]|wd)",
        rb"c(?:url|ret(?<=secret))",
        rb"x(?=-)",
        rb"/(?<=:/)(?=/)",
    )
]
"""What of the keywords of rules that hold `anywhere` most texts lack. Each begins with one letter, so that C
looks for it: a pattern of all of them takes twice as long."""


class SecretRules:
    """The rules, by their keywords."""

    def __init__(self, documents: tuple[Mapping[str, Any], ...]) -> None:
        beside: dict[bytes, list[_Rule]] = {}
        anywhere: dict[bytes, list[_Rule]] = {}
        allowed = _compile_all(documents[0].get("allowlist", {}).get("regexes", ()))
        stopwords = tuple(word.encode() for word in documents[0].get("allowlist", {}).get("stopwords", ()))
        exempt = _compile_all([one for document in documents for one in document.get("exempt", ())])
        for number, document in enumerate(documents):
            for given in document["rules"]:
                name = given["id"]
                if "regex" not in given or "path" in given or (number == 0 and name in _SPARED[1:]):
                    continue
                rule = _Rule(given, allowed, stopwords, exempt if name == _GENERIC else ())
                for keyword in given["keywords"]:
                    keywords = anywhere if given.get("anywhere") else beside
                    keywords.setdefault(keyword.lower().encode(), []).append(rule)
        self._beside = _Keywords(beside)
        hinted = [(hint, [one for one in anywhere.items() if hint.search(one[0])]) for hint in _HINTS]
        self._hinted = [(hint.search, keywords) for hint, keywords in hinted]
        known = {keyword for _, keywords in hinted for keyword, _ in keywords}
        self._anywhere = [one for one in anywhere.items() if one[0] not in known]

    def find(self, segment: bytes, *, named: bool = True) -> list[Span]:
        """The spans of the secrets in a segment, in order and apart. It may be JSON, or a part of JSON.

        With `named` false only by rules that know a secret by its own shape, and not by a name before it.
        """
        return self.find_in(Readable(segment), named=named)

    def find_in(self, readable: Readable, *, named: bool = True) -> list[Span]:
        """`find` for a segment that has been read."""
        text = readable.text
        # `in` looks first whether bytes are a number: `find` takes half the time.
        found = _find_private_keys(text) if text.find(b"PRIVATE KEY") >= 0 else []
        lower = text.lower()
        if runs := _find_runs(text):
            # Only a keyword in or before a run counts.
            near = [lower[begin:end] for begin, end in _widen(runs, _NEAR)]
            rules = self._beside.find(b"\0".join(near))
            if rules and (rules := _find_possible(rules, text, named=named)):
                found += _apply(rules, text, _widen(runs, _CONTEXT))
        if named and (rules := self._find_anywhere(lower)):
            found += _apply(_find_possible(rules, text, named=True), text, [(0, len(text))])
        return readable.locate(_join(found)) if found else []

    def may_find(self, text: bytes) -> bool:
        """Whether `find` may find anything in a text, or in a part of it: not where it lacks every keyword.
        For a short text that takes less than half the time.
        """
        if text.find(b"\\") >= 0 or text.find(b"PRIVATE KEY") >= 0:
            return True  # It may read otherwise than it is written, or needs no keyword.
        lower = text.lower()
        return self._beside.is_any_in(lower) or bool(self._find_anywhere(lower))

    def _find_anywhere(self, text: bytes) -> set[_Rule]:
        """The rules that hold `anywhere` of which a keyword stands in the text, which is in lower case."""
        found: set[_Rule] = set()
        find = text.find
        for keyword, rules in self._anywhere:
            if find(keyword) >= 0:
                found.update(rules)
        for search, keywords in self._hinted:
            if search(text) is not None:
                for keyword, rules in keywords:
                    if find(keyword) >= 0:
                        found.update(rules)
        return found


def _find_possible(rules: Iterable[_Rule], text: bytes, *, named: bool) -> set[_Rule]:
    """The rules that may find anything in a text, of those that a keyword in it speaks for."""
    return {
        rule
        for rule in rules
        if (named or not rule.by_name) and (rule.demanded is None or rule.demanded.search(text))
    }


def _apply(rules: Iterable[_Rule], text: bytes, windows: Sequence[Span]) -> Iterator[Span]:
    """What the rules find in the windows of a text."""
    for rule in rules:
        for window in windows:
            yield from rule.find(text, window)


class _Keywords:
    """Find the rules of which a keyword stands in a text, by one pass over it for the keywords of all."""

    def __init__(self, rules: Mapping[bytes, Sequence[_Rule]]) -> None:
        self._automaton = Automaton()
        for keyword, of_keyword in rules.items():
            self._automaton.add_word(keyword.decode(), of_keyword)
        self._automaton.make_automaton()

    def find(self, text: bytes) -> set[_Rule]:
        """The rules for a text in lower case."""
        found: set[_Rule] = set()
        for _, of_keyword in self._automaton.iter(text.decode("latin-1")):
            found.update(of_keyword)
        return found

    def is_any_in(self, text: bytes) -> bool:
        """Whether any keyword stands in a text in lower case."""
        return next(self._automaton.iter(text.decode("latin-1")), None) is not None


class _Rule:
    """One rule; its expressions are compiled when it is needed first."""

    def __init__(
        self,
        given: Mapping[str, Any],
        allowed: tuple[re.Pattern[bytes], ...],
        stopwords: tuple[bytes, ...],
        exempt: tuple[re.Pattern[bytes], ...],
    ) -> None:
        self.name: str = given["id"]
        self.by_name = "(?:=|>|" in given["regex"] or "[:=]" in given["regex"]
        """Whether a name stands before the secret."""
        self.demanded = _DEMANDED.get(self.name)
        self._given = given
        self._entropy: float = given.get("entropy", 0)
        self._allowed, self._stopwords, self._exempt = allowed, stopwords, exempt
        self._pattern: re.Pattern[bytes] | None = None
        self._lists: list[_AllowList] = []

    def find(self, text: bytes, window: Span) -> Iterator[Span]:
        if self._pattern is None:
            self._lists = [_AllowList(one) for one in self._given.get("allowlists", ())]
            self._pattern = re.compile(translate(self._given["regex"]).encode())
        at, end = window
        while (match := self._pattern.search(text, at, end)) is not None:
            # What follows a secret may begin the next match.
            span = self._secret(match)
            at = max(span[1], match.start() + 1)
            if self._is_secret(text, span, match):
                yield span

    def _secret(self, match: re.Match[bytes]) -> Span:
        """The span of the secret in a match: its first group that has anything, or all of it."""
        given, groups = self._given.get("secretGroup"), match.re.groups
        for group in [given] if given else range(1, groups + 1) if self.name not in _PARTS else ():
            begin, end = match.span(group)
            if begin < end:
                return begin, end
        whole = match[0].rstrip(b"`'\"; \t\r\n")
        return match.start(), match.start() + len(whole)

    def _is_secret(self, text: bytes, span: Span, match: re.Match[bytes]) -> bool:
        secret = text[span[0] : span[1]]
        if self._entropy and _entropy(secret) <= self._entropy:
            return False
        if self.name == _GENERIC and not any(48 <= byte <= 57 for byte in secret):
            return False
        if secret.isdigit() and text[span[0] - 1 : span[0]] in (b":", b" ", b",", b"["):
            return False  # A JSON number: a mask in its place would break the document.
        if any(one.search(secret) for one in self._allowed) or any(
            word in secret.lower() for word in self._stopwords
        ):
            return False
        begin = _begin_of_name(text, match.start())
        whole = text[begin : match.end()]
        return not any(one.search(text[begin : span[0]]) for one in self._exempt) and not any(
            one.allows(secret, whole) for one in self._lists
        )


class _AllowList:
    """What one rule must not take for a secret."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._in_match = given.get("regexTarget") == "match"
        self._regexes = _compile_all(given.get("regexes", ()))
        words = [re.escape(word.lower()) for word in given.get("stopwords", ())]
        self._stopwords = re.compile("|".join(words).encode()) if words else None

    def allows(self, secret: bytes, match: bytes) -> bool:
        if any(one.search(match if self._in_match else secret) for one in self._regexes):
            return True
        return self._stopwords is not None and self._stopwords.search(secret.lower()) is not None


@cache
def load_rules() -> SecretRules:
    folder = files(__name__)
    named = ("gitleaks.toml", "crosswind.toml")
    return SecretRules(tuple(tomllib.loads(folder.joinpath(one).read_text()) for one in named))


def translate(regex: str) -> str:
    """A regular expression of Go's for Python: flags in the middle hold up to the end of their group."""
    regex = regex.replace("[[:alnum:]]", "[A-Za-z0-9]").replace(r"\z", r"\Z")
    at = regex.find("(?i)", 1)
    while at > 0:
        end = _end_of_group(regex, at + 4)
        regex = f"{regex[:at]}(?i:{regex[at + 4 : end]}){regex[end:]}"
        at = regex.find("(?i)", 1)
    for flags in ("(?i)", ""):
        if regex.startswith(flags + _SLOW_START):
            regex = flags + regex[len(flags + _SLOW_START) :]
    return regex


def _end_of_group(regex: str, at: int) -> int:
    """Where the group ends in which `at` lies."""
    depth, in_class = 0, False
    while at < len(regex):
        one = regex[at]
        if one == "\\":
            at += 1
        elif in_class:
            in_class = one != "]"
        elif one == "[":
            in_class = True
        elif one == "(":
            depth += 1
        elif one == ")":
            if depth == 0:
                return at
            depth -= 1
        at += 1
    return at


def _compile_all(regexes: Any) -> tuple[re.Pattern[bytes], ...]:
    return tuple(re.compile(translate(one).encode()) for one in regexes)


def _find_runs(text: bytes) -> list[Span]:
    """The long runs of key characters. Nearly all texts have few: words are short."""
    find = text.translate(_CLASSES).find
    runs: list[Span] = []
    at = find(_RUN)
    while at >= 0:
        end = find(b" ", at)
        if end < 0:
            end = len(text)
        if end - at >= _LONG_RUN or _find_digit(text, at, end):
            runs.append((at, end))
        at = find(_RUN, end)
    return runs


def _widen(runs: Sequence[Span], around: Span) -> list[Span]:
    """The places around runs, in order and apart. The last may reach behind the text."""
    before, behind = around
    wide: list[Span] = []
    last = -1
    for begin, end in runs:
        first = begin - before if begin > before else 0
        if first <= last:
            first = wide.pop()[0]
        last = end + behind
        wide.append((first, last))
    return wide


def _find_private_keys(text: bytes) -> list[Span]:
    """Private keys, also those of which only the first or the last lines are there."""
    found = [match.span() for match in _PRIVATE_KEY.finditer(text)]
    behind = max((end for _, end in found), default=0)
    for match in _END_OF_KEY.finditer(text):
        if match.start() >= behind:
            first = max(behind, match.start() - _LONGEST_PRIVATE_KEY)
            lines = text[first : match.start()]
            found.append((match.start() - len(lines) + len(lines.rstrip(_IN_PRIVATE_KEY)), match.end()))
            behind = match.end()
    return found


def _begin_of_name(text: bytes, at: int) -> int:
    """Where the name begins in which a match begins: what gitleaks' rules begin with."""
    begin = at
    while begin > max(0, at - 50) and (text[begin - 1] in b"_.-" or text[begin - 1 : begin].isalnum()):
        begin -= 1
    return begin


def _entropy(secret: bytes) -> float:
    """Bits for each byte (Shannon)."""
    size = len(secret)
    return -sum(count / size * math.log2(count / size) for count in Counter(secret).values())


def _join(spans: list[Span]) -> list[Span]:
    joined: list[Span] = []
    for begin, end in sorted(spans):
        if joined and begin <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((begin, end))
    return joined
