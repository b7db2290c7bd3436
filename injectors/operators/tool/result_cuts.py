"""The ways in which systems cut a result, each drawn so that what is left tells that something is missing."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from crosswind.injectors.operators.tool.cut_ways import (
    CORE,
    LEAST_MIDDLE,
    find_list,
    find_string,
    is_local,
    list_derived,
    list_free,
)
from crosswind.injectors.operators.tool.facts import split_field
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.stacks.cuts import draw_members, draw_text
from crosswind.injectors.stacks.model import Shape, ToolKind, Way
from crosswind.injectors.stacks.shapes import find_shape
from crosswind.injectors.targets import Draw, ToolResultTarget
from crosswind.injectors.text.graphemes import find_boundary
from crosswind.injectors.text.json_payload import parse_json

LEAST_OF_JSON = 300
"""Characters that a limit lets through at least."""
LEAST_BROKEN = 200
"""Characters of the shortest text that ends within a word: a limit of bytes is no lower."""
LEAST_KEPT = 0.3
"""The least share of a text's characters that its first lines have."""
LEAST_ROWS = 6
"""Ends of lines in a text that loses whole ones from its middle."""
FEWEST = 2
"""Elements that a list keeps, and fields of a record's core that are lost: none fails alone."""
NULL = 0.05
"""How often lost fields are there, as null; always where errors give their paths."""


