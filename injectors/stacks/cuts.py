"""Draw what stands where an answer was cut, as the system behind the tool writes it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
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
    cuts = [one for one in _in_order(target, way) if one.text or not must_say]
    cuts = [one for one in cuts if one.local or not one.text or not local]
    cuts = [one for one in cuts if not in_words or _WORD.search(one.text)]
    whole = slots.get("all")
    if isinstance(whole, int) and whole < LEAST_COUNTED:
        cuts = [one for one in cuts if _COUNTED.isdisjoint(_names(one.text))]
    total = slots.get("total")
    if way is Way.LINES and isinstance(total, int) and total < LEAST_LINES:
        cuts = [one for one in cuts if _SIZED.isdisjoint(_names(one.text))]
    return _filler(rng, slots).fill_text(cuts[0].text)


LEAST_COUNTED = 400
"""Characters of the shortest text of which a mark counts them: no limit is that low."""
_WORD = re.compile(r"\w")
_COUNTED = frozenset({"left", "shown", "all"})
LEAST_LINES = 12
"""Lines of the shortest text of which a mark tells how many are shown."""
_SIZED = frozenset({"kept", "total"})


@lru_cache(512)
def _names(text: str) -> frozenset[str]:
    return frozenset(slot.name for slot in list_slots(text))


def draw_members(
    target: ToolResultTarget,
    rng: SeededRandom,
    way: Way,
    slots: Mapping[str, object],
    taken: Collection[str],
) -> dict[str, Any] | None:
    """The members that say that a part is missing; None: each collides with one of `taken`."""
    pages = _takes_a_page(target)
    total = slots.get("total")
    cuts = [one for one in _in_order(target, way) if not one.json.keys() & taken]
    if isinstance(total, int) and total < LEAST_PAGED:
        cuts = [one for one in cuts if not _has_sizes(msgspec.json.encode(one.json))]
    if not _has_addresses(target, str(slots.get("key", ""))):
        cuts = [one for one in cuts if not _has_path(msgspec.json.encode(one.json))]
    if not cuts:
        return None
    fitting = (one for one in cuts if pages or not _points_on(msgspec.json.encode(one.json)))
    filled: dict[str, Any] = _filler(rng, slots).fill_json(next(fitting, cuts[0]).json)
    return {key: _put_names(one, slots) for key, one in filled.items()}


def _in_order(target: ToolResultTarget, way: Way) -> Sequence[Cut]:
    """The cuts of that way, the one of the session's system first."""
    branch = target.branch
    backend = find_backend(target.tool, target.arguments, target.tools)
    key = f"cut|{branch.key}|{backend}|{way}"
    shuffle = _shuffle_once if len(key) <= LONGEST_KEY else _shuffle_cuts
    return shuffle(key, branch.half, way)


def _shuffle_cuts(key: str, half: Half, way: Way) -> Sequence[Cut]:
    return tuple(SeededRandom(key).shuffled(list_cuts(half, way)))


_shuffle_once = lru_cache(256)(_shuffle_cuts)
LONGEST_KEY = 256
"""Characters of the longest key whose order is remembered: a session's system has one for all its results."""


LEAST_PAGED = 6
"""Elements of the shortest list of which a page's size is told: no page holds one or two."""


@lru_cache(256)
def _has_sizes(members: bytes) -> bool:
    """Whether a cut's members tell how much a page holds."""
    return any(
        size in members
        for size in (b"imit", b"Max", b"pages", b"Pages", b"maxResults", b"page=", b"next_page")
    )


@lru_cache(256)
def _points_on(members: bytes) -> bool:
    """Whether a cut's members, as JSON, tell where the rest is to be had."""
    return any(slot.name == "b64" for slot in list_slots(msgspec.json.decode(members)))


@lru_cache(256)
def _has_path(members: bytes) -> bool:
    """Whether a cut's members hold an address."""
    return b"/{key}" in members or b"{key}?" in members


def _has_addresses(target: ToolResultTarget, key: str) -> bool:
    """Whether the system may have an address for that field: a web service, for a plain noun."""
    return ToolKind.SQL not in find_kinds(target, "") and key.isalpha()


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
