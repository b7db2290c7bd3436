"""The measures of one operator at one dose."""

from __future__ import annotations

import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from benchmarks.noise_quality.application import Offer, Outcome, perturb
from benchmarks.noise_quality.doses import plan_of
from benchmarks.noise_quality.eligibility import is_eligible, occurs
from crosswind.figures.intervals import wilson
from crosswind.injectors.conversation import Site
from crosswind.studies.detectors import (
    Detection,
    Labelled,
    detect_by_phrases,
    detect_by_regression,
)

MOST = 500
"""Texts of a label and half that a detector gets."""
SEGMENT = re.compile(r"[.!?。！？؟]+\s*|[\n\"{}\[\]]+")
NON_LATIN = re.compile(r"[\u0600-\u06ff\u3040-\u30ff\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class Share:
    count: int
    of: int
    low: float
    high: float

    @property
    def rate(self) -> float | None:
        return self.count / self.of if self.of else None


@dataclass(frozen=True, slots=True)
class Measured:
    """One operator at one dose."""

    operator: str
    site: str
    dose: str
    applied: Share
    """Of all places."""
    applied_eligible: Share
    phrases: Share
    """Recall of the decision list."""
    regression: Share
    learned: list[str]
    """The decision list's phrases."""
    distinct: list[int]
    """Distinct texts over the seeds, of each of a few places."""
    broken: Share | None
    """Of the gold values that stood in the messages."""
    growth: float | None
    """The median of noisy to clean length, of results."""
    repeated: Share
    """Of the events after a session's first: those that say again what the session has seen."""
    by_corpus: Mapping[str, Share] = field(default_factory=dict)
    """Of the eligible places."""


def share(count: int, of: int) -> Share:
    low, high = wilson(count / of, of) if of else (0.0, 1.0)
    return Share(count, of, round(low, 4), round(high, 4))


def measure_application(operator: str, outcomes: Sequence[Outcome]) -> tuple[Share, Share, dict[str, Share]]:
    """Of all places, of the eligible ones, and of these by corpus."""
    eligible = [one for one in outcomes if is_eligible(operator, one.offer.place)]
    corpora: dict[str, list[Outcome]] = defaultdict(list)
    for one in eligible:
        corpora[one.offer.sample.corpus].append(one)
    by_corpus = {name: _share_shown(found) for name, found in sorted(corpora.items())}
    return _share_shown(outcomes), _share_shown(eligible), by_corpus


def _share_shown(outcomes: Sequence[Outcome]) -> Share:
    return share(sum(one.shown is not None for one in outcomes), len(outcomes))


def measure_detection(
    outcomes: Sequence[Outcome], others: Sequence[str] | None = None
) -> tuple[Detection, Detection]:
    """By phrases and by regression. `others` are the clean texts, where those of the places aren't: they are
    divided in halves by what they say."""
    halves = []
    for held_out in (False, True):
        here = [one for one in outcomes if one.offer.sample.held_out == held_out]
        here.sort(key=lambda one: _digest(f"{one.offer.sample.name} {one.offer.at}"))
        noisy = [text for one in here if one.shown is not None for text in _list_texts(one)]
        clean = [one.offer.place.text for one in here]
        if others is not None:
            clean = [text for text in others if (_digest(text)[0] % 2 == 0) == held_out]
        halves.append(Labelled(noisy[:MOST], clean[:MOST]))
    train, test = halves
    return detect_by_phrases(train, test), detect_by_regression(train, test)


def _list_texts(outcome: Outcome) -> list[str]:
    """What was shown as a detector sees it: each tool by itself."""
    shown = outcome.shown or ""
    return shown.split("\n") if outcome.offer.place.schema else [shown]


def _digest(text: str) -> bytes:
    return sha256(text.encode(errors="replace")).digest()


def recall(found: Detection) -> Share:
    return share(found.caught, found.noisy)


def count_distinct(
    operator: str, dose: str, site: Site, outcomes: Sequence[Outcome], *, places: int, seeds: int
) -> list[int]:
    """On so many eligible places on which the operator acted, how many texts the seeds give."""
    acted = [one.offer for one in outcomes if one.shown is not None]
    wanted = [one for one in acted if is_eligible(operator, one.place)] or acted
    wanted = sorted(wanted, key=lambda one: _digest(f"{one.sample.name} {one.at}"))[:places]
    return [len(_texts_over_seeds(operator, dose, site, one, seeds)) for one in wanted] or [0]


def _texts_over_seeds(operator: str, dose: str, site: Site, offer: Offer, seeds: int) -> set[str]:
    found = set()
    for seed in range(seeds):
        plan = plan_of(operator, dose, seed, offer.sample.name)
        shown = perturb(plan, site, offer.sample, offer.at if site != Site.TOOL_SCHEMA else None)
        if (text := shown.get(offer.at)) is not None:
            found.add(text)
    return found


def count_broken(outcomes: Iterable[Outcome]) -> Share:
    """Of the gold values that stood in the messages that were changed, those that stand there no more in any
    accepted spelling."""
    broken = stood = 0
    for one in outcomes:
        if one.shown is None:
            continue
        for value in one.offer.place.gold:
            spelt = [text for text in value if occurs(text, one.offer.place.text)]
            if spelt:
                stood += 1
                broken += not any(occurs(text, one.shown) for text in spelt)
    return share(broken, stood)


def measure_growth(outcomes: Iterable[Outcome]) -> float | None:
    grown = [
        len(one.shown) / len(one.offer.place.text)
        for one in outcomes
        if one.shown is not None and one.offer.place.text
    ]
    return round(statistics.median(grown), 2) if grown else None


def count_repeated(outcomes: Iterable[Outcome]) -> Share:
    """Of the events after the first of a sample: those with a passage that noise has added before there.
    A passage has at least three words, or six characters of a script without spaces."""
    seen: dict[str, set[str]] = defaultdict(set)
    repeated = later = 0
    for one in outcomes:
        if one.shown is None:
            continue
        before = seen[one.offer.sample.name]
        added = _find_added(one.offer.place.text, one.shown)
        if before:
            later += 1
            repeated += bool(before & added)
        before |= added | {""}
    return share(repeated, later)


def _find_added(clean: str, shown: str) -> set[str]:
    passages = (passage.strip() for passage in SEGMENT.split(shown))
    return {
        one
        for one in passages
        if one not in clean and (one.count(" ") >= 2 or (NON_LATIN.search(one) and len(one) >= 6))
    }
