"""How users say that they leave a value open, and where in the message."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from crosswind.injectors.operators.user.asides.asked import asks_for, find_asked
from crosswind.injectors.operators.user.asides.draw import is_small, write_like
from crosswind.injectors.operators.user.asides.places import find_missing_mark, find_places, join_sentence
from crosswind.injectors.operators.user.values.vague.place import ends_clause
from crosswind.injectors.operators.user.values.value_names import COUNTED, NAME_OF
from crosswind.injectors.packs.draw import Setting, draw_phrase
from crosswind.injectors.packs.model import Entry
from crosswind.injectors.packs.parts import Asked
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import UserTarget
from crosswind.injectors.text.edits import apply_edits, make_edit
from crosswind.injectors.text.languages import Language
from crosswind.injectors.values.parameters import ValueType

NAME = "user.ambiguous"
_WITHIN, _NOTES, _LACKS, _TAIL = 0.3, 0.45, 0.35, 0.25
"""How often the user says it in brackets behind the value, as what is still to be decided, as what they
haven't got, and at the end of the last sentence."""
_BREAKS = ("", "", "", "\n", "\n\n")
"""What separates a sentence from the message before it; empty: what the text asks for."""


class Remark(msgspec.Struct, frozen=True, gc=False):
    """What the user says of a value that is left open: edits, of which one may be that of the value."""

    edits: list[dict[str, Any]]
    entry: str


def draw_remark(
    target: UserTarget,
    rng: SeededRandom,
    setting: Setting,
    edit: dict[str, Any],
    thing: tuple[str, str] | None,
    type: ValueType,
    *,
    coarse: bool = False,
) -> Remark | None:
    """The value's edit with what says that something is left open; None where the message has no place for
    that. `thing` is what the user calls the value; without it, they say that something is open, though not
    in a calculation, of which each number has a name. Nothing is missing where it is told less exactly
    (`coarse`)."""
    text, english = target.text, setting.language is Language.EN
    if not find_places(text, target.own).behind:
        return None
    asked = find_asked(target.own) if english else frozenset()
    draw = _Draw(target, rng, setting, thing, type, asked, coarse)
    if thing is None and Asked.CALCULATE in asked:
        return None
    if english and thing is None:
        found = draw.draw("offer", lambda entry: not _is_named(entry))
        return (
            None if found is None else Remark([edit, _append(target, rng, setting, edit, found[0])], found[1])
        )
    if english and (beside := _draw_within(draw, edit)) is not None:
        return beside
    parts = ["offer"]
    if english and Asked.ACTION in draw.asked and rng.chance(_NOTES) and not _SETTLED.search(text):
        parts.insert(0, "note")
    elif english and (Asked.ACTION in draw.asked or type in _KEPT) and rng.chance(_LACKS):
        parts.insert(0, "lack")
    for part in parts:
        found = draw.draw(part, _is_named if english else None)
        if found is not None:
            return Remark([edit, _append(target, rng, setting, edit, found[0])], found[1])
    return None


_KEPT = (ValueType.ID, ValueType.EMAIL, ValueType.FILE)
"""What people have written down somewhere."""
_SETTLED = re.compile(
    r"(?i)\b(?:block|booked|bought|cancel|delete|did|exchange|log|lost|missed|ordered|paid|purchased|ran|received|record|refund"
    r"|remove|return|track|used|was|were)\b"
)
"""What tells of a value that isn't to be decided any more."""


def _is_named(entry: Entry) -> bool:
    """Whether it says which kind of value is open."""
    return _NAMES.search(entry.text) is not None or bool(entry.fits)


def _draw_within(draw: _Draw, edit: dict[str, Any]) -> Remark | None:
    """The value's edit with what stands in brackets behind it, or goes on with its sentence."""
    text, stop = draw.target.text, edit["at"] + len(edit["was"])
    now = edit["now"].strip()
    if draw.thing is not None and draw.thing[0].rpartition(" ")[2] in now:
        return None  # `within our budget (budget to follow)`
    asks = text.endswith("?")

    def is_aside(entry: Entry) -> bool:
        return entry.text.startswith("(") and not (asks and "?" in entry.text)

    if draw.rng.chance(_WITHIN) and now and ends_clause(text, stop):
        found = draw.draw("within", is_aside)
        return None if found is None else Remark([{**edit, "now": f"{edit['now']} {found[0]}"}], found[1])
    if not draw.rng.chance(_TAIL) or _PASSED_ON.search(text, stop) is not None:
        return None
    end = _find_tail(text, stop)
    if end is None:
        return None
    found = draw.draw("within", is_aside if asks else None)
    if found is None:
        return None
    lead = "" if found[0].startswith(",") else " "
    return Remark([edit, make_edit(end, "", f"{lead}{found[0]}")], found[1])


def _append(
    target: UserTarget, rng: SeededRandom, setting: Setting, edit: dict[str, Any], said: str
) -> dict[str, Any]:
    """A sentence behind the message."""
    text, apart = target.text, rng.choice(_BREAKS)
    missing = find_missing_mark(text, setting.language)
    if apart or missing:
        return make_edit(len(text), "", f"{apart or missing}{said}")
    return make_edit(len(text), "", join_sentence(apply_edits(text, [edit]), said, setting.language))


