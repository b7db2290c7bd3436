"""A user who leaves values open that the tools ask for, and gives them when asked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.model_text import read_text
from crosswind.injectors.operators.phrases import NO_PACK, find_setting
from crosswind.injectors.operators.user.asides.asked import asks_for, find_asked
from crosswind.injectors.operators.user.values.documents import is_document
from crosswind.injectors.operators.user.values.left_open import NAME, Remark, draw_remark
from crosswind.injectors.operators.user.values.spoken_values import SaidBefore, find_spoken, is_held
from crosswind.injectors.operators.user.values.untyped import find_untyped
from crosswind.injectors.operators.user.values.vague.languages import find_place
from crosswind.injectors.operators.user.values.vague.place import (
    TOLD_LATER,
    Place,
    accept_all,
    ends_clause,
    find_word_before,
    is_told_later,
)
from crosswind.injectors.operators.user.values.value_names import ask_which, name_open
from crosswind.injectors.operators.user.values.whole_messages import (
    is_answer,
    is_broken,
    is_derived,
    is_half,
    is_stripped,
)
from crosswind.injectors.packs.draw import Phrase, Setting, draw_phrase
from crosswind.injectors.packs.model import Entry
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Half, Recovery, Result, UserTarget
from crosswind.injectors.text.edits import apply_edits, make_edit
from crosswind.injectors.text.languages import UNABLE, Language, is_foreign
from crosswind.injectors.text.sentences import is_prose
from crosswind.injectors.values.calendar import month_of
from crosswind.injectors.values.coarse import is_whole, list_coarse_forms
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType
from crosswind.injectors.wording import written_form

LONGEST = 20_000
"""Characters of a text that a user may leave a value open in. Longer ones are documents."""
TOO_LONG = f"the text has more than {LONGEST} characters, so it is no message that a user leaves open"
NOBODY = "nobody answers the agent (`user_can_answer` is false), so nothing is left open"
_ONE_OF_ITS_KIND = (ValueType.ID, ValueType.EMAIL, ValueType.FILE)
_LEFT_OUT = 0.15
"""How often a value that could be told less exactly is left out with its preposition instead."""
_SILENT = 0.6
"""How often the user says no more where the value is told openly as about what it is."""
_ABOUT = re.compile(
    r"\b(?:about|around(?! (?:here|me)\b)|roughly|or so|or two|some ?(?:day|time)|some point|one day"
    r"|(?:in|within) the next)\b"
)
"""Words that show by themselves that a value is told about: `around eight`, `sometime next week`."""
_HERE = re.compile(r"\b(?:near me|nearby|around here|close by|near where I am|close to where I live)\Z")
_MINE = re.compile(
    r"\b(?:(?:in|near|of|for|from) (?:my|this) (?:area|city|hometown|place|part of town)|in town"
    r"|from (?:here|where I (?:am|live)))\Z"
)
"""Words that put something where the user is; beside the first, few people say where that is."""
_QUIET_HERE = 0.3
_HEDGED = ("a few", "several", "a couple", "about", "between")
"""What a coarse form begins with that needs no other hedge."""
_BARE = 0.35
"""How often a coarse form stands by itself."""
_SHORTENED = 0.6
"""How often a value that has such words is told by a part of it, or by what it lies in."""


@operator(
    NAME,
    site=Site.USER_TEXT,
    recovery=Recovery.ASK_USER,
    aliases=("ambiguity",),
    source="NoisyAgent section 3.1; AgentNoiseBench section 2.2.1 and appendix B (Ambiguous Instructions)",
    effect=Effect.ADDS,
    version=14,
    needs_tools=True,
)
class Ambiguous:
    """Values that fill the tools' parameters are told less exactly (`mid-November`) or not at all.

    Severity: the share of the message's values that become vague, on average: one at most. Only a whole
    phrase gives way, with its preposition or its noun, and only where what stands there surely reads well:
    nothing, a part of the value, or a word that points at it (`this company`), in this order. In most
    messages the user says that something is left open, behind the message or beside the place, and names it
    where a word of theirs does. The user gives it when asked: nothing is vague that this user has said
    before, nor an answer of a few words, so that each value is asked for once. Quotations, what is to be
    passed on, what the user rules out, and bounds but a budget stay (`nothing on Friday`, `never after
    15:30`). Where no user can answer, nothing happens.
    """

    def draw(  # noqa: PLR0911
        self, target: UserTarget, rng: SeededRandom, severity: float
    ) -> Draw | None:
        long = len(target.text) > LONGEST
        if severity <= 0 or long or not is_prose(target.text):
            reported = long and severity > 0 and target.tools
            return {"edits": [], "withheld": [], UNABLE: TOO_LONG} if reported else None
        said = SaidBefore(target)
        spoken = [one for one in find_spoken(target) if one.text not in said]
        if target.ordinal > 0 and is_answer(target.text, spoken):
            return None
        setting = find_setting(target)
        if setting is None:
            foreign = target.tools and is_foreign(target.text)
            return {"edits": [], "withheld": [], UNABLE: NO_PACK} if foreign else None
        english = setting.language is Language.EN
        if english and (is_document(target.text) or _is_statement(target.text)):
            return None
        found = list(_find_places(target.text, spoken, setting.language))
        if english and target.tools:
            found += find_untyped(target, said)
        if not found:
            return None
        if not target.user_can_answer:
            return {"edits": [], "withheld": [], UNABLE: NOBODY}
        share = severity * len(spoken or found)
        return _draw_open(target, rng, setting, found) if rng.chance(min(share, 1.0)) else None

    def apply(self, target: UserTarget, draw: Draw) -> Result:
        return Result(apply_edits(target.text, draw["edits"]), _describe(draw))


def _is_statement(text: str) -> bool:
    """Whether a long text asks for nothing."""
    return len(text) > _LONG and "?" not in text and not find_asked(text) and _WISH.search(text) is None


_LONG = 300
_WISH = re.compile(r"\b(?:help|like to|looking for|need|please|want|wish)\b", re.IGNORECASE)


def _find_places(text: str, spoken: list[Mention], language: Language) -> Iterator[tuple[Mention, Place]]:
    """The values that can be made vague, each with its place."""
    kinds, times = Counter(one.type for one in spoken), Counter(one.text.lower() for one in spoken)
    for one in spoken:
        # A second one of its kind could be taken for it; one that is said twice would still be told.
        if times[one.text.lower()] > 1 or (one.type in _ONE_OF_ITS_KIND and kinds[one.type] > 1):
            continue
        if is_held(text, one, language) or (
            language is Language.EN and (is_half(text, one) or is_derived(text, one))
        ):
            continue
        if (place := find_place(text, one, language)) is not None:
            if language is Language.EN and _names_month_again(text, one, place):
                continue
            if place.forms and one.type is ValueType.NUMBER and _EXACTLY.search(text):
                if place.dropped is None:
                    continue
                place = replace(place, forms=())  # Nobody wants `exactly 3 heads in several tosses`.
            if place.value is not None:
                start, end = place.value
                one = msgspec.structs.replace(one, start=start, end=end, text=text[start:end])  # noqa: PLW2901
            yield one, place


_EXACTLY = re.compile(r"\b(?:exact|exactly|precise|precisely)\b", re.IGNORECASE)


def _names_month_again(text: str, one: Mention, place: Place) -> bool:
    """Whether the month of a date stands elsewhere, too, so that nobody says that the date is missing."""
    if one.type is not ValueType.DATE:
        return False
    start, end = place.value or (one.start, one.end)
    months = {found for word in re.findall(r"[A-Z][a-z]+", text[start:end]) if (found := month_of(word))}
    rest = re.findall(r"[A-Z][a-z]+", f"{text[:start]} {text[end:]}")
    return bool(months) and any(month_of(word) in months for word in rest)


def _draw_open(
    target: UserTarget, rng: SeededRandom, setting: Setting, found: list[tuple[Mention, Place]]
) -> Draw | None:
    """Leave one value open, and in most messages say so: first one that can go or be told less exactly."""
    for one, place in sorted(rng.shuffled(found), key=lambda each: _is_second_choice(each[1])):
        made = _draw_edit(target, rng, setting, one, place)
        if made is not None and is_broken(target.text, made.edit):
            made = _draw_words(target, rng, setting, one, place)
        if made is None or is_stripped(target.text, made.edit) or is_broken(target.text, made.edit):
            continue
        said = _draw_remark(target, rng, setting, one, place, made)
        if said is None:
            continue
        kept = made.form is None
        return {
            "edits": said.edits,
            "withheld": [one.text] if kept else [],
            "coarse": [] if kept else [one.text],
            "phrases": [entry for entry in (made.entry, said.entry) if entry],
            "reveal": _word_reveal(rng, setting, one, place.called if kept else None),
        }
    return None


def _is_second_choice(place: Place) -> bool:
    """Whether only words stand for the value that tell nothing of it: `this company`."""
    return place.withholds and place.dropped is None


def _draw_remark(
    target: UserTarget, rng: SeededRandom, setting: Setting, one: Mention, place: Place, made: _Made
) -> Remark | None:
    """The edits, with what the user says of the open value, if they say anything."""
    if setting.language is not Language.EN:
        return draw_remark(target, rng, setting, made.edit, None, one.type)
    now = made.edit["now"]
    if now.endswith((*TOLD_LATER, *_TOLD_IN_TEST)) or rng.chance(_share_silent(now)):
        return Remark([made.edit], "")
    coarse = made.form is not None or now.startswith("few")
    if not coarse and place.called == "full name":
        place = replace(place, called=None)
    thing = name_open(
        one, place, text=f"{target.text} {now}", coarse=coarse, half=target.branch.half, rng=rng
    )
    if thing == "budget" and thing in now:
        thing = "amount"
    named = None if thing is None else (thing, ask_which(one, place, thing, rng))
    if one.type is ValueType.PLACE and (_HERE.search(now) or _MINE.search(now)):
        named = (
            rng.choice(("city", "town", "location", "neighborhood")),
            rng.choice(_WHERE[target.branch.half]),
        )
    numbered = thing is not None and thing.endswith((" number", " ID"))
    kind = ValueType.ID if numbered else place.type or one.type
    return draw_remark(target, rng, setting, made.edit, named, kind, coarse=coarse)


_WHERE = {
    Half.TRAIN: ("where that is", "which city I'm in", "where I am", "which area I mean"),
    Half.TEST: ("where I live", "where that would be", "which city that is"),
}
"""What a user tells later who has only said that something is near."""


def _share_silent(now: str) -> float:
    """How often nothing more is said beside these words."""
    if _ABOUT.search(now) is not None:
        return _SILENT
    return _QUIET_HERE if _HERE.search(now) is not None else 0.0


class _Made(msgspec.Struct, frozen=True, gc=False):
    """How a value is made vague."""

    edit: dict[str, Any]
    entry: str = ""
    """The pack entry that words it."""
    form: str | None = None
    """The less exact words for the value; None: it is withheld."""


def _draw_edit(
    target: UserTarget, rng: SeededRandom, setting: Setting, one: Mention, place: Place
) -> _Made | None:
    """What makes the value vague: other words for it, or nothing where its phrase can go."""
    goes = place.dropped is not None and rng.chance(_LEFT_OUT)
    made = None if goes else _draw_words(target, rng, setting, one, place)
    if made is not None or place.dropped_span is None or place.dropped is None:
        return made
    edit = _replace(target.text, *place.dropped_span, place.dropped)
    return None if edit is None else _Made(edit)


def _draw_words(
    target: UserTarget, rng: SeededRandom, setting: Setting, one: Mention, place: Place
) -> _Made | None:
    """Words that stand for the value: a part of it, a coarse form, or a phrase from the packs."""
    text, accept, language = target.text, place.accept, setting.language
    parts = place.forms
    if not ends_clause(text, place.end):
        parts = tuple(form for form in parts if not is_told_later(form))
    if parts and (accept is None or rng.chance(_SHORTENED)):
        said = _word_in_half(rng.choice(parts), target.branch.half)
        edit = _replace(text, place.start, place.end, place.join(said, said))
        return None if edit is None else _Made(edit, form=None if place.withholds else said)
    if accept is None:
        return None
    forms = list_coarse_forms(one, language)
    form = rng.choice(forms) if forms else None
    if form is not None and _stands_alone(one, language) and accept(_BARE_FORM):
        bare = rng.chance(_BARE) or (language is not Language.EN and one.type is ValueType.DURATION)
        if bare or is_whole(form) or form.startswith(_HEDGED):
            edit = _replace(text, place.start, place.end, place.join(form, form))
            return None if edit is None else _Made(edit, form=form)
    phrase = _draw_vague(target, rng, setting, one, place, form)
    if phrase is None:
        return None
    coarse = form if form is not None and form in phrase.text else None
    edit = _replace(text, place.start, place.end, place.join(phrase.text, coarse))
    return None if edit is None else _Made(edit, phrase.entry, coarse)


def _word_in_half(form: str, half: Half) -> str:
    """The form, in the test half with words that the other half hasn't."""
    if half is Half.TEST:
        for word, other in zip(TOLD_LATER, _TOLD_IN_TEST, strict=True):
            form = form.replace(word, other)
    return form


