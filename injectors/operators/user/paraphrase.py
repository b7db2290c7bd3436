"""The same request in other words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.model_text import read_text
from crosswind.injectors.operators.user.sentences import is_prose, split_sentences
from crosswind.injectors.operators.words.synonyms import IN_REQUESTS
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
from crosswind.injectors.text.entities import Span
from crosswind.injectors.text.languages import mark_unable
from crosswind.injectors.wording import written_form

EXTENT = ("a few words and turns of phrase", "most of the wording", "the wording throughout")
"""By thirds of the severity."""

_PHRASE = compile_phrases(*IN_REQUESTS)
_PLEASE = re.compile(r"Please (\w)")
_THANKS = re.compile(r"(?:Thanks|Thank you|Many thanks)\b", re.IGNORECASE)


@operator(
    "user.paraphrase",
    site=Site.USER_TEXT,
    recovery=Recovery.NONE_NEEDED,
    aliases=("query_paraphrase", "QueryPara"),
    source="RobustBench-TC, table 1 and appendices C and F (Observation); by rule here, by a model there",
    effect=Effect.REWORDS,
)
class Paraphrase:
    """The same meaning in other words: synonyms, other turns of phrase, and politeness moved elsewhere.

    Severity: lexical distance, as the share of the rewordable phrases that are reworded and of the movable
    pieces (please, thanks) that are moved. Protected entities stay, in their order; no word that limits or
    measures is replaced. English only: in another language the event is withheld, unless a model writes.
    """

    def draw(self, target: UserTarget, rng: SeededRandom, severity: float) -> Draw | None:
        if not is_prose(target.text):
            return None
        found = [
            change for changes in _draw_candidates(target, rng) if rng.chance(severity) for change in changes
        ]
        edits = drop_overlaps(found)
        if edits and apply_edits(target.text, edits) != target.text:
            return {"edits": edits}
        return mark_unable(target.text, {"edits": []}) if not edits and rng.chance(severity) else None

    def apply(self, target: UserTarget, draw: Draw) -> Result:
        count = len(draw["edits"])
        what = "in one place" if count == 1 else f"in {count} places"
        return Result(apply_edits(target.text, draw["edits"]), f"The user's message was reworded {what}.")


@written_form("user.paraphrase")
class ParaphraseWording:
    """RobustBench-TC, appendix F: a paraphrase of the query that keeps every entity. The guard refuses one
    that lost an entity, changed their order, or brought in a number."""

    ahead = False

    def ask(self, target: UserTarget, draw: Draw, severity: float) -> tuple[str, str] | None:
        extent = EXTENT[min(2, int(3 * severity))]
        task = (
            "Say what the user says in other words, in the user's own voice, speaking to the same "
            f"assistant. Change {extent}. Keep every request and condition, add none. Keep every id, "
            "number, date, name, quotation and technical term exactly as it is, and in the same order."
        )
        return task, target.text

    def apply(self, target: UserTarget, draw: Draw, text: str) -> Result:
        return Result(
            read_text(text, 200 + 3 * len(target.text), like=target.text), "The message was reworded."
        )


def _draw_candidates(target: UserTarget, rng: SeededRandom) -> Iterator[list[dict[str, Any]]]:
    """Edits that go together, in the text's order. They are all drawn whatever the severity is."""
    text, spans = target.text, split_sentences(target.text)
    for start, end in spans:
        if moved := _move_please(target, start, end):
            yield moved
    if moved := _move_thanks(target, spans):
        yield moved
    for match in find_unprotected(_PHRASE, text, target.protected):
        word = match.group()
        other = rng.choice(IN_REQUESTS[word.lower()])
        yield [make_edit(match.start(), word, other[0].upper() + other[1:] if word[0].isupper() else other)]


def _move_please(target: UserTarget, start: int, end: int) -> list[dict[str, Any]]:
    """Write `Please send it.` as `Send it, please.`"""
    text, close = target.text, end - 1
    match = _PLEASE.match(text, start, end)
    if match is None or text[close] != "." or not text[close - 1].isalnum():
        return []
    if touches(target.protected, start, match.end()) or touches(target.protected, close, end):
        return []
    return [make_edit(start, match.group(), match.group(1).upper()), make_edit(close, "", ", please")]


def _move_thanks(target: UserTarget, spans: list[Span]) -> list[dict[str, Any]]:
    """Move closing thanks that hold no entity before the last request."""
    if len(spans) < 2 or not _THANKS.match(target.text, spans[-1][0]):
        return []
    (place, before), (start, end) = spans[-2:]
    if touches(target.protected, start, end):
        return []
    return [
        make_edit(place, "", f"{target.text[start:end]} "),
        make_edit(before, target.text[before:end], ""),
    ]
