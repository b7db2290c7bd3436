"""A user who contradicts themselves, and settles it in the same message or in the next."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.user.sentences import find_separator, is_prose, split_sentences
from crosswind.injectors.operators.words.requests import BELIEFS, OTHERS
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, UserTarget
from crosswind.injectors.text.edits import apply_edits, drop_overlaps, find_unprotected, make_edit, splits
from crosswind.injectors.text.entities import Span, find_numbers
from crosswind.injectors.text.languages import mark_unable

TRIALS = 3
LONGEST_SENTENCE = 160
"""Longer sentences are not repeated wrongly."""

LONGEST_VALUE = 80

QUOTES = re.compile(r"[\"'`“”‘’«»„「」]")

_CHOICE = re.compile(rf"(?<![\w'’-])(?:{'|'.join(OTHERS)})(?![\w'’-])")
_TURNED = re.compile(
    r"\b(?:no|not|never|nor|without|except|instead|rather|or|than)\b|n['’]t\b", re.IGNORECASE
)
_VALUE = re.compile(r"[\d@]")
_NO_NOUNS = "is|are|was|were|do|does|did|has|have|can|could|may|will|would|should|it|we|you|they|of|more"
_ASKED = re.compile(rf"\bhow (many|much)\b(?: (?!(?:{_NO_NOUNS})\b)[a-z]+)?", re.IGNORECASE)


@operator(
    "user.inconsistent",
    site=Site.USER_TEXT,
    recovery=Recovery.IGNORE,
    aliases=("conflict",),
    source="NoisyAgent section 3.1; AgentNoiseBench section 2.2.1 and appendix B (Inconsistent Instructions)",
    effect=Effect.ADDS,
)
@dataclass(frozen=True)
class Inconsistent:
    """Contradictions that are settled: the true value comes last and is called final.

    Severity: the number of contradictions is binomial with mean 3 x severity (3 trials), as far as the
    message has choices (a colour, a size, a day) or values to contradict; with probability severity one
    comes early, as a whole wrong sentence, else right before the word. A choice is first stated wrongly, a
    value is doubted, and about a quantity that is asked for (`how many`) the user has two beliefs, neither of
    which counts. The user's own words are all kept, and no number or name is made up.

    With `settles: next_message`, and where the user can answer, one value is doubted with probability
    severity, and the user's next message settles it, whatever the schedule says.
    """

    settles: Literal["same_message", "next_message"] = "same_message"

    def draw(self, target: UserTarget, rng: SeededRandom, severity: float) -> Draw | None:
        if target.unsettled:
            return _draw_settlement(target)
        if self.settles == "next_message" and target.user_can_answer:
            hit = rng.chance(severity) and is_prose(target.text)
            return (
                (_draw_doubt(target, rng) or mark_unable(target.text, {"edits": [], "final": []}))
                if hit
                else None
            )
        count = rng.successes(TRIALS, severity)
        far = [rng.uniform() < severity for _ in range(TRIALS)]
        if count == 0 or not is_prose(target.text):
            return None
        sentences = split_sentences(target.text)
        found = [*_find_choices(target, sentences), *_find_values(target), *_find_quantities(target)]
        chosen = sorted(rng.shuffled(found)[:count])
        contradicted = [
            _contradict(target, span, sentences, early, rng) for span, early in zip(chosen, far, strict=False)
        ]
        final = list(dict.fromkeys(target.text[start:end] for start, end in chosen))
        if not final:
            return mark_unable(target.text, {"edits": [], "final": []})
        settled = ", ".join(_settle_quantity(one) if _is_quantity(one) else one for one in final)
        last = _append(target, f"To settle it, and this is final: {settled}.")
        edits = drop_overlaps(edit for edit, _ in contradicted)
        wrong = {
            target.text[start:end]: said
            for (start, end), (_, said) in zip(chosen, contradicted, strict=True)
            if said
        }
        return {"edits": [*edits, last], "final": final, "wrong": wrong}

    def apply(self, target: UserTarget, draw: Draw) -> Result:
        note = f"The user's message contradicts itself and settles it: {', '.join(draw['final'])}."
        if draw.get("owed"):
            note = f"The user doubts {', '.join(draw['owed'])}; the next message settles it."
        elif draw.get("settles"):
            note = f"The user settles an earlier doubt: {', '.join(draw['settles'])}."
        return Result(apply_edits(target.text, draw["edits"]), note)


def _contradict(
    target: UserTarget, span: Span, sentences: list[Span], early: bool, rng: SeededRandom
) -> tuple[dict[str, Any], list[str]]:
    """Draw the edit that says a word wrongly before the true one, or doubts a value after its sentence; and
    what it says that isn't so."""
    text, (start, end) = target.text, span
    word, (begin, stop) = text[start:end], _sentence_at(start, sentences)
    others = [other for other in OTHERS.get(word, ()) if other not in text]
    if not others:
        checked = f"I was not sure whether it is {word} or another one, so I have checked."
        doubt, beliefs = _draw_beliefs(word, rng) if _is_quantity(word) else (checked, [])
        if text[stop - 1] in ".!?" and not splits(target.protected, stop):
            return make_edit(stop, "", f" {doubt}"), beliefs
        return _append(target, doubt), beliefs
    # A sentence with quotation marks isn't repeated wrongly: a quoted value must stay the only one.
    wrong = rng.choice(others)
    twice = stop - begin <= LONGEST_SENTENCE and not QUOTES.search(text, begin, stop)
    if early and twice and not splits(target.protected, begin):
        false = f"{text[begin:start]}{wrong}{text[end:stop]}"
        return make_edit(begin, "", f"{false} No, that is wrong. "), [wrong]
    return make_edit(start, "", f"{wrong}, no, I mean "), [wrong]