_TOLD_IN_TEST = ("I'll share soon", "I'll mention later")


def _draw_vague(
    target: UserTarget, rng: SeededRandom, setting: Setting, one: Mention, place: Place, form: str | None
) -> Phrase | None:
    """A phrase for the value, around its coarse form if there is one."""
    accept, english = place.accept or accept_all, setting.language is Language.EN
    slots = {} if place.thing is None else {"thing": place.thing}
    if form is not None:
        slots["coarse"] = form
    told = find_word_before(target.text, place.start).lower() == "tell"
    asked = find_asked(target.own) if english else frozenset()
    for coarse in (True, False) if english and form is not None else (None,):
        phrase = draw_phrase(
            rng,
            setting,
            NAME,
            "vague",
            slots=slots,
            type=place.type or one.type,
            used=target.branch.phrases,
            accept=lambda entry, coarse=coarse: (  # type: ignore[misc]
                accept(entry)
                and coarse in (None, _is_coarse(entry))
                and (told or asks_for(entry.asks, asked))
            ),
        )
        if phrase is not None:
            return phrase
    return None


_BARE_FORM = Entry(id="", operator=NAME, part="vague", half=Half.TRAIN, text="{coarse}")
"""A coarse form by itself, as an entry would have it."""


def _stands_alone(one: Mention, language: Language) -> bool:
    """Whether its coarse form needs no hedge."""
    if language in (Language.EN, Language.DE, Language.ZH):
        return True
    amount = one.type in (ValueType.NUMBER, ValueType.DURATION, ValueType.MONEY)
    return amount and language in (Language.ES, Language.FR)


