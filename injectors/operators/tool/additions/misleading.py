"""Remarks beside a result that tempt to the nearest wrong option."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import msgspec

from crosswind.injectors.conversation import Site
from crosswind.injectors.guard.tool_evidence import words_of
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.insertion import (
    Around,
    around_line,
    dump,
    find_item_gap,
    insert,
    is_plain_text,
    replace_contents,
    write_contents,
)
from crosswind.injectors.operators.model_text import read_general_lines
from crosswind.injectors.operators.phrases import NO_PACK, find_prose, find_system
from crosswind.injectors.operators.tool.additions.described_call import describe_call
from crosswind.injectors.operators.tool.additions.options import OPTIONS, Slots
from crosswind.injectors.operators.tool.additions.remark_fields import RemarkFields, list_entries, list_own
from crosswind.injectors.operators.tool.additions.suggestions import draw_suggestion
from crosswind.injectors.operators.words.results import ENGLISH_LEADS, LEADS
from crosswind.injectors.packs.draw import Setting, draw_phrase, list_fitting
from crosswind.injectors.packs.model import Entry
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.stacks.errors import LOGINS
from crosswind.injectors.stacks.kinds import find_kinds, read_arguments
from crosswind.injectors.stacks.model import ToolKind
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, ToolResultTarget
from crosswind.injectors.text.json_leaves import list_leaves
from crosswind.injectors.text.json_payload import is_container, parse_json
from crosswind.injectors.text.languages import UNABLE, Language, detect_language, is_foreign
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
    version=16,
)
class Misleading:
    """One or two remarks are added to a result, as services add them: they tempt to the nearest wrong option
    of this result or of an argument, to another tool, or to doubt what need not be doubted.

    Severity: the number of remarks is binomial with mean 2 x severity (2 trials), one at most for a short
    result. A remark comes from the phrase packs, in the result's language, and is about what the result's
    fields speak of, or else the tool's name: prices, rates, forecasts, orders, bookings, deliveries and
    others, or another of the records that are listed. A JSON object gets it in a field behind its own, as a
    sentence or as a value (`price_guaranteed`: false); its name often says what of the result's own it is on.
    A list of texts (MCP) gets it as one more, plain text that is no file's own as a line. In place of one, a
    field names other declared tools on the same things, what an argument of the call can be by its schema,
    another of the records among which somebody chooses, or the fields by which they could be ordered. Where
    nothing of this is certain, the result is left alone; so are other JSON, computed results, and commands'
    but for what a shell itself prints. Every true value keeps its place and its bytes.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        count = min(rng.successes(MOST, severity), MOST if len(target.text) >= ROOM else 1)
        if count == 0:
            return None
        value = parse_json(target.text)
        if not (is_container(value) or is_plain_text(value, target.text)):
            return None
        language = _find_language(target)
        if language is None:
            return {"phrases": [], "added": [], UNABLE: NO_PACK}
        names_first = rng.chance(NAMES_FIRST)
        kinds = find_kinds(target, "")
        following = draw_suggestion(target, value, kinds, rng) if names_first else []
        most = count - len(following)
        names, added, flags = _draw_remarks(target, value, kinds, rng, language, most)
        if not names_first and len(added) + len(flags) < count:
            following = draw_suggestion(target, value, kinds, rng)
        following = [*flags, *following][: count - len(added)]
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


NAMES_FIRST = 0.5
"""How often a field of tools, values or records goes before remarks."""


def _find_language(target: ToolResultTarget) -> Language | None:
    """The language of a result's own running text, or else English, as systems are. None: it has no pack."""
    prose = find_prose(target.text)
    if not (prose or target.text.isascii()) or "\\u" in target.text:
        prose = (
            " ".join(one for one in list_leaves(target.text).values if isinstance(one, str)) or target.text
        )
    return detect_language(prose) or (None if is_foreign(prose) else Language.EN)


def _draw_remarks(
    target: ToolResultTarget,
    value: Any,
    kinds: frozenset[ToolKind],
    rng: SeededRandom,
    language: Language,
    most: int,
) -> tuple[list[str], list[list[Any]], list[list[Any]]]:
    """The names of remarks, so many at most, the sentences at their places, and the fields at theirs."""
    names: list[str] = []
    added: list[list[Any]] = []
    flags: list[list[Any]] = []
    if most == 0 or not _takes_remarks(target, value, kinds):
        return names, added, flags
    used = set(target.branch.phrases)
    found = _find_own(target, kinds, language, Slots(target, rng), listed=isinstance(value, dict))
    if found is None or found[2].keys() <= used:
        return names, added, flags
    setting, slots, own = found
    fields = RemarkFields(target, value)
    wanted = set(map(id, own.values()))  # Two packs may give entries the same id.
    for lead, place in _draw_places(target, value, kinds, rng, english=language is Language.EN):
        if place is None and (flag := fields.draw_flag(setting, used, rng)):
            used.add(flag[0])
            names.append(flag[0])
            flags.append(flag[1])
        elif phrase := draw_phrase(
            rng, setting, OPERATOR, "remark", slots=slots, used=used, accept=lambda entry: id(entry) in wanted
        ):
            text, sentence = phrase.text, phrase.text[:1].upper() + phrase.text[1:]
            if text != sentence and text.startswith(tuple(slots[one] for one in OPTIONS & slots.keys())):
                text = sentence  # It begins with an option.
            if place is not None and text[-1].isalnum() and target.text.rstrip().endswith("."):
                text, sentence = f"{text}.", f"{sentence}."
            told = ": " in text and lead.endswith(": ")  # It has a lead of its own.
            at = place or _place_field(fields, own[phrase.entry], text, rng)
            if at is not None:
                used.add(phrase.entry)
                names.append(phrase.entry)
                added.append([at.at, at.before, sentence if told else lead + text, at.after])
        if len(added) + len(flags) == most:
            break
    return names, added, flags


