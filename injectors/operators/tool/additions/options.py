"""What a result is about, and the wrong option that is nearest to it: another record or item."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

from crosswind.injectors.conversation import ToolList, ToolListKey
from crosswind.injectors.guard.tool_words import READING
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.stacks.errors import LOGINS
from crosswind.injectors.targets import ToolResultTarget
from crosswind.injectors.text.json_payload import is_container, parse_json
from crosswind.injectors.values.parameters import split_name

LONGEST = 48
"""Characters of the longest option that a remark names."""
MOST = 40
"""Records of a list that are looked at."""

_LABELS = ("name", "title", "label", "display_name", "full_name", "subject", "summary", "headline")
_ITEM = re.compile(r"^[ \t]{0,4}(?:\d{1,2}[.)]|[-*\u2022])[ \t]+(.{2,60}?)[ \t]*(?: - .*)?$", re.MULTILINE)
_TOKEN_OR_END = re.compile(r"[^\W\d_]{3,}|\n")


class Slots:
    """What fills a remark's slots here; those that have nothing are left out."""

    def __init__(self, target: ToolResultTarget, rng: SeededRandom) -> None:
        self._target, self._point = target, rng.uniform()
        tool = _find_tool(target, rng.uniform())
        self.of_call: dict[str, str] = {} if tool is None else {"tool": tool}

    def with_options(self) -> dict[str, str]:
        """With those of the result's records, too: `chosen` and `option`."""
        first = list(islice(_list_labels(self._target), 2))
        if len(first) > 1:
            return _WithOption(self.of_call, self._target, self._point)
        return self.of_call | {"chosen": first[0]} if first else self.of_call


OPTIONS = frozenset({"option", "chosen"})
"""The slots that a result's records fill."""


class _WithOption(dict[str, str]):
    """Slots with `chosen` and `option`, which are looked for when they are asked for: few phrases do."""

    def __init__(self, slots: dict[str, str], target: ToolResultTarget, point: float) -> None:
        super().__init__(slots, chosen="", option="")
        self._target, self._point = target, point

    def __getitem__(self, name: str) -> str:
        found = super().__getitem__(name)
        if not found and name in OPTIONS:
            target = self._target
            labels = list(islice(_list_labels(target), MOST))
            chosen = _choose(labels, f"{target.arguments} {target.branch.opening}".lower())
            beside = [at for at in (chosen - 1, chosen + 1) if 0 <= at < len(labels)]
            self["chosen"], self["option"] = labels[chosen], labels[beside[int(self._point * len(beside))]]
            found = super().__getitem__(name)
        return found


def _list_labels(target: ToolResultTarget) -> Iterator[str]:
    """The names of the records or items that a result lists, in order."""
    value = parse_json(target.text)
    found = _read_labels(value) if is_container(value) else _ITEM.findall(target.text[:8000])
    met: set[str] = set()
    for label in found:
        one = label.strip()
        if one not in met and len(one) <= LONGEST and _WORD.search(one) and not _ODD.search(one):
            met.add(one)
            yield one


_ODD = re.compile(r"[{}<>\n]")
_WORD = re.compile(r"[^\W\d_A-Z]{3}|[\u3040-\u30ff\u4e00-\u9fff]{2}")
"""What a name has, and an id hasn't."""


def _read_labels(value: Any) -> Iterator[str]:
    """The labels of the largest list in a result; of a single record, its own."""
    lists: list[list[Any]] = []
    _add_lists(value, 0, lists)
    if not lists:
        lists = [[value]] if isinstance(value, dict) else []
    for record in max(lists, key=len, default=[])[:MOST]:
        if (label := _find_label(record)) is not None:
            yield label


def _add_lists(value: Any, depth: int, lists: list[list[Any]]) -> None:
    """Add the lists of a value that have something."""
    if isinstance(value, list):
        if value:
            lists.append(value)
    elif depth < 3:
        for one in value.values():
            if isinstance(one, _CONTAINERS):
                _add_lists(one, depth + 1, lists)


_CONTAINERS = (dict, list)


def _find_label(record: Any) -> str | None:
    """What a record is called: by a name, or else by its first id. A text is called what it says."""
    if isinstance(record, str):
        return record
    if not isinstance(record, dict):
        return None
    keys = tuple(record)
    names, ids = _find_labelling(keys) if len(keys) <= _MOST_KEYS else _find_labelling.__wrapped__(keys)
    for key in names:
        if isinstance(record[key], str):
            return str(record[key])
    for key in ids:
        if isinstance(record[key], _ID_TYPES):
            return str(record[key])
    return None


_ID_TYPES = (str, int)
_MOST_KEYS = 40
"""Of a record whose fields are remembered: a list's records have the same ones."""


@lru_cache(256)
def _find_labelling(keys: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The fields that may hold a record's name, the best first, and those that may hold an id."""
    spelt = {"_".join(split_name(key)): key for key in keys}
    found = (
        next((key for name, key in spelt.items() if name == label or name.endswith(f"_{label}")), None)
        for label in _LABELS
    )
    ids = [key for name, key in spelt.items() if name == "id" or name.endswith(("_id", "number", "code"))]
    return [key for key in found if key is not None], ids


def _choose(labels: Sequence[str], said: str) -> int:
    """The option that the conversation's words name, or else the first."""
    shared = [0]
    named = "\n".join(labels)
    if named.isascii():
        named = named.lower()  # All at once: in other scripts that may change where a word ends.
    for token in _TOKEN_OR_END.findall(named):
        if token == "\n":
            shared.append(0)
        elif token.lower() in said:
            shared[-1] += 1
    return shared.index(max(shared))


def _find_tool(target: ToolResultTarget, point: float) -> str | None:
    """A declared tool that reads the same things as the one that was called, by the words of their names."""
    near = [name for name in list_near(target) if next(iter(split_name(name)), "") in READING]
    return near[int(point * len(near))] if near else None


def list_near(target: ToolResultTarget) -> list[str]:
    """The declared tools on the same things as the one that was called, the nearest first; no logins."""
    return _find_near(target.tool, ToolList.of(target.tools).key)


@lru_cache(256)
def _find_near(tool: str, declared: ToolListKey) -> list[str]:
    own = list_things(tool)
    shared = {one.name: len(own & list_things(one.name)) for one in declared.tools if one.name != tool}
    named = [name for name, count in shared.items() if count and _LOGS_IN.isdisjoint(split_name(name))]
    return sorted(named, key=lambda name: (-shared[name], name))[:MOST_NEAR]


MOST_NEAR = 5
_LOGS_IN = LOGINS | {"logout", "authenticated"}
_SAYS_NO_THING = frozenset(
    """a all an and at available by check data detail details for from get history id in info is item items
    list login me my name nearest new number of on or result results search set status tool type user users
    value with""".split()
)
"""Words of a tool's name that name no thing."""


def list_things(tool: str) -> frozenset[str]:
    """The things that a tool's name speaks of, without its verb, in the singular."""
    words = split_name(tool)[1:]
    return frozenset(word.removesuffix("s") for word in words if word not in _SAYS_NO_THING)
