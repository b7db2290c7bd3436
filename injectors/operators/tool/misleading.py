"""Remarks beside a result that tempt to the nearest wrong option."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from crosswind.injectors.conversation import Site, ToolList
from crosswind.injectors.guard.tool_evidence import words_of
from crosswind.injectors.guard.tool_words import READING
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.insertion import (
    Around,
    Gap,
    Holder,
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
from crosswind.injectors.operators.phrases import NO_PACK, find_prose, find_system, list_about
from crosswind.injectors.operators.tool.described_call import describe_call
from crosswind.injectors.operators.tool.options import draw_slots, list_near, list_things
from crosswind.injectors.operators.words.results import (
    ACTIONS,
    ENGLISH_LEADS,
    LEADS,
    MEMBERS,
    MENDING,
    NEXT_TOOL,
    NEXT_TOOLS,
    RELATED_TOOLS,
    REMARK_HOLDERS,
    REMARK_LISTS,
    REMARKS,
    UNDOING,
)
from crosswind.injectors.packs.draw import Setting, draw_phrase
from crosswind.injectors.packs.model import Entry
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.stacks.calls import SECRET, pluralise
from crosswind.injectors.stacks.errors import LOGINS
from crosswind.injectors.stacks.kinds import find_kinds, read_arguments
from crosswind.injectors.stacks.model import ToolKind
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, ToolResultTarget
from crosswind.injectors.text.json_leaves import list_leaves
from crosswind.injectors.text.json_payload import is_container, parse_json
from crosswind.injectors.text.languages import UNABLE, Language, detect_language, is_foreign
from crosswind.injectors.values.parameters import split_name
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
    version=10,
)
class Misleading:
    """One or two remarks are added to a result, as services add them: they tempt to the nearest wrong option
    of this result or of an argument, to another tool, or to doubt what need not be doubted.

    Severity: the number of remarks is binomial with mean 2 x severity (2 trials), one at most for a short
    result. A remark comes from the phrase packs, in the result's language, and is about what the tool's name
    or the result's fields speak of: prices, rates, forecasts, orders, bookings, deliveries and others, or
    another of the records that are listed. A JSON object gets it in a field among the others, a list of texts
    (MCP) as one more, plain text that is no file's own as a line. In place of one, a field names other
    declared tools on the same things, or the values that an argument of the call can have by its schema.
    Where nothing of this is certain, the result is left alone; so are other JSON, computed results, and
    commands' but for what a shell itself prints. Every true value keeps its place and its bytes.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        count = min(rng.successes(MOST, severity), MOST if len(target.text) >= ROOM else 1)
        value = parse_json(target.text)
        if count == 0 or not (is_container(value) or is_plain_text(value, target.text)):
            return None
        language = _find_language(target)
        if language is None:
            return {"phrases": [], "added": [], UNABLE: NO_PACK}
        names_first = rng.chance(NAMES_FIRST)
        following = _draw_fields(target, value, rng)
        names, added = _draw_remarks(target, value, rng, language)
        if not added or not names_first:
            following = following[: max(0, count - len(added))]
        names, added = names[: count - len(following)], added[: count - len(following)]
        if not added and not following:
            return None
        return {"phrases": names, "added": added} | ({"next": following} if following else {})

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        added = draw["added"]
        remarks = write_contents((text for _, _, text, _ in added), like=target.text)
        following = draw.get("next", [])
        count = len(added) + len(following)
        what = "A suggestion that nobody asked for was"
        what = what if count == 1 else f"{count} suggestions that nobody asked for were"
        note = f"{what} added to the result of {target.tool}; no true value was changed."
        named = [[at, before, dump(one, like=target.text), after] for at, before, one, after in following]
        return Result(insert(target.text, [*replace_contents(added, remarks), *named]), note)


BEHIND = 0.9
"""How often a field stands behind the object's own."""
NAMES_FIRST = 0.3
"""How often a field of tools or values goes before remarks."""


def _find_language(target: ToolResultTarget) -> Language | None:
    """The language of a result's own running text, or else English, as systems are. None: it has no pack."""
    prose = find_prose(target.text)
    if not (prose or target.text.isascii()) or "\\u" in target.text:
        prose = (
            " ".join(one for one in list_leaves(target.text).values if isinstance(one, str)) or target.text
        )
    return detect_language(prose) or (None if is_foreign(prose) else Language.EN)


