"""A user who contradicts themselves, and settles it in the same message or in the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.user.choices import QUOTES, around, choices, values
from crosswind.injectors.operators.user.doubts import doubted, settlement
from crosswind.injectors.operators.user.opposites import OTHERS
from crosswind.injectors.operators.user.quantities import asked, doubt, is_asked, settled
from crosswind.injectors.operators.user.sentences import is_prose, joint, sentence_spans
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, UserTarget
from crosswind.injectors.text.edits import disjoint, edit, edited, splits
from crosswind.injectors.text.entities import Span
from crosswind.injectors.text.languages import unable

TRIALS = 3
LONGEST = 160
"""Longer sentences are not said twice."""


@operator(
    "user.inconsistent",
    site=Site.USER_TEXT,
    recovery=Recovery.IGNORE,
    aliases=("conflict",),
    source="NoisyAgent section 3.1; AgentNoiseBench section 2.2.1 and appendix B (Inconsistent Instructions)",
)
@dataclass(frozen=True)
class Inconsistent:
    """Contradictions that are settled: the true value comes last and is called final.

    Severity: the number of contradictions is binomial with mean 3 x severity (3 trials), as far as the
    message has choices (a colour, a size, a day) or values to contradict; with probability severity one
    comes early, as a whole wrong sentence, else right before the word. A choice is first said wrongly, a
    value is doubted, and of a quantity that is asked for (`how many`) the user has two beliefs, of which
    neither counts. Every word of the user's own is kept, no number or name is made up.

    With `settles: next_message`, and where the user can answer, one value is doubted and stays so until the
    user speaks again; with probability severity. That message settles it, whatever the schedule says.
    """

    settles: Literal["same_message", "next_message"] = "same_message"

    def draw(self, target: UserTarget, rng: Stream, severity: float) -> Draw | None:
        if target.owed:
            return settlement(target)
        if self.settles == "next_message" and target.user_can_answer:
            hit = rng.chance(severity) and is_prose(target.text)
            return (doubted(target, rng) or unable(target.text, {"edits": [], "final": []})) if hit else None
        count = sum(rng.uniform() < severity for _ in range(TRIALS))
        far = [rng.uniform() < severity for _ in range(TRIALS)]
        if count == 0 or not is_prose(target.text):
            return None
        sentences = sentence_spans(target.text)
        chosen = sorted(rng.shuffled([*choices(target, sentences), *values(target), *asked(target)])[:count])
        edits = [_said(target, span, sentences, early, rng) for span, early in zip(chosen, far, strict=False)]
        final = list(dict.fromkeys(target.text[start:end] for start, end in chosen))
        if not final:
            return unable(target.text, {"edits": [], "final": []})
        end = len(target.text)
        told = ", ".join(settled(one) if is_asked(one) else one for one in final)
        last = f"{joint(target.text)}To settle it, and this is final: {told}."
        return {"edits": [*disjoint(edits), edit(end, "", last)], "final": final}

    def apply(self, target: UserTarget, draw: Draw) -> Result:
        note = f"The user's message contradicts itself and settles it: {', '.join(draw['final'])}."
        if draw.get("owed"):
            note = f"The user doubts {', '.join(draw['owed'])}; the next message settles it."
        elif draw.get("settles"):
            note = f"The user settles an earlier doubt: {', '.join(draw['settles'])}."
        return Result(edited(target.text, draw["edits"]), note)


def _said(target: UserTarget, span: Span, sentences: list[Span], early: bool, rng: Stream) -> dict[str, Any]:
    """What is said wrongly before the true word, or doubted behind the true value's sentence."""
    text, (start, end) = target.text, span
    word, (begin, stop) = text[start:end], around(start, sentences)
    others = [other for other in OTHERS.get(word, ()) if other not in text]
    if not others:
        checked = f"I was not sure whether it is {word} or another one, so I have checked."
        doubted = doubt(word, rng) if is_asked(word) else checked
        if text[stop - 1] in ".!?" and not splits(target.protected, stop):
            return edit(stop, "", f" {doubted}")
        return edit(len(text), "", f"{joint(text)}{doubted}")
    wrong = rng.choice(others)
    twice = stop - begin <= LONGEST and not QUOTES.search(text, begin, stop)
    if early and twice and not splits(target.protected, begin):
        return edit(begin, "", f"{text[begin:start]}{wrong}{text[end:stop]} No, that is wrong. ")
    return edit(start, "", f"{wrong}, no, I mean ")