class ResultCut(msgspec.Struct, frozen=True, gc=False):
    """Draws what is left of one result."""

    target: ToolResultTarget
    rng: SeededRandom
    text: str
    kinds: frozenset[ToolKind]
    """Of the system behind the tool."""
    lost: float
    """The share that is lost."""
    order: float
    """Where fields are lost, and whether a cut keeps words whole: uniform(0, 1)."""

    def draw(self, way: Way) -> Draw | None:
        return _DRAWS[way](self)

    def draw_bytes(self) -> Draw:
        """A cut after so many characters, in the middle of a word as well; what is no service marks it."""
        text = self.text
        kept = max(LEAST_OF_JSON, round((1 - self.lost) * len(text)))
        keep = find_boundary(text, max(1, min(len(text) - 1, kept))) or 1
        slots = {"left": len(text) - keep, "shown": keep, "all": len(text)}
        is_json = find_shape(text) is not Shape.TEXT
        way = Way.BYTES if is_json else Way.TAIL
        local = is_local(self.target.tool, self.kinds)
        mark = draw_text(self.target, self.rng, way, slots, must_say=local or not is_json, local=local)
        return {"keep": keep, "from": len(text), "mark": mark}

    def draw_tail(self) -> Draw:
        """A text without its end. Where nothing says so, it ends within a word."""
        text = self.text
        keep = max(1, min(len(text) - 1, round((1 - self.lost) * len(text))))
        local = is_local(self.target.tool, self.kinds)
        within = None if local or len(text) < LEAST_BROKEN else _find_within_word(text, keep)
        keep = find_boundary(text, within or _find_word_end(text, keep)) or 1
        slots = {"left": len(text) - keep, "shown": keep, "all": len(text)}
        mark = draw_text(self.target, self.rng, Way.TAIL, slots, must_say=within is None)
        if mark and self.order < 0.5:
            keep = find_boundary(text, _find_word_end(text, keep)) or keep
        if mark[:1] == " ":
            keep = len(text[:keep].rstrip()) or keep
        return {"keep": keep, "from": len(text), "mark": mark}

    def draw_lines(self) -> Draw | None:
        """A text without its last lines."""
        text = self.text
        lines = text.splitlines(keepends=True)
        if len(lines) < 2:
            return None
        kept = max(1, min(len(lines) - 1, round((1 - self.lost) * len(lines))))
        while kept < len(lines) - 1 and len("".join(lines[:kept])) < LEAST_KEPT * len(text):
            kept += 1
        keep = len("".join(lines[:kept]).rstrip("\r\n")) or 1
        slots: dict[str, object] = {"lines": len(lines) - kept, "kept": kept, "total": len(lines)}
        slots["line"] = "line" if slots["lines"] == 1 else "lines"
        slots["percent"] = max(1, round(100 * keep / len(text)))
        mark = draw_text(self.target, self.rng, Way.LINES, slots, must_say=True)
        return {"keep": keep, "from": len(text), "mark": mark}

    def draw_middle(self) -> Draw | None:
        """A text without its middle."""
        text, lost = self.text, self.lost
        if len(text) < LEAST_MIDDLE:
            return None
        keep = find_boundary(text, _find_word_end(text, max(1, round(len(text) * (1 - lost) / 2))))
        end = find_boundary(text, _find_word_end(text, min(len(text) - 1, keep + round(lost * len(text)))))
        if text.count("\n") >= LEAST_ROWS:
            keep = text.rfind("\n", 0, keep) if "\n" in text[:keep] else keep
            end = text.find("\n", end) + 1 or end
        slots = {"left": end - keep, "all": len(text)}
        mark = draw_text(self.target, self.rng, Way.MIDDLE, slots, must_say=True)
        return {"keep": keep, "from": end, "mark": mark} if 0 < keep < end else None

    def draw_page(self) -> Draw | None:
        """The first elements of an object's longest list."""
        value = parse_json(self.text)
        name = find_list(value)
        if name is None:
            return None
        total = len(value[name])
        first = total - max(1, min(total - FEWEST, round(self.lost * total)))
        slots = {"kept": first, "total": total, "lost": total - first, "key": name}
        slots["pages"] = -(-total // first)
        members = draw_members(self.target, self.rng, Way.PAGE, slots, value)
        return None if members is None else {"list": name, "first": first, "add": members}

    def draw_string(self) -> Draw | None:
        """An object whose longest text is cut, and marked."""
        value = parse_json(self.text)
        key = find_string(value)
        if key is None:
            return None
        whole: str = value[key]
        keep = max(1, min(len(whole) - 1, round((1 - self.lost) * len(whole))))
        broken = self.order < 0.5 and len(whole) >= LEAST_BROKEN
        keep = find_boundary(whole, keep if broken else _find_word_end(whole, keep)) or 1
        kept = len(whole[:keep].rstrip())
        slots = {"left": len(whole) - kept, "shown": kept, "all": len(whole)}
        mark = draw_text(self.target, self.rng, Way.TAIL, slots, must_say=True, in_words=True)
        mark = f" {mark[1:]}" if mark.startswith("\n") else mark
        return {"string": key, "cut": {"keep": kept, "from": len(whole), "mark": mark}}

    def draw_items(self) -> Draw | None:
        """The first texts of a list, and one that says that there are more."""
        value = parse_json(self.text)
        name = None if isinstance(value, list) else find_list(value)
        first, slots = _count_elements(value if name is None else value[name], self.lost)
        more = draw_text(self.target, self.rng, Way.REST_TEXT, slots, must_say=True, in_words=True).strip()
        return {"first": first, "add": {}, "more": more} | ({} if name is None else {"list": name})

    def draw_rest_text(self) -> Draw:
        """The first elements of a bare list, and a text behind it."""
        first, slots = _count_elements(parse_json(self.text), self.lost)
        behind = draw_text(self.target, self.rng, Way.REST_TEXT, slots, must_say=True, in_words=True)
        return {"first": first, "add": {}, "behind": behind}

    def draw_fields(self) -> Draw | None:
        """An object without some neighbouring fields."""
        return self._drop(Way.FIELDS)

    def draw_signals(self) -> Draw | None:
        """The same of a device, which lacks readings."""
        return self._drop(Way.SIGNALS)

    def _drop(self, way: Way) -> Draw | None:
        value = parse_json(self.target.text)
        keys = list_free(self.target, value, device=ToolKind.DEVICE in self.kinds)
        if not keys:
            return None
        left = len(value) - len(list_derived(value, keys) if way is Way.SIGNALS else ()) - 1
        core = way is Way.FIELDS and not any(CORE.isdisjoint(split_field(key)) for key in keys)
        count = max(1, min(len(keys), left, max(FEWEST if core else 1, round(self.lost * len(keys)))))
        start = min(math.floor(self.order * len(keys)), len(keys) - 1)
        dropped = {keys[(start + step) % len(keys)] for step in range(count)}
        names = [key for key in keys if key in dropped]
        slots: dict[str, object] = {"keys": names[0], "listed": ", ".join(names), "names": names}
        members = draw_members(self.target, self.rng, way, slots, value)
        if members is None:
            return None
        said = {key: _say_each(one, names) for key, one in members.items()}
        null = any(_has_path(one) for one in said.values()) or self.rng.chance(NULL)
        derived = list_derived(value, names) if way is Way.SIGNALS else []
        return {"drop": [*names, *derived], "add": said, "null": null}

    def draw_part(self) -> Draw | None:
        """An MCP result whose longest text is cut, or else the whole of it."""
        parts = parse_json(self.text)["content"]
        told = [str(part.get("text") or "") if isinstance(part, dict) else "" for part in parts]
        longest = max(told, key=len, default="")
        if len(longest) < 2:
            return None
        cut = msgspec.structs.replace(self, text=longest).draw_tail()
        return {"part": told.index(longest), "cut": cut}


def _count_elements(value: list[Any], share: float) -> tuple[int, dict[str, object]]:
    total = len(value)
    first = total - max(1, min(total - FEWEST, round(share * total)))
    row = "row" if all(isinstance(one, dict) for one in value) else "item"
    lost = total - first
    rest = row if lost == 1 else f"{row}s"
    return first, {"kept": first, "total": total, "lost": lost, "rows": f"{row}s", "rest": rest}


def _has_path(value: Any) -> bool:
    """Whether a member is a list of errors with paths, as GraphQL's: the fields are there, as null."""
    return isinstance(value, list) and isinstance(value[0], dict) and "path" in value[0]


def _say_each(value: Any, names: list[str]) -> Any:
    """A list whose one element speaks of the first field, or of all, with an element for each field."""
    if not isinstance(value, list) or len(value) != 1:
        return value
    (one,), listed = value, ", ".join(names)
    if isinstance(one, str):
        return [one.replace(listed, name) for name in names]
    if not isinstance(one, dict):
        return value
    return [
        {
            key: name if said == names[0] else [name] if said == [names[0]] else said
            for key, said in one.items()
        }
        for name in names
    ]


def _find_word_end(text: str, keep: int) -> int:
    """The nearest place before `keep` that breaks no word, id or number in two; `keep` if none is near."""
    for at in range(keep, max(0, keep - 40), -1):
        if text[at - 1] in " \t\n,:[{" or text[at] in " \t\n,:]}":
            return at
    return keep


def _find_within_word(text: str, keep: int) -> int | None:
    """The nearest place before `keep` that lies within a word of prose; None: there is none."""
    for at in range(keep, max(1, keep - 40), -1):
        if text[at - 1].isalpha() and text[at].isalpha() and text[at - 1].isascii():
            return at if len(text[:at].split(None, 8)) > 8 else None
    return None


_DRAWS: Mapping[Way, Callable[[ResultCut], Draw | None]] = {
    Way.TAIL: ResultCut.draw_tail,
    Way.PART: ResultCut.draw_part,
    Way.LINES: ResultCut.draw_lines,
    Way.MIDDLE: ResultCut.draw_middle,
    Way.BYTES: ResultCut.draw_bytes,
    Way.PAGE: ResultCut.draw_page,
    Way.REST_TEXT: ResultCut.draw_rest_text,
    Way.FIELDS: ResultCut.draw_fields,
    Way.SIGNALS: ResultCut.draw_signals,
    Way.STRING: ResultCut.draw_string,
    Way.ITEMS: ResultCut.draw_items,
}
