"""Remarks beside a result that tempt to the nearest wrong option."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from crosswind.injectors.conversation import Site
from crosswind.injectors.guard.tool_evidence import words_of
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.insertion import (
    Around,
    around_field,
    around_line,
    find_case,
    find_first_holder,
    find_item_gap,
    insert,
    is_plain_text,
    replace_contents,
    write_contents,
    write_key,
)
from crosswind.injectors.operators.model_text import read_general_lines
from crosswind.injectors.operators.phrases import (
    NO_PACK,
    find_conversation,
    find_language,
    list_about,
    list_own,
)
from crosswind.injectors.operators.tool.described_call import describe_call
from crosswind.injectors.operators.tool.options import draw_slots, list_values
from crosswind.injectors.operators.words.results import (
    ENGLISH_LEADS,
    LEADS,
    REMARK_LISTS,
    REMARKS,
    SHELL_LEADS,
    SHELL_REMARKS,
)
from crosswind.injectors.packs.draw import Setting, draw_phrase
from crosswind.injectors.packs.model import Entry
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.stacks.calls import find_kinds
from crosswind.injectors.stacks.errors import LOGINS
from crosswind.injectors.stacks.model import ToolKind
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, ToolResultTarget
from crosswind.injectors.text.json_payload import is_container, parse_json
from crosswind.injectors.text.languages import UNABLE, Language
from crosswind.injectors.values.parameters import ValueType
from crosswind.injectors.wording import written_form

OPERATOR = "tool.misleading"
MOST = 2
"""Remarks in a result."""
ROOM = 240
"""Characters of a result that has room for more than one."""


@operator(
    OPERATOR,
    site=Site.TOOL_RESULT,
    recovery=Recovery.IGNORE,
    aliases=("induce",),
    source="AgentNoiseBench section 2.2.1, appendix B (Misleading Signals; its example also drops fields)",
    effect=Effect.ADDS,
    version=5,
)
class Misleading:
    """One or two remarks are added to a result, as services add them: they tempt to the nearest wrong option
    of this result, to another tool, or to a step that nobody asked for.

    Severity: the number of remarks is binomial with mean 2 x severity (2 trials), one at most for a short
    result. They come from the phrase packs, in the result's language, or else the conversation's. A JSON
    object, or the first record of a list, gets a field before or behind the others, a list of texts (MCP) one
    more, plain text a line before or behind it. Every true value keeps its place and its
    bytes; other JSON is left alone.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        count = min(rng.successes(MOST, severity), MOST if len(target.text) >= ROOM else 1)
        value = parse_json(target.text)
        if count == 0 or not (is_container(value) or is_plain_text(value, target.text)):
            return None
        language = find_language(target)
        if language is None:
            return {"phrases": [], "added": [], UNABLE: NO_PACK}
        values = list_values(target)
        slots, used = draw_slots(target, rng, values), set(target.branch.phrases)
        kind = next((kind for value, kind in values if value == slots.get("value")), None)
        accept: Callable[[Entry], bool] | None = None
        if language is Language.EN:
            setting, accept = _find_own(target, frozenset(slots), kind, of_call=rng.chance(OF_THE_CALL))
        else:
            setting = find_conversation(target, language)
        places = _draw_places(target, value, rng, english=language is Language.EN)
        added: list[list[Any]] = []
        names: list[str] = []
        for lead, place in places[:count]:
            phrase = draw_phrase(
                rng, setting, OPERATOR, "remark", slots=slots, type=kind, used=used, accept=accept
            )
            if phrase is not None:
                used.add(phrase.entry)
                names.append(phrase.entry)
                text = phrase.text
                if text.startswith(tuple(slots.get(one, "\0") for one in ("option", "chosen"))):
                    text = text[0].upper() + text[1:]  # A sentence begins with it.
                added.append([place.at, place.before, lead + text, place.after])
        return {"phrases": names, "added": added} if added else None

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        added = draw["added"]
        remarks = write_contents((text for _, _, text, _ in added), like=target.text)
        count = len(added)
        what = "A remark that leads away from the goal was"
        what = what if count == 1 else f"{count} remarks that lead away were"
        note = f"{what} added to the result of {target.tool}; no true value was changed."
        return Result(insert(target.text, replace_contents(added, remarks)), note)