def _draw_remarks(
    target: ToolResultTarget, value: Any, rng: SeededRandom, language: Language
) -> tuple[list[str], list[list[Any]]]:
    """The names of remarks, and the remarks at their places."""
    slots, used = draw_slots(target, rng), set(target.branch.phrases)
    places = _draw_places(target, value, rng, english=language is Language.EN)
    added: list[list[Any]] = []
    names: list[str] = []
    found = _find_own(target, language, frozenset(slots), listed=isinstance(value, dict)) if places else None
    for lead, place in places if found else ():
        setting, wanted = found or (None, frozenset[str]())
        assert setting is not None

        def accept(entry: Entry, wanted: frozenset[str] = wanted) -> bool:
            return entry.id in wanted

        phrase = draw_phrase(rng, setting, OPERATOR, "remark", slots=slots, used=used, accept=accept)
        if phrase is not None:
            used.add(phrase.entry)
            names.append(phrase.entry)
            text = phrase.text
            if text.startswith(tuple(slots[one] for one in _OPTIONS if one in slots)):
                text = text[:1].upper() + text[1:]  # A sentence begins with it.
            if lead.endswith(": ") and phrase.entry.partition("#")[2] in ON_TOOLS:
                text = text[:1].upper() + text[1:]
            else:
                text = lead + text
            added.append([place.at, place.before, text, place.after])
    return names, added


def _find_own(
    target: ToolResultTarget, language: Language, slots: frozenset[str], *, listed: bool
) -> tuple[Setting, frozenset[str]] | None:
    """The setting of the system behind a result, and its remarks: those on what the tool's name speaks of, or
    else those on what the result's fields do, or else those that name a tool beside a text."""
    if not LOGINS.isdisjoint(words_of(target.tool)):
        return None
    shell = ToolKind.SHELL in find_kinds(target, "")
    asked = replace(target, tool="bash") if shell else target
    for fields in (False, True):
        setting = find_system(asked, described=False, fields=fields and not shell)
        setting = msgspec.structs.replace(setting, language=language)
        if own := list_about(setting, OPERATOR, "remark", slots):
            return setting, frozenset(entry.id for _, entry in own)
    return None if listed or shell else (setting, ON_TOOLS)


ON_TOOLS = frozenset({"remark-tool-1", "remark-tool-2"})
"""Entries that name another tool."""


def _draw_fields(target: ToolResultTarget, value: Any, rng: SeededRandom) -> list[list[Any]]:
    """A field that names other tools on the same things, or the values that an argument can have; at most
    one, and none where there is no object for it."""
    if not isinstance(value, dict) or find_item_gap(target.text, value):
        return []
    holder = find_first_holder(target.text, value)
    made = [*_draw_next(target, rng), *_draw_members(target, rng)]
    last, point = rng.chance(BEHIND), rng.uniform()
    if holder is None or not made:
        return []
    case = find_case(target.text)
    keys, told = made[int(point * len(made))]
    key = next((one for one in keys if write_key(one, case) not in holder.keys), None)
    if key is None:
        return []
    place = around_field(target.text, holder.gaps[-1 if last else 0], write_key(key, case))
    return [[place.at, place.before, told, place.after]]


def _draw_next(target: ToolResultTarget, rng: SeededRandom) -> Iterator[tuple[list[str], Any]]:
    """Other tools on the same things, and the names that a field of them can have: what may be done, what
    is related, or what may come next."""
    single, linked, near = rng.chance(0.15), rng.chance(0.3), rng.shuffled(list_near(target))
    keys, many = rng.choice((ACTIONS, RELATED_TOOLS, NEXT_TOOLS)), rng.integer(1, MOST_NEXT)
    name = rng.choice(("name", "tool", "action", "operation"))
    firsts = {one: next(iter(split_name(one)), "") for one in near}
    if keys is ACTIONS:
        own = list_things(target.tool)
        near = [one for one in near if firsts[one] not in READING and _is_within(own, list_things(one))]
    elif keys is NEXT_TOOLS:
        near = [one for one in near if firsts[one] not in UNDOING]
    if _WELL.search(target.text):
        near = [one for one in near if firsts[one] not in MENDING]
    if not near or not LOCAL.isdisjoint(find_kinds(target, "")):
        return
    if single and keys is NEXT_TOOLS:
        yield rng.shuffled(NEXT_TOOL), near[0]
        return
    told: list[Any] = near[:many]
    if linked:
        told = [{name: one} for one in told]
    yield rng.shuffled(keys), told


