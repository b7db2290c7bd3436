"""Add fields, items and lines to a tool's result without changing its other bytes."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any

import msgspec

from crosswind.injectors.text.json_leaves import list_leaves
from crosswind.injectors.text.json_payload import REMEMBERED, is_container, parse_json
from crosswind.injectors.text.json_spans import read_token


def is_plain_text(value: Any, text: str) -> bool:
    """Whether the text has several words and is no JSON, not even a bare value such as `shipped`. `value` is
    the parsed text."""
    return not isinstance(value, str | int | float | bool | dict | list | None) and len(text.split()) > 1


class Around(msgspec.Struct, frozen=True, gc=False):
    """A place in a text, and what stands around what is put there."""

    at: int
    before: str = ""
    after: str = ""


class Gap(msgspec.Struct, frozen=True, gc=False):
    """A place between the members of a JSON object, and what stands before and behind a new one."""

    at: int
    lead: str = ""
    tail: str = ""


class Holder:
    """A JSON object to which fields can be added: the text from `start`, behind its brace, to `end`."""

    __slots__ = ("_end", "_gaps", "_keys", "_opened", "_start", "_text")

    def __init__(self, text: str, start: int, end: int, opened: _Open | None) -> None:
        self._text, self._start, self._end, self._opened = text, start, end, opened
        self._keys: frozenset[str] | None = None
        self._gaps: tuple[Gap, ...] = ()

    @property
    def keys(self) -> frozenset[str]:
        if self._keys is None:
            self._read()
        assert self._keys is not None
        return self._keys

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """The first is before its members, the last behind them."""
        if self._keys is None:
            self._read()
        return self._gaps

    def _read(self) -> None:
        """Most often only a few of a list's records are looked at."""
        opened = self._opened or _read_members(self._text, self._start, self._end)
        self._opened = None
        self._keys = frozenset(map(read_token, opened.keys)) if opened.names is None else opened.names
        first = _space_at(self._text, opened.start)
        if opened.comma:
            between = _space_at(self._text, opened.comma)
        else:
            between = first or _separate(self._text)[1][1:]
        before = Gap(opened.start, first, "," if first else f",{between}")
        self._gaps = (before, *[Gap(at, f",{between}") for at in opened.ends])


MOST_HOLDERS = 60
"""Of a longer list, the first records get fields."""
DEEPEST = 2
"""Records in lists of an object (`{"items": [{…}]}`) are that deep."""


def find_holders(text: str) -> tuple[Holder, ...]:
    """The objects of a JSON result that can get fields: the whole, or the records of its lists, and the whole
    before them. Empty objects are left out."""
    return _short_holders(text) if len(text) <= REMEMBERED else _find_holders(text)


def find_first_holder(text: str, value: Any) -> Holder | None:
    """The first of `find_holders`, with its first and last gaps; `value` is the parsed text. Of an object
    whose first member is a scalar none of the others is read."""
    if isinstance(value, dict):
        return _short_first_holder(text) if len(text) <= REMEMBERED else _find_first_holder(text)
    return next(iter(find_holders(text)), None)


def _find_first_holder(text: str) -> Holder | None:
    value = parse_json(text)
    if text.count("{") < MOST_HOLDERS:
        start = text.find("{") + 1
        first = _PIECE_OF_FLAT.search(text, start)
        if first is not None and first[2] is not None:
            end = len(text[: text.rfind("}")].rstrip())
            opened = _Open(start, True, 0, ends=[end], comma=max(0, first.end(3)), names=frozenset(value))
            return Holder(text, start, end, opened)
    return next(iter(find_holders(text)), None)


_short_first_holder = lru_cache(64)(_find_first_holder)
_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_SCALAR = r'[^\s{}\[\]:,"]+'
_MEMBER = rf"({_STRING})\s*:\s*(?:({_STRING}|{_SCALAR})\s*(,)?)?"
"""A member's name, with its value where that is a scalar."""
_FLAT = r'\{[^{}\[\]"]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^{}\[\]"]*+)++\}'
"""An object that holds scalars only, and some."""
_PIECE = re.compile(rf"{_MEMBER}|({_FLAT})\s*(,)?|[{{}}\[\],]|{_STRING}|{_SCALAR}", re.DOTALL)
_PIECE_OF_FLAT = re.compile(_MEMBER, re.DOTALL)