def _draw_doubt(target: UserTarget, rng: SeededRandom) -> Draw | None:
    """Draw a doubt about one of the message's choices or values. The next message has to settle it."""
    text = target.text
    found = sorted({*_find_choices(target, split_sentences(text)), *_find_values(target)})
    if not found:
        return None
    start, end = rng.choice(found)
    word = text[start:end]
    others = [other for other in OTHERS.get(word, ()) if other not in text]
    other = rng.choice(others) if others else "another one"
    doubt = f"I am not sure any more whether it is {word} or {other}, so ask me before you rely on it."
    return {"edits": [_append(target, doubt)], "final": [], "owed": [word]}


def _draw_settlement(target: UserTarget) -> Draw | None:
    """Settle an earlier doubt: append the true values to this message."""
    if not is_prose(target.text):
        return None
    values = ", ".join(target.unsettled)
    sentence = f"To settle what I was in doubt about, and this is final: {values}."
    return {
        "edits": [_append(target, sentence)],
        "final": list(target.unsettled),
        "settles": list(target.unsettled),
    }


def _append(target: UserTarget, sentence: str) -> dict[str, Any]:
    return make_edit(len(target.text), "", f"{find_separator(target.text)}{sentence}")


def _find_choices(target: UserTarget, sentences: list[Span]) -> Iterator[Span]:
    """Words of the user's own that choose one of several. Each stands once in the message, and in no sentence
    with a negation or an alternative.
    """
    found = list(find_unprotected(_CHOICE, target.text, target.protected, whole=True))
    times = Counter(match.group() for match in found)
    turned = {span: _TURNED.search(target.text, *span) is not None for span in sentences}
    own = Counter(_CHOICE.findall(target.own))
    for match in found:
        word = match.group()
        if times[word] == own[word] == 1 and not turned[_sentence_at(match.start(), sentences)]:
            yield match.span()


def _find_values(target: UserTarget) -> Iterator[Span]:
    """Ids, numbers and addresses that can be repeated verbatim."""
    known = find_numbers(target.own)
    for start, end in target.protected:
        value = target.text[start:end]
        if end - start > LONGEST_VALUE or not _VALUE.search(value) or QUOTES.search(value):
            continue
        if len(value.split()) == 1 and find_numbers(f"or {value}, or") <= known:
            yield start, end


def _sentence_at(at: int, sentences: list[Span]) -> Span:
    return sentences[bisect_right(sentences, at, key=lambda span: span[0]) - 1]


def _find_quantities(target: UserTarget) -> Iterator[Span]:
    """The phrases by which the user asks for quantities in their own words, each once."""
    seen = set()
    for match in find_unprotected(_ASKED, target.text, target.protected):
        if match.group() in target.own and match.group() not in seen:
            seen.add(match.group())
            yield match.span()


def _is_quantity(phrase: str) -> bool:
    return _ASKED.fullmatch(phrase) is not None


def _draw_beliefs(phrase: str, rng: SeededRandom) -> tuple[str, list[str]]:
    """Draw a sentence with two beliefs about the quantity, which says that they are beliefs; and the two."""
    word = phrase.split()[1].lower()
    one, other = rng.shuffled(rng.choice(BELIEFS[word]))
    return f"I believe it is {one}, then again I was told it is {other}, so I am not sure.", [one, other]


def _settle_quantity(phrase: str) -> str:
    """What the user settles on: neither belief counts, only what the agent finds."""
    return f"what you find about {phrase[0].lower()}{phrase[1:]}"
