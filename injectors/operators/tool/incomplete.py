"""A tool's result with a part missing."""

from __future__ import annotations

import json
import math
from typing import Any

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.tool.cut_ways import (
    CORE,
    LEAST_MIDDLE,
    find_list,
    find_string,
    is_local,
    is_word,
    list_derived,
    list_free,
    list_ways,
)
from crosswind.injectors.operators.tool.facts import split_field
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.stacks.cuts import draw_members, draw_text
from crosswind.injectors.stacks.kinds import find_kinds
from crosswind.injectors.stacks.model import Shape, Way
from crosswind.injectors.stacks.shapes import find_shape
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, ToolResultTarget
from crosswind.injectors.text.graphemes import find_boundary
from crosswind.injectors.text.json_leaves import dump_like
from crosswind.injectors.text.json_payload import parse_json

LEAST, SPREAD = 0.2, 0.6
"""A result that is hit loses a share of uniform(0.2, 0.2 + 0.6 x severity)."""


@operator(
    "tool.incomplete",
    site=Site.TOOL_RESULT,
    recovery=Recovery.RETRY,
    aliases=("incomplete",),
    source="NoisyAgent section 3.1 (2); AgentNoiseBench section 2.2.1 and appendix B (Incomplete Responses)",
    effect=Effect.TRUNCATES,
    version=10,
)
class Incomplete:
    """A partial result, cut as its system cuts. A service gives a list's first page or first items, an object
    without some of its fields; it shortens a text, or JSON at a limit. A device lacks readings. What else
    isn't a service only has its output cut, with a mark: a command, a function.

    Severity is both how likely and how much: a result is hit with probability severity, and then loses a
    share of uniform(0.2, 0.2 + 0.6 x severity) of its characters, fields or elements. The agent can always
    tell: cut JSON doesn't parse, or a member says that there is more (`has_more`, `truncated`, `errors`); cut
    text and a cut list of texts say so, or plain text ends within a word. What says so is drawn once for each
    backend of a session. What no system cuts is left alone: a single word, a short answer of what is no
    service, a small record, the receipt of a change.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        text = target.text.strip()
        if not rng.chance(severity) or len(text) < 2 or is_word(text):
            return None
        lost = LEAST + SPREAD * severity * rng.uniform()
        way, order = rng.uniform(), rng.uniform()
        shape, value = find_shape(text), parse_json(text)
        ways = list_ways(target, text, value)
        if not ways:
            return None
        drawn = _DRAWS[ways[int(way * len(ways))]](target, rng, text, lost, order)
        if drawn is None and shape is Shape.TEXT:
            return _draw_tail(target, rng, text, lost, order)
        return (
            drawn
            if drawn is not None or Way.BYTES not in ways
            else _draw_bytes(target, rng, text, lost, order)
        )

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        text = target.text.strip()
        if "keep" in draw:
            return Result(_cut(text, draw), f"The result of {target.tool} was cut off.")
        # A copy of its own, where a part of it changes in place.
        value: Any = json.loads(text) if "part" in draw else parse_json(text)
        if "part" in draw:
            part = value["content"][draw["part"]]
            part["text"] = _cut(part["text"], draw["cut"])
            note = f"A text of the result of {target.tool} was cut off."
        elif "string" in draw:
            key = draw["string"]
            value = {**value, key: _cut(value[key], draw["cut"])}
            note = f"The text in {key} of the result of {target.tool} was cut off."
        elif "drop" in draw:
            dropped = set(draw["drop"])
            kept = {
                key: None if key in dropped else one
                for key, one in value.items()
                if draw["null"] or key not in dropped
            }
            value = kept | draw["add"]
            fields = "field" if len(dropped) == 1 else "fields"
            note = f"The result of {target.tool} lost its {fields} {', '.join(draw['drop'])}."
        elif isinstance(value, list):
            note = f"The result of {target.tool} kept {draw['first']} of its {len(value)} elements."
            more = draw.get("more") or draw["add"]
            value = [*value[: draw["first"]], *([more] if more else [])]
        else:
            whole = value[draw["list"]]
            note = f"The result of {target.tool} kept {draw['first']} of {len(whole)} in {draw['list']}."
            more = [draw["more"]] if "more" in draw else []
            value = {**value, draw["list"]: [*whole[: draw["first"]], *more], **draw["add"]}
        return Result(dump_like(value, like=text) + draw.get("behind", ""), note)


def _cut(text: str, draw: Draw) -> str:
    return f"{text[: draw['keep']]}{draw['mark']}{text[draw['from'] :]}"


def _draw_bytes(target: ToolResultTarget, rng: SeededRandom, text: str, lost: float, order: float) -> Draw:
    """A cut after so many characters, in the middle of a word as well; what is no service marks it."""
    kept = max(LEAST_OF_JSON, round((1 - lost) * len(text)))
    keep = find_boundary(text, max(1, min(len(text) - 1, kept))) or 1
    slots = {"left": len(text) - keep, "shown": keep, "all": len(text)}
    is_json = find_shape(text) is not Shape.TEXT
    way, local = Way.BYTES if is_json else Way.TAIL, is_local(target.tool, find_kinds(target, ""))
    mark = draw_text(target, rng, way, slots, must_say=local or not is_json, local=local)
    return {"keep": keep, "from": len(text), "mark": mark}


LEAST_OF_JSON = 300
"""Characters that a limit lets through at least."""


def _draw_tail(target: ToolResultTarget, rng: SeededRandom, text: str, lost: float, order: float) -> Draw:
    """A text without its end. Where nothing says so, it ends within a word."""
    keep = max(1, min(len(text) - 1, round((1 - lost) * len(text))))
    local = is_local(target.tool, find_kinds(target, ""))
    within = None if local or len(text) < LEAST_BROKEN else _find_within_word(text, keep)
    keep = find_boundary(text, within or _find_word_end(text, keep)) or 1
    slots = {"left": len(text) - keep, "shown": keep, "all": len(text)}
    mark = draw_text(target, rng, Way.TAIL, slots, must_say=within is None)
    if mark and order < 0.5:
        keep = find_boundary(text, _find_word_end(text, keep)) or keep
    if mark[:1] == " ":
        keep = len(text[:keep].rstrip()) or keep
    return {"keep": keep, "from": len(text), "mark": mark}


LEAST_BROKEN = 200
"""Characters of the shortest text that ends within a word: a limit of bytes is no lower."""


def _draw_lines(
    target: ToolResultTarget, rng: SeededRandom, text: str, lost: float, order: float
) -> Draw | None:
    """A text without its last lines."""
    lines = text.splitlines(keepends=True)
    if len(lines) < 2:
        return None
    kept = max(1, min(len(lines) - 1, round((1 - lost) * len(lines))))
    while kept < len(lines) - 1 and len("".join(lines[:kept])) < LEAST_KEPT * len(text):
        kept += 1
    keep = len("".join(lines[:kept]).rstrip("\r\n")) or 1
    slots: dict[str, object] = {"lines": len(lines) - kept, "kept": kept, "total": len(lines)}
    slots["line"] = "line" if slots["lines"] == 1 else "lines"
    slots["percent"] = max(1, round(100 * keep / len(text)))
    return {"keep": keep, "from": len(text), "mark": draw_text(target, rng, Way.LINES, slots, must_say=True)}


LEAST_KEPT = 0.3
"""The least share of a text's characters that its first lines have."""