def _is_coarse(entry: Entry) -> bool:
    return "{coarse}" in entry.text


def _replace(text: str, start: int, end: int, said: str) -> dict[str, Any] | None:
    """The edit, with a capital where the text begins with it."""
    was = text[start:end]
    if start == 0 and was[:1].isupper() and said:
        said = said[0].upper() + said[1:]
    return make_edit(start, was, said) if was != said else None


def _describe(draw: Draw) -> str:
    told = [f"withheld: {draw['withheld'][0]}"] if draw["withheld"] else []
    told += [f"told less exactly: {', '.join(draw['coarse'])}"] if draw.get("coarse") else []
    return f"The user's message was made vague{''.join(f', {one}' for one in told)}."


def _word_reveal(rng: SeededRandom, setting: Setting, one: Mention, called: str | None) -> str:
    """What the user says who is asked for the value, which the message had no words for but `called`."""
    slots, thing = {"value": one.text}, called or one.thing
    told = (thing or "").rpartition(" ")[2] in one.text.split()
    if thing and setting.language is Language.EN and not told:
        slots["thing"] = thing
    phrase = draw_phrase(rng, setting, NAME, "reveal", slots=slots, type=one.type)
    return one.text if phrase is None else phrase.text


@written_form(NAME)
class AmbiguousWording:
    """The rule chooses what is vague, so that the user can give it back. The model words it, and must leave
    every other entity where it is.
    """

    ahead = False

    def ask(self, target: UserTarget, draw: Draw, severity: float) -> tuple[str, str] | None:
        task = (
            "Say what the user says less exactly, as somebody does who hasn't thought it through: vague "
            "about degree, manner and reasons. What is left open there stays open. Keep what the user wants "
            "done, and keep every id, number, date, name, quotation and technical term that is there exactly "
            "as it is, and in the same order."
        )
        return task, apply_edits(target.text, draw["edits"])

    def apply(self, target: UserTarget, draw: Draw, text: str) -> Result:
        rest = apply_edits(target.text, draw["edits"])
        return Result(read_text(text, 200 + 2 * len(rest), like=rest), _describe(draw))
