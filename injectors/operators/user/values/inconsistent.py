"""A user who contradicts a value of their own, and settles it in the same message or soon after."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import msgspec

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.phrases import NO_PACK, find_setting
from crosswind.injectors.operators.user.asides.draw import write_like
from crosswind.injectors.operators.user.asides.places import join_sentence
from crosswind.injectors.operators.user.values.contradictions import (
    Contradiction,
    Position,
    find_contradictions,
)
from crosswind.injectors.operators.user.values.documents import is_document
from crosswind.injectors.operators.user.values.rival_names import name_value
from crosswind.injectors.operators.user.values.spoken_values import find_thing
from crosswind.injectors.operators.user.values.value_names import name_kind
from crosswind.injectors.packs.draw import Phrase, Setting, draw_phrase
from crosswind.injectors.packs.model import Entry
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, UserTarget
from crosswind.injectors.text.edits import apply_edits, make_edit
from crosswind.injectors.text.languages import UNABLE, Language, is_foreign
from crosswind.injectors.text.sentences import is_prose
from crosswind.injectors.values.parameters import ValueType

TRIALS = 3
_APART = 0.3
"""How often a thought that is taken back stands on a line of its own."""
NAME = "user.inconsistent"
_VALUE_SLOTS = ("{value}", "{rival}")
_SWAPPED = 0.65
"""How often the rival stands by itself, and the message's end corrects it."""
_SENTENCE_END = re.compile(r"[.!?]\s+\S")
_FAR = 120
"""Characters behind a value after which it is rather corrected at once."""


@operator(
    NAME,
    site=Site.USER_TEXT,
    recovery=Recovery.IGNORE,
    aliases=("conflict",),
    source="NoisyAgent section 3.1; AgentNoiseBench section 2.2.1 and appendix B (Inconsistent Instructions)",
    effect=Effect.ADDS,
    version=11,
    needs_tools=True,
)
@dataclass(frozen=True)
class Inconsistent:
    """A rival of a value that fills a tool's parameter (another day, an enumerated value, a place of this
    conversation) contradicts it, and the user says which one holds.

    Severity: a message has three occasions for a contradiction, each with this probability, and one at most:
    nobody corrects two slips in one message. The rival stands before the value, as a slip that is
    corrected at once, or in its place, and the end of the message corrects it: the value is what is said
    last. Where another value is like it, the end names the rival. Only values are contradicted whose kind is
    sure, that are told once, are no part of a longer one and that no negation governs.

    With `settles: next_message`, and where the user can answer, one value is contradicted or put in doubt,
    and the user's next message settles it, whatever the schedule says; with `settles: later`, the next one
    or the one after that.
    """

    settles: Literal["same_message", "next_message", "later"] = "same_message"

    def draw(self, target: UserTarget, rng: SeededRandom, severity: float) -> Draw | None:
        if severity <= 0 or not is_prose(target.text) or is_document(target.text):
            return None
        setting = find_setting(target)
        if target.unsettled:
            return None if setting is None else _draw_settlement(target, rng, setting)
        if setting is None:
            foreign = target.tools and is_foreign(target.text)
            return {"edits": [], "final": [], UNABLE: NO_PACK} if foreign else None
        found = find_contradictions(target, rng, setting)
        if self.settles != "same_message" and target.user_can_answer:
            late = self.settles == "later" and rng.chance(0.5)
            return _draw_doubt(target, rng, setting, found, 2 if late else 1)
        return _draw_same(target, rng, setting, found) if rng.successes(TRIALS, severity) else None

    def apply(self, target: UserTarget, draw: Draw) -> Result:
        note = f"The user's message contradicts itself and settles it: {', '.join(draw['final'])}."
        if draw.get("owed"):
            when = (
                "one of the next two messages settles it"
                if draw.get("wait")
                else "the next message settles it"
            )
            note = f"The user puts {', '.join(draw['owed'])} in doubt; {when}."
        elif draw.get("settles"):
            note = f"The user settles an earlier doubt: {', '.join(draw['settles'])}."
        return Result(apply_edits(target.text, draw["edits"]), note)