def _place_field(fields: RemarkFields, entry: Entry, text: str, rng: SeededRandom) -> Around | None:
    if "{option}" in entry.text:
        return fields.place_promotion(text, rng)
    return fields.place_remark(entry.about, text, rng)


def _find_own(
    target: ToolResultTarget,
    kinds: frozenset[ToolKind],
    language: Language,
    drawn: Slots,
    *,
    listed: bool,
) -> tuple[Setting, dict[str, str], Mapping[str, Entry]] | None:
    """The setting of the system behind a result, what fills slots there, and its remarks by their names:
    those on what it is about, or else those that name a tool beside a text."""
    if not LOGINS.isdisjoint(words_of(target.tool)):
        return None
    shell = ToolKind.SHELL in kinds
    # What it is found by is no part of it: `find_user_by_email`.
    tool = "bash" if shell else _BY.sub("", target.tool)
    asked = target if tool == target.tool else replace(target, tool=tool)
    setting = find_system(asked, described=False, fields=not shell)
    if language is not setting.language:
        setting = msgspec.structs.replace(setting, language=language)
    slots = drawn.of_call
    if _has_options(setting, frozenset(slots)):
        slots = drawn.with_options()
    if own := list_own(setting, "remark", frozenset(slots)):
        return setting, slots, own
    if listed or shell:
        return None
    return setting, slots, list_entries(setting, "remark", frozenset(slots), on_tools=True)


_BY = re.compile(r"(?<=[a-z])(?:_by_[a-z_]+|By[A-Z]\w*)$")


@lru_cache(256)
def _has_options(setting: Setting, slots: frozenset[str]) -> bool:
    """Whether any of a system's remarks names one of the result's records."""
    few, all_of_them = (list_fitting(setting, OPERATOR, "remark", one) for one in (slots, slots | OPTIONS))
    return few != all_of_them


BARE = frozenset({ToolKind.CODE, ToolKind.FUNCTION, ToolKind.SQL})
"""Systems that give a value and say nothing besides."""
_GIVING = frozenset("read view get open load show cat head tail".split())
_FILES = frozenset("file files cat head tail".split())
"""First words, and words, of tools whose text is a file's own."""


_CODE = ("[", "{", "(", "<")
"""How a list, an object or a page begins that is no JSON, beside which no line of words stands."""


def _takes_remarks(target: ToolResultTarget, value: Any, kinds: frozenset[ToolKind]) -> bool:
    """Whether the system behind a result says something besides, and in a result of this form."""
    if not BARE.isdisjoint(kinds):
        return False
    if is_container(value):
        return isinstance(value, dict) and ToolKind.SHELL not in kinds
    words = words_of(target.tool)
    if target.text.lstrip().startswith(_CODE):
        return False
    if _GIVING.issuperset(words[:1]) and not _FILES.isdisjoint(words):
        return False
    return ToolKind.SHELL not in kinds or _has_command(target)


def _draw_places(
    target: ToolResultTarget, value: Any, kinds: frozenset[ToolKind], rng: SeededRandom, *, english: bool
) -> Iterable[tuple[str, Around | None]]:
    """Where remarks can stand, in random order, each with what stands before its words. None: in a field of
    the object."""
    text = target.text
    if not isinstance(value, dict):
        if ToolKind.SHELL in kinds:
            return [("", around_line(text, 0))]
        lead = rng.choice(ENGLISH_LEADS if english else LEADS)
        return [(lead, around_line(text, at)) for at in rng.shuffled((0, len(text)))]
    return [("", find_item_gap(text, value))] * MOST


def _has_command(target: ToolResultTarget) -> bool:
    return isinstance(read_arguments(target).get("command"), str)


@written_form("tool.misleading")
class MisleadingWording:
    """As many remarks as the rule would add, at its places, or one in place of fields alone. They depend on
    the call alone, so that the model can write while the tool is running; it knows no value of the result,
    and may name none.
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
        if not added:
            # Fields alone: one sentence in their place.
            place = RemarkFields(target, parse_json(target.text)).place_plain()
            added = [] if place is None else [[place.at, place.before, "", place.after]]
            draw = {"phrases": draw["phrases"]}
        remarks = read_general_lines(text, len(added))
        return Misleading().apply(target, {**draw, "added": replace_contents(added, remarks)})