class _Draw(msgspec.Struct, frozen=True, gc=False):
    """Draws entries for one value."""

    target: UserTarget
    rng: SeededRandom
    setting: Setting
    thing: tuple[str, str] | None
    """What the value is called, and the same as an object; None in other languages."""
    type: ValueType
    asked: frozenset[Asked]
    """What an English message asks for: only in an action, the user decides on a value."""
    coarse: bool = False
    """Whether the value is told less exactly."""

    def draw(self, part: str, accept: Any = None) -> tuple[str, str] | None:
        slots = {} if self.thing is None else dict(zip(("thing", "which"), self.thing, strict=True))
        if self.type is ValueType.OPTION and slots.get("thing", "").startswith("exact "):
            del slots["thing"]  # Nobody tells `the exact door`.
        # Where nothing names the value, an entry for its type says what is left open.
        english = self.setting.language is Language.EN
        for typed in (True, False) if self.thing is None and not english else (False,):
            found = draw_phrase(
                self.rng,
                self.setting,
                NAME,
                part,
                slots=slots,
                type=self.type,
                used=self.target.branch.phrases,
                accept=lambda entry, typed=typed: (  # type: ignore[misc]
                    (accept is None or accept(entry))
                    and (bool(entry.fits) or not typed)
                    and _fits(entry, self.thing)
                    and not (self.coarse and _MISSED.search(entry.text))
                    and asks_for(entry.asks, self.asked)
                    and (part == "within" or is_small(self.target.own) or not _is_typed_small(entry.text))
                ),
            )
            if found is not None:
                break
        else:
            return None
        own, language = self.target.own, self.setting.language
        if part == "within":
            return found.text, found.entry
        capital = own[:1].isupper() and found.text[-1:] in ".?"
        said = found.text[:1].upper() + found.text[1:] if capital else found.text
        return write_like(said, own, language), found.entry


def _is_typed_small(text: str) -> bool:
    """Whether only who writes without capitals writes so. What begins with a slot gets its capital later."""
    return is_small(text) if not _NAMES.match(text) else not text.endswith((".", "?"))


def _fits(entry: Entry, thing: tuple[str, str] | None) -> bool:
    """Whether its article, its verb and its question go with the thing."""
    if thing is None:
        return True
    (name, which), text = thing, entry.text
    odd = (
        which.startswith(_BARE) and _ABOUT.search(text),
        which.startswith("the ") and _QUESTION.search(text),
        (name.endswith("s") or " and " in name) and _AGREES.search(text),
        COUNTED.fullmatch(name) is None and "ow many" in text,
        name.startswith(NAME_OF) and _NONE_OF.search(text),
        name.startswith(_NO_ARTICLE) and _ARTICLE.search(text),
    )
    return not any(odd)


_MISSED = re.compile(
    r"(?i)\b(?:absent|another detail|did (?:I|not)|didn['’]t|don['’]t have|everything|except|find the|forget"
    r"|forgot|haven['’]t (?:said|thought)|isn['’]t|left|missed|missing|never|no \{thing|not (?:have|in)"
    r"|nothing|omitted|oops|out|should have|skipped|there should|without|would you)\b"
    r"|thing\}(?::| \(?\{one:tb)"
)
"""What nobody says of a value that is told, though less exactly."""
_QUESTION = re.compile(r"\b(?:ask|certain|clear|clue|idea|knows?|me|sure)\}? \{which\}")
"""What only a question follows: nobody writes `not sure the date`."""
_AGREES = re.compile(
    r"(?i)\{thing\}(?: \(?| isn['’]t )?(?:\{one:)?(?:comes|deserves|depends|eludes|escapes"
    r"|follows|has|helps|is|isn|lives|makes|matters|plays|remains|was|warrants)\b|\b(?:is|was) the \{thing\}"
    r"|\b(?:add|confirm|get|have|post|send) it\b"
)
"""A verb or a pronoun in the singular."""
_BARE = ("who", "where", "when", "how")
_ABOUT = re.compile(r"\b(?:about|on|of|for)\}? \{which\}")
"""Questions of one word, and words that don't go before them: nobody says `more on who`."""
_NAMES = re.compile(r"\{(?:thing|which)\}")
_NO_ARTICLE = (*"aeiou", NAME_OF, "number of ")
_ARTICLE = re.compile(r"\ba \{thing\}")
_NONE_OF = re.compile(r"(?i)\bno (?:\w+ )?\{thing\}")
"""What nobody says of a name that is someone's: `no name of the league`."""


_PASSED_ON = re.compile(r"\b(?:reminding|saying|tell|telling|that)\b")
"""What somebody else is told, to which the end of the sentence would belong."""


def _find_tail(text: str, stop: int) -> int | None:
    """Where the last sentence can go on, if the value is in it: at its end, before its mark."""
    end = len(text) if text[-1:].isalpha() else len(text) - 1
    whole = end >= stop and _SENTENCE.search(text, stop, end) is None
    begin = max((found.end() for found in _SENTENCE.finditer(text, 0, stop)), default=0)
    whole = whole and len(text[begin:].split()) >= _LEAST_WORDS
    return end if whole and re.search(r"[A-Za-z]{3}[.?]?\Z", text) is not None else None


_LEAST_WORDS = 5
"""Words of a last sentence that surely has a verb."""
_SENTENCE = re.compile(r"[.!?;:\n]")