def _draw_same(
    target: UserTarget, rng: SeededRandom, setting: Setting, found: Iterator[Contradiction]
) -> Draw | None:
    """Draw a contradiction that this message settles: what is told last is the value."""
    for one in found:
        order = (Position.SWAP, Position.PLACE)
        swapped = rng.chance(_SWAPPED) and len(target.text) - one.end <= _FAR
        swapped = swapped and _SENTENCE_END.search(target.text, one.end) is None
        for position in order if swapped else order[::-1]:
            if position not in one.positions:
                continue
            part = "same" if position is Position.PLACE else "correction"
            phrase = _draw(target, rng, setting, one, part, position)
            if phrase is not None:
                apart = rng.chance(_APART)
                return {
                    "edits": one.edit(position, phrase.text, setting.language, apart=apart),
                    "final": [one.value],
                    "wrong": {one.value: [one.rival if position is Position.SWAP else one.slip]},
                    "phrases": [phrase.entry],
                }
    return None


def _draw_doubt(
    target: UserTarget, rng: SeededRandom, setting: Setting, found: Iterator[Contradiction], wait: int
) -> Draw | None:
    """Draw a doubt, or a contradiction, that a later message has to settle."""
    one = next((one for one in found if Position.END in one.positions), None)
    if one is None:
        return None
    for part in rng.shuffled(["doubt", "claim"]):
        phrase = _draw(target, rng, setting, one, part, Position.END)
        if phrase is not None:
            edits = one.edit(Position.END, phrase.text, setting.language)
            owed = {"edits": edits, "final": [], "owed": [one.value], "phrases": [phrase.entry]}
            return owed if wait == 1 else {**owed, "wait": wait}
    return None


def _draw(
    target: UserTarget,
    rng: SeededRandom,
    setting: Setting,
    one: Contradiction,
    part: str,
    position: Position,
) -> Phrase | None:
    """Draw a phrase for a position. In the value's place stands one without a final mark."""
    inside = position is Position.PLACE
    slots = {"value": one.told, "rival": one.told_rival}
    if not inside:
        slots = {"value": one.named, "rival": one.named_rival if position is Position.END else one.bare_rival}
    thing = name_kind(one.type, one.thing, target.own) if position is Position.SWAP else one.thing
    if not inside and thing is not None and setting.language is Language.EN:
        slots["thing"] = thing

    def accept(entry: Entry) -> bool:
        if inside and one.type is ValueType.NUMBER and target.text.startswith(" and ", one.end):
            return False  # `6, wait, 5 and 9`: two numbers are told, and one is taken back.
        if one.type is ValueType.OPTION and one.value.endswith(("ed", "en")) and "be {value}" in entry.text:
            return False  # It would read as an order.
        if position is Position.SWAP and one.alike and "{rival}" not in entry.text:
            return False  # It wouldn't say which of two values it corrects.
        if position is Position.SWAP and entry.text.startswith(_VALUE_SLOTS):
            first = slots["rival" if entry.text.startswith("{rival}") else "value"][:1]
            return first.isupper() or not first.isalpha()
        return not (inside and one.leads) or entry.text.endswith("{value}")

    taken = target.branch.phrases
    found = draw_phrase(rng, setting, NAME, part, slots=slots, type=one.type, used=taken, accept=accept)
    if found is None or position is not Position.SWAP:
        return found
    said = write_like(found.text, target.own, setting.language)
    if found.text.startswith((slots["value"], slots["rival"])):
        said = found.text[0] + said[1:]  # A name keeps its capital.
    return msgspec.structs.replace(found, text=said)


def _draw_settlement(target: UserTarget, rng: SeededRandom, setting: Setting) -> Draw | None:
    """Settle an earlier doubt: the true values, behind this message."""
    text, edits, phrases = target.text, "", list[str]()
    for value in target.unsettled:
        kind, thing = find_thing(target, value)
        slots = {"value": value if kind is None else name_value(value, kind, setting.language)}
        if thing is not None and setting.language is Language.EN:
            slots["thing"] = thing
        taken = {*target.branch.phrases, *phrases}
        phrase = draw_phrase(rng, setting, NAME, "settle", slots=slots, type=kind, used=taken)
        if phrase is None:
            phrase = draw_phrase(rng, setting, NAME, "settle", slots=slots, type=kind)
        said = value if phrase is None else phrase.text
        phrases += [] if phrase is None else [phrase.entry]
        edits += join_sentence(text + edits, said, setting.language)
    return {
        "edits": [make_edit(len(text), "", edits)],
        "final": list(target.unsettled),
        "settles": list(target.unsettled),
        "phrases": phrases,
    }
