"""A user who leaves constraints vague, and gives them when asked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.model_text import read_text
from crosswind.injectors.operators.user.sentences import is_prose, split_sentences
from crosswind.injectors.operators.user.withheld_facts import find_withholdable
from crosswind.injectors.operators.words.requests import COMPARED, HEDGES, VAGUER
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, UserTarget
from crosswind.injectors.text.edits import (
    apply_edits,
    compile_phrases,
    drop_overlaps,
    find_unprotected,
    make_edit,
    touches,
)
from crosswind.injectors.text.languages import mark_unable
from crosswind.injectors.wording import written_form

_EXACT = compile_phrases(*VAGUER)
_COMPARED = re.compile(rf"(?<=\bthe )(?:{'|'.join(COMPARED)})(?= one\b)", re.IGNORECASE)
_END = re.compile(r"(?<=[a-z]{2})(?=[.?](?:\s|$)|\s*$)")
_REQUEST = re.compile(
    r"\b(?:can|could|would|will|please|want|need|like|help|how|what|which|where)\b", re.IGNORECASE
)


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
    later ones are the answers. A fact (an id, an address, a day, a time, an amount, a count, a place) is
    withheld only where a user can answer, and where the message has no second one of its kind that could be
    taken for it; one at most, so that one answer brings all of it back. A message with nothing of either
    kind ends a sentence in doubt of its words (`if that makes sense`).
    """

    def draw(self, target: UserTarget, rng: SeededRandom, severity: float) -> Draw | None:
        points = [rng.uniform(), rng.uniform()]
        if target.ordinal > 0 or not is_prose(target.text):
            return None
        withheld = rng.shuffled(list(find_withholdable(target))) if target.user_can_answer else []
        # One fact at most, so that one answer of the user's brings everything back.
        lost = [fact for fact, point in zip(withheld, points, strict=False) if point < severity][:1]
        edits = lost + [blur for blur in _find_blurs(target) if rng.chance(severity)]
        if not edits and points[0] < severity:
            unable = mark_unable(target.text, {"edits": [], "withheld": []})
            if unable is not None:
                return unable
            edits = _draw_hedge(target, rng)
        if not edits:
            return None
        edits = drop_overlaps(edits)
        return {"edits": edits, "withheld": [fact["was"] for fact in lost if fact in edits]}

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


def _draw_hedge(target: UserTarget, rng: SeededRandom) -> list[dict[str, Any]]:
    """Draw the edit that ends a sentence in doubt of its words: one that asks, if any does."""
    text = target.text
    ends: dict[int, bool] = {}
    for start, end in split_sentences(text):
        if found := _END.search(text[start:end]):
            ends[start + found.start()] = _REQUEST.search(text, start, end) is not None
    ends = {at: asks for at, asks in ends.items() if not touches(target.protected, at - 1, at)}
    asking = [at for at, asks in ends.items() if asks] or list(ends)
    return [make_edit(rng.choice(asking), "", rng.choice(HEDGES))] if asking else []


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