def _draw_middle(
    target: ToolResultTarget, rng: SeededRandom, text: str, lost: float, order: float
) -> Draw | None:
    """A text without its middle."""
    if len(text) < LEAST_MIDDLE:
        return None
    keep = find_boundary(text, _find_word_end(text, max(1, round(len(text) * (1 - lost) / 2))))
    end = find_boundary(text, _find_word_end(text, min(len(text) - 1, keep + round(lost * len(text)))))
    if text.count("\n") >= LEAST_ROWS:
        keep = text.rfind("\n", 0, keep) if "\n" in text[:keep] else keep
        end = text.find("\n", end) + 1 or end
    mark = draw_text(target, rng, Way.MIDDLE, {"left": end - keep, "all": len(text)}, must_say=True)
    return {"keep": keep, "from": end, "mark": mark} if 0 < keep < end else None


LEAST_ROWS = 6
"""Ends of lines in a text that loses whole ones from its middle."""


def _draw_page(
    target: ToolResultTarget, rng: SeededRandom, text: str, lost: float, order: float
) -> Draw | None:
    """The first elements of an object's longest list."""
    value = parse_json(text)
    name = find_list(value)
    if name is None:
        return None
    total = len(value[name])
    first = total - max(1, min(total - FEWEST, round(lost * total)))
    slots = {"kept": first, "total": total, "lost": total - first, "key": name, "pages": -(-total // first)}
    members = draw_members(target, rng, Way.PAGE, slots, value)
    return None if members is None else {"list": name, "first": first, "add": members}


FEWEST = 2
"""Elements that a list keeps, and fields of a record's core that are lost: none fails alone."""


def _draw_string(
    target: ToolResultTarget, rng: SeededRandom, text: str, lost: float, order: float
) -> Draw | None:
    """An object whose longest text is cut, and marked."""
    value = parse_json(text)
    key = find_string(value)
    if key is None:
        return None
    whole: str = value[key]
    keep = max(1, min(len(whole) - 1, round((1 - lost) * len(whole))))
    broken = order < 0.5 and len(whole) >= LEAST_BROKEN
    keep = find_boundary(whole, keep if broken else _find_word_end(whole, keep)) or 1
    kept = len(whole[:keep].rstrip())
    slots = {"left": len(whole) - kept, "shown": kept, "all": len(whole)}
    mark = draw_text(target, rng, Way.TAIL, slots, must_say=True, in_words=True)
    mark = f" {mark[1:]}" if mark.startswith("\n") else mark
    return {"string": key, "cut": {"keep": kept, "from": len(whole), "mark": mark}}


def _draw_items(
    target: ToolResultTarget, rng: SeededRandom, text: str, lost: float, order: float
) -> Draw | None:
    """The first texts of a list, and one that says that there are more."""
    value = parse_json(text)
    name = None if isinstance(value, list) else find_list(value)
    first, slots = _count_elements(value if name is None else value[name], lost)
    more = draw_text(target, rng, Way.REST_TEXT, slots, must_say=True, in_words=True).strip()
    return {"first": first, "add": {}, "more": more} | ({} if name is None else {"list": name})


def _draw_rest_text(
    target: ToolResultTarget, rng: SeededRandom, text: str, lost: float, order: float
) -> Draw:
    """The first elements of a bare list, and a text behind it."""
    first, slots = _count_elements(parse_json(text), lost)
    behind = draw_text(target, rng, Way.REST_TEXT, slots, must_say=True, in_words=True)
    return {"first": first, "add": {}, "behind": behind}


def _count_elements(value: list[Any], share: float) -> tuple[int, dict[str, object]]:
    total = len(value)
    first = total - max(1, min(total - FEWEST, round(share * total)))
    row = "row" if all(isinstance(one, dict) for one in value) else "item"
    lost = total - first
    rest = row if lost == 1 else f"{row}s"
    return first, {"kept": first, "total": total, "lost": lost, "rows": f"{row}s", "rest": rest}


def _draw_fields(
    target: ToolResultTarget, rng: SeededRandom, text: str, lost: float, order: float
) -> Draw | None:
    """An object without some neighbouring fields."""
    return _drop(target, rng, Way.FIELDS, lost, order)


def _draw_signals(
    target: ToolResultTarget, rng: SeededRandom, text: str, lost: float, order: float
) -> Draw | None:
    """The same of a device, which lacks readings."""
    return _drop(target, rng, Way.SIGNALS, lost, order)


def _drop(target: ToolResultTarget, rng: SeededRandom, way: Way, lost: float, order: float) -> Draw | None:
    value = parse_json(target.text)
    keys = list_free(target, value)
    if not keys:
        return None
    left = len(value) - len(list_derived(value, keys) if way is Way.SIGNALS else ()) - 1
    core = way is Way.FIELDS and not any(CORE.isdisjoint(split_field(key)) for key in keys)
    count = max(1, min(len(keys), left, max(FEWEST if core else 1, round(lost * len(keys)))))
    start = min(math.floor(order * len(keys)), len(keys) - 1)
    dropped = {keys[(start + step) % len(keys)] for step in range(count)}
    names = [key for key in keys if key in dropped]
    slots: dict[str, object] = {"keys": names[0], "listed": ", ".join(names), "names": names}
    members = draw_members(target, rng, way, slots, value)
    if members is None:
        return None
    said = {key: _say_each(one, names) for key, one in members.items()}
    null = any(_has_path(one) for one in said.values()) or rng.chance(NULL)
    derived = list_derived(value, names) if way is Way.SIGNALS else []
    return {"drop": [*names, *derived], "add": said, "null": null}


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


NULL = 0.05
"""How often lost fields are there, as null; always where errors give their paths."""


def _draw_part(
    target: ToolResultTarget, rng: SeededRandom, text: str, lost: float, order: float
) -> Draw | None:
    """An MCP result whose longest text is cut, or else the whole of it."""
    parts = parse_json(text)["content"]
    told = [str(part.get("text") or "") if isinstance(part, dict) else "" for part in parts]
    longest = max(told, key=len, default="")
    if len(longest) < 2:
        return None
    return {"part": told.index(longest), "cut": _draw_tail(target, rng, longest, lost, order)}


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


_DRAWS = {
    Way.TAIL: _draw_tail,
    Way.PART: _draw_part,
    Way.LINES: _draw_lines,
    Way.MIDDLE: _draw_middle,
    Way.BYTES: _draw_bytes,
    Way.PAGE: _draw_page,
    Way.REST_TEXT: _draw_rest_text,
    Way.FIELDS: _draw_fields,
    Way.SIGNALS: _draw_signals,
    Way.STRING: _draw_string,
    Way.ITEMS: _draw_items,
}