def _is_within(own: frozenset[str], others: frozenset[str]) -> bool:
    """Whether one of two things is the other or a part of it: an order and its items, but not two brakes."""
    return own <= others or others <= own


_WELL = re.compile(
    r'(?:healthy|normal|ok|good|valid)\w*\\?"\s*:\s*true|:\s*\\?"(?:healthy|normal|ok|good)\\?"',
    re.IGNORECASE,
)
"""What a record says of itself where nothing has to be mended."""
MOST_NEXT = 3
"""How many other tools are named at most."""
LOCAL = frozenset({ToolKind.SHELL, ToolKind.CODE, ToolKind.FUNCTION, ToolKind.SQL})
"""Systems that name no other calls."""
BARE = frozenset({ToolKind.CODE, ToolKind.FUNCTION, ToolKind.SQL})
"""Systems that give a value and say nothing besides."""


def _draw_members(target: ToolResultTarget, rng: SeededRandom) -> Iterator[tuple[list[str], Any]]:
    """What an argument of the call can be by its schema, and the names that a field of it can have."""
    firsts, given = rng.shuffled(MEMBERS), read_arguments(target)
    if not {ToolKind.SHELL, ToolKind.CODE, ToolKind.SQL}.isdisjoint(find_kinds(target, "")):
        return
    for tool in ToolList.of(target.tools).named(target.tool):
        found = tool.parameters.get("properties")
        properties: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
        for name, chosen in given.items():
            one = properties.get(name)
            members = one.get("enum") if isinstance(one, Mapping) else None
            if not isinstance(members, list) or not 1 < len(members) <= MOST_MEMBERS or SECRET.search(name):
                continue
            if chosen in members and all(isinstance(member, str) for member in members):
                words = "_".join(split_name(name))
                plural = f"{words}es" if words.endswith("ss") else pluralise(words)
                keys = [f"{first}_{plural}" for first in firsts if first != "other"]
                yield keys, members


MOST_MEMBERS = 8


_GIVING = frozenset("read view get open load show cat head tail".split())
_FILES = frozenset("file files cat head tail".split())
"""First words, and words, of tools whose text is a file's own."""


def _draw_places(
    target: ToolResultTarget, value: Any, rng: SeededRandom, *, english: bool
) -> list[tuple[str, Around]]:
    """Where remarks can stand, in random order, each with what stands before its words."""
    text, kinds = target.text, find_kinds(target, "")
    shell = ToolKind.SHELL in kinds
    if not BARE.isdisjoint(kinds) or (shell and (is_container(value) or not _has_command(target))):
        return []
    if not is_container(value):
        if _GIVING.issuperset(words_of(target.tool)[:1]) and _FILES & set(words_of(target.tool)):
            return []
        if shell:
            return [("", around_line(text, 0))]
        lead = rng.choice(ENGLISH_LEADS if english else LEADS)
        return [(lead, around_line(text, at)) for at in rng.shuffled((0, len(text)))]
    if (item := find_item_gap(text, value)) is not None:
        return [("", item), ("", item)]
    holder = find_first_holder(text, value) if isinstance(value, dict) else None
    return [] if holder is None else [("", place) for place in _draw_field_places(text, holder, rng)]


def _has_command(target: ToolResultTarget) -> bool:
    return isinstance(read_arguments(target).get("command"), str)


def _draw_field_places(text: str, holder: Holder, rng: SeededRandom) -> Iterator[Around]:
    """Places of fields for remarks in an object."""
    case, keys = find_case(text), rng.shuffled(REMARKS)
    taken: list[str] = []
    for _ in range(MOST):
        gap, listed = holder.gaps[-1 if rng.chance(BEHIND) else 0], rng.chance(LISTED)
        names = rng.shuffled(REMARK_LISTS) if listed else keys
        outer, within = write_key(rng.choice(REMARK_HOLDERS), case), rng.chance(HELD)
        key = next((one for one in names if write_key(one, case) not in {*holder.keys, *taken}), None)
        if key is None:
            continue
        taken.append(write_key(key, case))
        place = around_field(text, gap, taken[-1])
        if within and outer not in {*holder.keys, *taken}:
            taken.append(outer)
            inner = around_field(text, Gap(place.at), taken[-2]).before
            before = f"{around_field(text, gap, outer).before}{{{inner}{'[' * listed}"
            place = Around(place.at, before, f"{']' * listed}}}{gap.tail}")
        elif listed:
            place = Around(place.at, f"{place.before}[", f"]{place.after}")
        yield place


LISTED, HELD = 0.25, 0.15
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
