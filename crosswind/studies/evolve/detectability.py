"""How easily noise is told from what the conversations say: a candidate that is, teaches to strip it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from math import inf
from statistics import fmean
from typing import Any

from crosswind.injectors.engine.messages import perturb_messages
from crosswind.injectors.engine.plan import NOISY, Assignment, Seed
from crosswind.injectors.engine.tools import perturb_tools
from crosswind.injectors.profiles.load import Profile
from crosswind.studies.conversations import RecordedConversation
from crosswind.studies.detectors import Detection, Labelled, detect_by_phrases, detect_by_regression

SEEDS = 2
"""Sessions that each conversation is perturbed as."""
MOST_SEEDS = 12
"""So many where the noisy texts of a half are fewer than `ENOUGH`."""
ENOUGH = 60
FEWEST = 12
"""Noisy texts of a half: below, nothing can be said."""
MOST = 300
"""Texts of a label and half that a detector gets."""


@dataclass(frozen=True, slots=True)
class Detectability:
    """The recall of two detectors at 1 % of false positives at most: trained on one half of the conversations
    and tested on the other, and the other way round, on average."""

    phrases: float
    """Of a list of at most five phrases."""
    regression: float
    """Of a logistic regression on words and pairs of words."""
    texts: int
    """Noisy texts of the smaller half."""

    def exceeds(self, most: Detectability) -> bool:
        """Whether it is told too easily, or acts too seldom to tell."""
        return self.texts < FEWEST or self.phrases > most.phrases or self.regression > most.regression

    def overshoot(self, most: Detectability) -> float:
        """How many times the highest allowed recall it has, in the detector where that is the most; without
        bound where nothing can be said."""
        if self.texts < FEWEST:
            return inf
        return max(self.phrases / max(most.phrases, 1e-9), self.regression / max(most.regression, 1e-9))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Detectability:
        return Detectability(**data)


LIMITS = Detectability(phrases=0.4, regression=0.6, texts=0)


def measure_detectability(
    profile: Profile, conversations: Sequence[RecordedConversation], seed: int
) -> Detectability:
    """Perturb the conversations under a profile, and see how well it is told."""
    halves: dict[bool, Labelled] = {}
    for held_out in (False, True):
        ours = [one for one in conversations if _is_held_out(one) is held_out]
        noisy: list[str] = []
        for number in range(MOST_SEEDS):
            if number >= SEEDS and len(noisy) >= ENOUGH:
                break
            for one in ours:
                noisy += _list_noisy(profile, one, Seed(seed, f"{one.name}|{number}"))
        clean = [text for one in ours for text in _list_clean(one)]
        halves[held_out] = Labelled(_pick(noisy), _pick(clean))
    ways = [(halves[False], halves[True]), (halves[True], halves[False])]
    return Detectability(
        fmean(_recall(detect_by_phrases(*way)) for way in ways),
        fmean(_recall(detect_by_regression(*way)) for way in ways),
        min(len(half.noisy) for half in halves.values()),
    )


def _recall(found: Detection) -> float:
    return found.caught / max(1, found.noisy)


def _is_held_out(one: RecordedConversation) -> bool:
    """By what its user said first: equal conversations are in one half."""
    return _digest(next((item.text for item in one.conversation.items), ""))[0] % 2 == 0


def _list_noisy(profile: Profile, recorded: RecordedConversation, seed: Seed) -> Iterator[str]:
    conversation = recorded.conversation
    plan = recorded.make_plan(profile, seed, Assignment(NOISY), [recorded.tool_classes])
    for new in perturb_messages(plan, conversation, {}).new:
        if new.text is not None:
            yield new.text
    declared = {*_list_tools(recorded)}
    for one in perturb_tools(plan, conversation.tools, recorded.constraints).injections:
        shown = [] if one.after is None else [_write(tool) for tool in json.loads(one.after)]
        yield from (text for text in shown if text not in declared)


def _list_clean(recorded: RecordedConversation) -> Iterator[str]:
    yield from (item.text for item in recorded.conversation.items)
    yield from _list_tools(recorded)


def _list_tools(recorded: RecordedConversation) -> Iterator[str]:
    for tool in recorded.conversation.tools:
        yield _write({"name": tool.name, "description": tool.description, "parameters": tool.parameters})


def _write(tool: Mapping[str, Any]) -> str:
    return json.dumps({key: tool[key] for key in ("name", "description", "parameters")}, ensure_ascii=False)


def _pick(texts: Iterable[str]) -> list[str]:
    """So many of the texts, whatever their order."""
    return sorted(texts, key=_digest)[:MOST]


def _digest(text: str) -> bytes:
    return sha256(text.encode(errors="replace")).digest()