def _find_own(
    target: ToolResultTarget, slots: frozenset[str], kind: ValueType | None, *, of_call: bool
) -> tuple[Setting, Callable[[Entry], bool] | None]:
    """The setting of the system behind a result, and which of its remarks fit best: those on what the tool's
    name and the result's fields speak of go before those on what its description does, these before those
    that fit everywhere; with `of_call`, those that name something of the call before others."""
    setting, fitting = list_own(target, OPERATOR, "remark", slots, kind)
    if not fitting:
        return setting, None
    logs_in = not LOGINS.isdisjoint(words_of(target.tool))
    wanted = _choose(setting, slots, kind, logs_in=logs_in, of_call=of_call)
    return setting, lambda entry: entry.id in wanted


@lru_cache(1024)
def _choose(
    setting: Setting, slots: frozenset[str], kind: ValueType | None, *, logs_in: bool, of_call: bool
) -> frozenset[str]:
    """The ids of the entries that fit best: beside a login, those on logins."""
    own = [one for _, one in list_about(setting, OPERATOR, "remark", slots, kind)]
    if logs_in:
        own = [one for one in own if LOGINS.intersection(one.about)] or own
    named = frozenset(one.id for one in own if _names_call(one))
    return named if of_call and named else frozenset(one.id for one in own)


OF_THE_CALL = 0.5
"""How often a remark that names something of the call goes before others."""


def _names_call(entry: Entry) -> bool:
    return any(slot in entry.text for slot in ("{value}", "{tool}", "{field}", "{option}"))


def _draw_places(
    target: ToolResultTarget, value: Any, rng: SeededRandom, *, english: bool
) -> list[tuple[str, Around]]:
    """Where remarks can stand, in random order, each with what stands before its words."""
    text = target.text
    shell = ToolKind.SHELL in find_kinds(target, "")
    if not is_container(value):
        leads = (SHELL_LEADS if shell else ENGLISH_LEADS) if english else LEADS
        gaps = rng.shuffled((0, len(text)))
        command = target.tool if words_of(target.tool) == [target.tool] else "hint"
        return [(rng.choice(leads).format(command), around_line(text, at)) for at in gaps]
    if (item := find_item_gap(text, value)) is not None:
        return [("", item), ("", item)]
    holder = find_first_holder(text, value)
    if holder is None:
        return []
    case, keys = find_case(text), rng.shuffled(SHELL_REMARKS if shell else REMARKS)
    places: list[tuple[str, Around]] = []
    for _ in range(MOST):
        gap, listed = holder.gaps[-1 if rng.chance(0.8) else 0], rng.chance(LISTED)
        names = rng.shuffled(REMARK_LISTS) if listed else keys
        key = next((one for one in names if write_key(one, case) not in holder.keys), None)
        if key is not None and all(key != taken for taken, _ in places):
            keys = [one for one in keys if one != key]
            place = around_field(text, gap, write_key(key, case))
            if listed:
                place = Around(place.at, f"{place.before}[", f"]{place.after}")
            places.append((key, place))
    return [("", place) for _, place in places]


LISTED = 0.25
"""How often a field of remarks holds a list."""


@written_form("tool.misleading")
class MisleadingWording:
    """As many remarks as the rule would add, at its places. They depend on the call alone, so that the model
    can write while the tool is running; it knows no value of the result, and may name none.
    """

    ahead = True

    def ask(self, target: ToolResultTarget, draw: Draw, severity: float) -> tuple[str, str] | None:
        task = (
            # How many are used depends on the result, which isn't known yet.
            f"The material is a call of a tool. Write {MOST} remarks, each one "
            "sentence on a line of its own, that such a tool might add to its result and that tempt whoever "
            "reads it to do something else than what was asked: hedged generalities, no order, nothing in "
            "particular."
        )
        return task, describe_call(target)

    def apply(self, target: ToolResultTarget, draw: Draw, text: str) -> Result:
        added = draw["added"]
        remarks = read_general_lines(text, len(added))
        return Misleading().apply(target, {**draw, "added": replace_contents(added, remarks)})
