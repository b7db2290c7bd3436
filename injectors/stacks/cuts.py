"""Draw what stands where an answer was cut, as the system behind the tool writes it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import msgspec

from crosswind.injectors.conversation import ToolList
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.stacks.backends import find_backend
from crosswind.injectors.stacks.kinds import find_kinds
from crosswind.injectors.stacks.model import Cut, ToolKind, Way, list_cuts
from crosswind.injectors.stacks.templates import Filler, Unfilled, list_slots
from crosswind.injectors.targets import Half, ToolResultTarget

_PAGING = frozenset(
    {
        *("cursor", "after", "before", "page", "page_token", "pagetoken", "offset", "start"),
        *("next_token", "nexttoken", "continuation"),
    }
)
"""Parameters with which a tool takes a page's mark."""


def draw_text(
    target: ToolResultTarget,
    rng: SeededRandom,
    way: Way,
    slots: Mapping[str, object],
    *,
    must_say: bool,
    local: bool = True,
    in_words: bool = False,
) -> str:
    """The text that stands where an answer was cut in that way. `must_say`: it isn't empty. `local`: the
    system is no service; of any text but JSON it might be one. `in_words`: an ellipsis alone isn't enough."""
    whole, total = slots.get("all"), slots.get("total")
    untold = _COUNTED if isinstance(whole, int) and whole < LEAST_COUNTED else frozenset[str]()
    if way is Way.LINES and isinstance(total, int) and total < LEAST_LINES:
        untold |= _SIZED

    def fits(ending: _Ending) -> bool:
        text = ending.cut.text
        if (must_say and not text) or (local and text and not ending.cut.local):
            return False
        return untold.isdisjoint(ending.names) and not (in_words and not _WORD.search(text))

    return _filler(rng, slots).fill_text(next(filter(fits, _in_order(target, way))).cut.text)


LEAST_COUNTED = 400
"""Characters of the shortest text of which a mark counts them: no limit is that low."""
_WORD = re.compile(r"\w")
_COUNTED = frozenset({"left", "shown", "all"})
LEAST_LINES = 12
"""Lines of the shortest text of which a mark tells how many are shown."""
_SIZED = frozenset({"kept", "total"})


class _Ending(msgspec.Struct, frozen=True, gc=False):
    """A cut, and what it tells."""

    cut: Cut
    names: frozenset[str]
    """The names of its text's slots."""
    has_sizes: bool
    """Whether its members tell how much a page holds."""
    has_path: bool
    """Whether they hold an address."""
    points_on: bool
    """Whether they tell where the rest is to be had."""


@cache
def _list_endings(half: Half, way: Way) -> Sequence[_Ending]:
    return tuple(map(_read_cut, list_cuts(half, way)))


def _read_cut(cut: Cut) -> _Ending:
    members = msgspec.json.encode(cut.json)
    return _Ending(
        cut,
        frozenset(slot.name for slot in list_slots(cut.text)),
        has_sizes=any(size in members for size in _SIZES),
        has_path=b"/{key}" in members or b"{key}?" in members,
        points_on=any(slot.name == "b64" for slot in list_slots(cut.json)),
    )


_SIZES = (b"imit", b"Max", b"pages", b"Pages", b"maxResults", b"page=", b"next_page")


def draw_members(
    target: ToolResultTarget,
    rng: SeededRandom,
    way: Way,
    slots: Mapping[str, object],
    taken: Collection[str],
) -> dict[str, Any] | None:
    """The members that say that a part is missing; None: each collides with one of `taken`."""
    total = slots.get("total")
    sized, key = not isinstance(total, int) or total >= LEAST_PAGED, str(slots.get("key", ""))

    def fits(ending: _Ending) -> bool:
        if (ending.has_sizes and not sized) or not ending.cut.json.keys().isdisjoint(taken):
            return False
        return not ending.has_path or _has_addresses(target, key)

    endings = filter(fits, _in_order(target, way))
    first = chosen = next(endings, None)
    if chosen is not None and chosen.points_on and not _takes_a_page(target):
        chosen = next((one for one in endings if not one.points_on), first)
    if chosen is None:
        return None
    filled: dict[str, Any] = _filler(rng, slots).fill_json(chosen.cut.json)
    return {key: _put_names(one, slots) for key, one in filled.items()}


def _in_order(target: ToolResultTarget, way: Way) -> Sequence[_Ending]:
    """The cuts of that way, the one of the session's system first."""
    branch = target.branch
    backend = find_backend(target.tool, target.arguments, target.tools)
    key = f"cut|{branch.key}|{backend}|{way}"
    shuffle = _shuffle_once if len(key) <= LONGEST_KEY else _shuffle_endings
    return shuffle(key, branch.half, way)


def _shuffle_endings(key: str, half: Half, way: Way) -> Sequence[_Ending]:
    return tuple(SeededRandom(key).shuffled(_list_endings(half, way)))


_shuffle_once = lru_cache(256)(_shuffle_endings)
LONGEST_KEY = 256
"""Characters of the longest key whose order is remembered: a session's system has one for all its results."""


LEAST_PAGED = 6
"""Elements of the shortest list of which a page's size is told: no page holds one or two."""


def _has_addresses(target: ToolResultTarget, key: str) -> bool:
    """Whether the system may have an address for that field: a web service, for a plain noun."""
    return key.isalpha() and ToolKind.SQL not in find_kinds(target, "")


def _takes_a_page(target: ToolResultTarget) -> bool:
    own = ToolList.of(target.tools).named(target.tool)
    properties = own[0].parameters.get("properties") if own else None
    return isinstance(properties, Mapping) and any(str(name).lower() in _PAGING for name in properties)


def _filler(rng: SeededRandom, slots: Mapping[str, object]) -> Filler:
    def fill(name: str, argument: str) -> str:
        if name not in slots:
            raise Unfilled(name)
        return str(slots[name])

    return Filler(rng, fill)


def _put_names(value: Any, slots: Mapping[str, object]) -> Any:
    """The members with the list of names where their slot was."""
    if isinstance(value, dict):
        return {key: _put_names(one, slots) for key, one in value.items()}
    if isinstance(value, list):
        return [_put_names(one, slots) for one in value]
    names = slots.get("names")
    return names if names is not None and value == str(names) else value
