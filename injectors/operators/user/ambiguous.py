"""A user who leaves constraints vague, and gives them when asked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.model_text import read_text
from crosswind.injectors.operators.user.sentences import is_prose
from crosswind.injectors.operators.words.requests import COMPARED, DETERMINERS, NAMED, VAGUER
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, UserTarget
from crosswind.injectors.text.edits import (
    apply_edits,
    compile_phrases,
    drop_overlaps,
    find_unprotected,
    make_edit,
)
from crosswind.injectors.text.languages import mark_unable
from crosswind.injectors.wording import written_form

_EXACT = compile_phrases(*VAGUER)
_COMPARED = re.compile(rf"(?<=\bthe )(?:{'|'.join(COMPARED)})(?= one\b)", re.IGNORECASE)
_ID = re.compile(rf"(?:\b(\w+) )?\b({'|'.join(NAMED)}) (#?[A-Za-z-]*\d[\w-]*)(?![\w@-])", re.IGNORECASE)
_EMAIL = re.compile(r"(?<=\bto )[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_DIGIT = re.compile(r"\d")


@operator(
    "user.ambiguous",
    site=Site.USER_TEXT,
    recovery=Recovery.ASK_USER,
    aliases=("ambiguity",),
    source="NoisyAgent section 3.1; AgentNoiseBench section 2.2.1 and appendix B (Ambiguous Instructions)",
    effect=Effect.ADDS,
)
class Ambiguous:
    """Constraints are blurred (`exactly`, `the larger one`), and one fact is withheld until asked for.

    Severity: the share of the message's constraints that are vague. Only the first message is made vague:
    later ones are the answers. An id or e-mail address is withheld only where a user can answer, and where
    the message has no second one of its kind that could be taken for it; one at most, so that one answer
    brings all of it back.
    """

    def draw(self, target: UserTarget, rng: SeededRandom, severity: float) -> Draw | None:
        points = [rng.uniform(), rng.uniform()]
        if target.ordinal > 0 or not is_prose(target.text):
            return None
        withheld = rng.shuffled(list(_find_withholdable(target))) if target.user_can_answer else []
        # One fact at most, so that one answer of the user's brings everything back.
        edits = [fact for fact, point in zip(withheld, points, strict=False) if point < severity][:1]
        lost = [fact["was"] for fact in edits]
        edits += [blur for blur in _find_blurs(target) if rng.chance(severity)]
        if not edits and points[0] < severity:
            return mark_unable(target.text, {"edits": [], "withheld": []})
        return {"edits": drop_overlaps(edits), "withheld": lost} if edits else None

    def apply(self, target: UserTarget, draw: Draw) -> Result:
        return Result(apply_edits(target.text, draw["edits"]), _describe(draw))


@written_form("user.ambiguous")
class AmbiguousWording:
    """The rule chooses what is withheld, so that one answer brings it back. The model blurs how the rest is
    said, and must leave every other entity where it is.
    """

    ahead = False

    def ask(self, target: UserTarget, draw: Draw, severity: float) -> tuple[str, str] | None:
        task = (
            "Say what the user says less exactly, as somebody does who hasn't thought it through: vague "
            "about degree, manner and reasons. Keep what the user wants done, and keep every id, number, "
            "date, name, quotation and technical term that is there exactly as it is, and in the same "
            "order."
        )
        return task, _withhold(target, draw)

    def apply(self, target: UserTarget, draw: Draw, text: str) -> Result:
        rest = _withhold(target, draw)
        return Result(read_text(text, 200 + 2 * len(rest), like=rest), _describe(draw))


def _withhold(target: UserTarget, draw: Draw) -> str:
    """The message without what is withheld."""
    return apply_edits(target.text, [one for one in draw["edits"] if one["was"] in draw["withheld"]])


def _describe(draw: Draw) -> str:
    withheld = f", and withheld: {draw['withheld'][0]}" if draw["withheld"] else ""
    return f"The user's message was made vague{withheld}."


def _find_withholdable(target: UserTarget) -> Iterator[dict[str, Any]]:
    """Edits that leave out a fact, where the message has no second one of its kind."""
    text = target.text
    plain = [text[start:end] for start, end in target.protected if text[start] not in "\"'`“”‘’«»„「"]
    emails = [value for value in plain if "@" in value]
    ids = [value for value in plain if "@" not in value and _DIGIT.search(value)]
    if len(ids) == 1 and (match := _ID.search(text)) and match[3] == ids[0]:
        before, noun, _ = match.groups()
        known = before is not None and before.lower() in DETERMINERS
        kept = noun if known or (before or "").istitle() else f"my {noun}"
        yield make_edit(match.start(2), text[match.start(2) : match.end()], kept)
    if len(emails) == 1 and (match := _EMAIL.search(text)) and match[0] == emails[0]:
        yield make_edit(match.start(), match[0], "my usual address")


def _find_blurs(target: UserTarget) -> Iterator[dict[str, Any]]:
    """Edits that say something less exactly. A dropped word takes the space before it with it."""
    text = target.text
    for match in find_unprotected(_COMPARED, text, target.protected):
        yield make_edit(match.start(), match.group(), "other")
    for match in find_unprotected(_EXACT, text, target.protected):
        start, end = match.span()
        left = VAGUER[match.group().lower()]
        if not left and text[start - 1 : start] == " ":
            start -= 1
        yield make_edit(start, text[start:end], left)