def _find_holders(text: str) -> tuple[Holder, ...]:
    holders: list[tuple[int, int, Holder]] = []
    stack: list[_Open] = []
    for match in _PIECE.finditer(text):
        if match[1] is not None:
            stack[-1].add(match)
            continue
        token = match[0]
        if match[4] is not None:
            if len(stack) <= DEEPEST:
                start = match.start() + 1
                holders.append((len(stack), start, Holder(text, start, match.end(4), None)))
            if stack:
                stack[-1].end(match.end(4), match.end(5))
        elif token in ("{", "["):
            stack.append(_Open(match.end(), token == "{", len(stack)))
            continue
        elif token in ("}", "]"):
            closed = stack.pop()
            if closed.is_object and closed.ends and closed.depth <= DEEPEST:
                holder = Holder(text, closed.start, match.end(), closed)
                holders.append((closed.depth, closed.start, holder))
            if stack:
                stack[-1].end(match.end(), 0)
        else:
            if token == "," and not stack[-1].comma:
                stack[-1].comma = match.end()
            continue
        if len(holders) == MOST_HOLDERS:
            break
    return tuple(holder for _, _, holder in sorted(holders, key=itemgetter(0, 1)))


def _read_members(text: str, start: int, end: int) -> _Open:
    """The members of an object that holds scalars only."""
    opened = _Open(start, True, 0)
    for match in _PIECE_OF_FLAT.finditer(text, start, end):
        opened.add(match)
    return opened


_short_holders = lru_cache(64)(_find_holders)
"""Cached: each operator that adds to a result asks for its holders."""


class _Open(msgspec.Struct):
    """An object or array whose end has not been seen yet."""

    start: int
    is_object: bool
    depth: int
    keys: list[str] = []
    ends: list[int] = []
    """Of its members' values."""
    comma: int = 0
    """The end of its first one; 0: it has none."""
    names: frozenset[str] | None = None
    """What its keys say, where that is known."""

    def end(self, at: int, comma: int) -> None:
        """End a member's value at a place, behind which a comma may end."""
        self.ends.append(at)
        if comma > 0 and not self.comma:
            self.comma = comma

    def add(self, match: re.Match[str]) -> None:
        """Add a member, of which the text after its colon is a scalar or begins a container."""
        self.keys.append(match[1])
        if match[2] is not None:
            self.end(match.end(2), match.end(3))


_SPACE = re.compile(r"\s*")


def _space_at(text: str, at: int) -> str:
    found = _SPACE.match(text, at)
    return found[0] if found else ""


def _separate(text: str) -> tuple[str, str]:
    """What the text has between a key and its value, and between two members."""
    return (": ", ", ") if '": ' in text or '"' not in text else (":", ",")


def around_field(text: str, gap: Gap, key: str) -> Around:
    """The place of a field's value, which is JSON: spaced and escaped as the text is."""
    colon, comma = _separate(text)
    write = _short_name if len(key) <= LONGEST_KEY else _write_name
    return Around(gap.at, f"{gap.lead}{write(key, colon, comma, text.isascii())}", gap.tail)


def _write_name(key: str, colon: str, comma: str, escaped: bool) -> str:
    return f"{_encoder(colon, comma, escaped)(key)}{colon}"


_short_name = lru_cache(4096)(_write_name)


def dump(content: Any, like: str) -> str:
    """A value as JSON in the style of the text."""
    colon, comma = _separate(like)
    return _encoder(colon, comma, like.isascii())(content)


@lru_cache
def _encoder(colon: str, comma: str, escaped: bool) -> Callable[[Any], str]:
    """Made once a style: `json.dumps` makes one for each call."""
    return json.JSONEncoder(separators=(comma, colon), ensure_ascii=escaped).encode


