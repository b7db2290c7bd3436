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
    Gap,
    around_field,
    around_line,
    dump,
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
from crosswind.injectors.operators.tool.options import draw_slots, list_near, list_values
from crosswind.injectors.operators.words.results import (
    DEVICE_REMARKS,
    ENGLISH_LEADS,
    LEADS,
    NEXT_TOOL,
    NEXT_TOOLS,
    REMARK_HOLDERS,
    REMARK_LISTS,
    REMARKS,
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
_OPTIONS = ("option", "chosen")
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
    version=6,
)
class Misleading:
    """One or two remarks are added to a result, as services add them: they tempt to the nearest wrong option
    of this result, to another tool, or to a step that nobody asked for.

    Severity: the number of remarks is binomial with mean 2 x severity (2 trials), one at most for a short
    result. They come from the phrase packs, in the result's language, or else the conversation's. A JSON
    object gets a field among the others, a list of texts (MCP) one more, plain text that is no file's own a
    line before or behind it. Beside a service's object, the first remark is often a field that names other
    declared tools on the same things, as what may be called next. Every true value keeps its place and its
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
        following = _draw_next(target, value, rng)
        count -= len(following)
        for lead, place in places[:count]:
            phrase = draw_phrase(
                rng, setting, OPERATOR, "remark", slots=slots, type=kind, used=used, accept=accept
            )
            if phrase is not None:
                used.add(phrase.entry)
                names.append(phrase.entry)
                text = phrase.text
                begins = text[:1] != text[:1].upper()
                if begins and text.startswith(tuple(slots[one] for one in _OPTIONS if one in slots)):
                    text = text[0].upper() + text[1:]  # A sentence begins with it.
                added.append([place.at, place.before, lead + text, place.after])
        if not added and not following:
            return None
        return {"phrases": names, "added": added} | ({"next": following} if following else {})

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        added = draw["added"]
        remarks = write_contents((text for _, _, text, _ in added), like=target.text)
        following = draw.get("next", [])
        count = len(added) + len(following)
        what = "A remark that leads away from the goal was"
        what = what if count == 1 else f"{count} remarks that lead away were"
        note = f"{what} added to the result of {target.tool}; no true value was changed."
        named = [[at, before, dump(one, like=target.text), after] for at, before, one, after in following]
        return Result(insert(target.text, [*replace_contents(added, remarks), *named]), note)


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
    return setting, lambda entry: entry.id in wanted if wanted else not entry.about


@lru_cache(1024)
def _choose(
    setting: Setting, slots: frozenset[str], kind: ValueType | None, *, logs_in: bool, of_call: bool
) -> frozenset[str]:
    """The ids of the entries that fit best: beside a login, those on logins, and nowhere else."""
    every = [one for _, one in list_about(setting, OPERATOR, "remark", slots, kind)]
    own = [one for one in every if LOGINS.isdisjoint(one.about) is not logs_in] or every * logs_in
    named = frozenset(one.id for one in own if _names_call(one))
    return named if of_call and named else frozenset(one.id for one in own)


OF_THE_CALL = 0.5
"""How often a remark that names something of the call goes before others."""


def _names_call(entry: Entry) -> bool:
    return any(slot in entry.text for slot in ("{value}", "{tool}", "{field}", "{option}"))


def _draw_next(target: ToolResultTarget, value: Any, rng: SeededRandom) -> list[list[Any]]:
    """A field that names other tools on the same things; none beside what is no service's object."""
    wanted, single, linked, last = rng.chance(NAMES_NEXT), rng.chance(0.15), rng.chance(0.3), rng.chance(0.7)
    near = rng.shuffled(list_near(target)) if wanted and isinstance(value, dict) else []
    if not near or not LOCAL.isdisjoint(find_kinds(target, "")) or find_item_gap(target.text, value):
        return []
    holder = find_first_holder(target.text, value)
    keys = rng.shuffled(NEXT_TOOL if single else NEXT_TOOLS)
    case = find_case(target.text)
    key = next((one for one in keys if holder and write_key(one, case) not in holder.keys), None)
    if holder is None or key is None:
        return []
    told: Any = near[: rng.integer(1, MOST_NEXT)]
    if single:
        told = told[0]
    elif linked:
        name = rng.choice(("name", "rel", "tool", "action", "operation"))
        told = [{name: one} for one in told]
    place = around_field(target.text, holder.gaps[-1 if last else 0], write_key(key, case))
    return [[place.at, place.before, told, place.after]]


NAMES_NEXT, MOST_NEXT = 0.4, 3
"""How often the first remark names other tools where there are such, and how many at most."""
LOCAL = frozenset({ToolKind.SHELL, ToolKind.CODE, ToolKind.FUNCTION, ToolKind.SQL})
"""Systems that name no other calls."""


_GIVING = frozenset("read view get open load show cat head tail".split())
_FILES = frozenset("file files cat head tail".split())
"""First words, and words, of tools whose text is a file's own."""


def _draw_places(
    target: ToolResultTarget, value: Any, rng: SeededRandom, *, english: bool
) -> list[tuple[str, Around]]:
    """Where remarks can stand, in random order, each with what stands before its words."""
    text = target.text
    kinds = find_kinds(target, "")
    if not is_container(value):
        if _GIVING.issuperset(words_of(target.tool)[:1]) and _FILES & set(words_of(target.tool)):
            return []
        leads = (("",) if ToolKind.SHELL in kinds else ENGLISH_LEADS) if english else LEADS
        return [(rng.choice(leads), around_line(text, at)) for at in rng.shuffled((0, len(text)))]
    if (item := find_item_gap(text, value)) is not None:
        return [("", item), ("", item)]
    holder = find_first_holder(text, value) if isinstance(value, dict) else None
    if holder is None:
        return []
    case = find_case(text)
    own = SHELL_REMARKS if ToolKind.SHELL in kinds else REMARKS
    keys = rng.shuffled(DEVICE_REMARKS if ToolKind.DEVICE in kinds else own)
    places: list[tuple[str, Around]] = []
    held: list[str] = []
    for _ in range(MOST):
        gap, listed = holder.gaps[-1 if rng.chance(0.7) else 0], rng.chance(LISTED)
        names = rng.shuffled(REMARK_LISTS) if listed else keys
        key = next((one for one in names if write_key(one, case) not in holder.keys), None)
        if key is not None and all(key != taken for taken, _ in places):
            keys = [one for one in keys if one != key]
            place = around_field(text, gap, write_key(key, case))
            if listed:
                place = Around(place.at, f"{place.before}[", f"]{place.after}")
            outer = write_key(rng.choice(REMARK_HOLDERS), case)
            if ToolKind.SHELL not in kinds and rng.chance(HELD) and outer not in {*holder.keys, *held}:
                held.append(outer)
                within = around_field(text, Gap(place.at), write_key(key, case)).before
                before = f"{around_field(text, gap, outer).before}{{{within}{'[' * listed}"
                place = Around(place.at, before, f"{']' * listed}}}{gap.tail}")
            places.append((key, place))
    return [("", place) for _, place in places]


LISTED, HELD = 0.25, 0.3
"""How often a field of remarks holds a list, and how often another field holds it."""


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