def write_contents(texts: Iterable[str], like: str) -> list[str]:
    """The texts as the result `like` holds them: as JSON strings in its style, or in plain text as they
    are."""
    return [dump(text, like) for text in texts] if is_container(parse_json(like)) else list(texts)


Addition = Sequence[Any]
"""A place in a text, what stands before the content, the content, and what stands behind it."""


def replace_contents(added: Sequence[Addition], contents: Iterable[str]) -> list[Addition]:
    """The same additions with other contents."""
    pairs = zip(added, contents, strict=True)
    return [[at, before, content, after] for (at, before, _, after), content in pairs]


def insert(text: str, added: Iterable[Addition]) -> str:
    """The text with these additions; those at one place stay in their order."""
    pieces: list[str] = []
    end = 0
    for at, before, content, after in sorted(added, key=lambda one: int(one[0])):
        pieces += (text[end:at], before, content, after)
        end = at
    return "".join((*pieces, text[end:]))


def around_line(text: str, at: int) -> Around:
    """The place of a line at the start (0) or the end of a text."""
    behind = at == 0 or (at == len(text) and text.endswith("\n"))
    return Around(at, "", "\n") if behind else Around(at, "\n", "")


def find_item_gap(text: str, value: Any) -> Around | None:
    """The place of one more text in an envelope whose list holds items such as `{"type": "text", "text": …}`
    (MCP), behind the last; None where there is no such list."""
    items = value.get("content") if isinstance(value, dict) else None
    if not isinstance(items, list) or not items or not all(map(_is_text_item, items)):
        return None
    end = max((holder.gaps[-1].at for holder in find_holders(text) if "text" in holder.keys), default=0)
    closed = text.find("}", end) + 1
    if not end or not closed:
        return None
    colon, comma = _separate(text)
    return Around(closed, f'{comma}{{"type"{colon}"text"{comma}"text"{colon}', "}")


def _is_text_item(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") == "text" and isinstance(item.get("text"), str)


class Case(msgspec.Struct, frozen=True, gc=False):
    """How a result writes names of several words."""

    first: bool
    """Whether the first word has a capital."""
    separator: str
    upper: bool = False


def find_case(text: str) -> Case:
    """The convention that the names of most of a result's fields show; snake_case where none does."""
    names = list_leaves(text).names
    return _short_case(tuple(names)) if len(text) <= REMEMBERED else _find_case(names)


def _find_case(names: Sequence[str]) -> Case:
    votes: dict[Case, int] = {}
    for key, count in Counter(names).items():
        judge = _judged_case if len(key) <= LONGEST_KEY else _judge_case
        if (case := judge(key)) is not None:
            votes[case] = votes.get(case, 0) + count
    return max(votes, key=lambda case: votes[case]) if votes else SNAKE


_short_case = lru_cache(64)(_find_case)
"""Cached: a tool's results have the same fields, most often."""
SNAKE = Case(False, "_")


def _judge_case(key: str) -> Case | None:
    if "_" in key.strip("_"):
        return Case(False, "_", key.isupper())
    if "-" in key:
        return Case(key[:1].isupper(), "-")
    if _CAMEL.fullmatch(key):
        return Case(key[0].isupper(), "")
    return Case(True, "") if _PASCAL.fullmatch(key) else None


LONGEST_KEY = 64
"""Characters of the longest key that is remembered."""
_judged_case = lru_cache(4096)(_judge_case)

_CAMEL = re.compile(r"[A-Za-z][a-z0-9]+(?:[A-Z][a-z0-9]*)+")
_PASCAL = re.compile(r"[A-Z][a-z]{2,}")


def write_key(key: str, case: Case) -> str:
    """A name in snake_case as this convention writes it."""
    if case == SNAKE:
        return key
    words = [word for word in key.split("_") if word]
    if case.upper:
        return "_".join(words).upper()
    if case.separator == "_":
        return key
    capital = [word[:1].upper() + word[1:] for word in words]
    return case.separator.join(
        capital if case.first else [words[0], *(capital[1:] if not case.separator else words[1:])]
    )
