"""Two detectors of noise, trained on one half of the samples and tested on the other.

A decision list says "noisy" where a text holds one of at most five phrases of up to three words. A logistic
regression sees every word and pair of words. Both are judged by their recall at no more than 1 % of false
positives: a policy that could do as well would learn to strip our phrases, not to be robust.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

FALSE_POSITIVES = 0.01
PHRASES = 5
FEATURES = 2000
STEPS = 120
WORD = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]|[^\W_\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]+")
"""A word; a character, in scripts without spaces."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """Texts of one half."""

    noisy: Sequence[str]
    clean: Sequence[str]


@dataclass(frozen=True, slots=True)
class Detection:
    """What a detector found in the held-out half."""

    caught: int
    noisy: int
    false: int
    clean: int
    phrases: list[str] = field(default_factory=list)


def list_phrases(text: str, longest: int = 3) -> set[str]:
    """The runs of up to `longest` words in a text, in lower case."""
    words = WORD.findall(text.lower())
    return {
        " ".join(words[at : at + length])
        for length in range(1, longest + 1)
        for at in range(len(words) - length + 1)
    }


def detect_by_phrases(train: Labelled, test: Labelled) -> Detection:
    """The decision list. It is cut where it would exceed the false positives on the held-out half."""
    learned = _learn_phrases(train)
    noisy, clean = ([list_phrases(text) for text in half] for half in (test.noisy, test.clean))
    while learned and _count(clean, learned) > FALSE_POSITIVES * len(clean):
        learned.pop()
    return Detection(_count(noisy, learned), len(noisy), _count(clean, learned), len(clean), learned)


def _learn_phrases(train: Labelled) -> list[str]:
    noisy = [list_phrases(text) for text in train.noisy]
    clean = [list_phrases(text) for text in train.clean]
    allowed = FALSE_POSITIVES * len(clean)
    learned: list[str] = []
    while len(learned) < PHRASES and noisy:
        hits = Counter(phrase for text in noisy for phrase in text)
        misses = Counter(phrase for text in clean for phrase in text if hits[phrase])
        found = [one for one in hits if hits[one] > 1 and misses[one] <= allowed]
        if not found:
            break
        # A miss weighs more than a hit, so that the list holds on other texts, too; of equals the longest.
        best = max(found, key=lambda one: (hits[one] - 10 * misses[one], one.count(" "), one))
        learned.append(best)
        allowed -= misses[best]
        noisy = [text for text in noisy if best not in text]
        clean = [text for text in clean if best not in text]
    return learned


def _count(texts: Sequence[set[str]], phrases: Sequence[str]) -> int:
    return sum(any(phrase in text for phrase in phrases) for text in texts)


def detect_by_regression(train: Labelled, test: Labelled) -> Detection:
    """The logistic regression, on the words and pairs that differ most between the halves' labels."""
    features = _choose_features(train)
    if not features or not test.noisy or not test.clean:
        return Detection(0, len(test.noisy), 0, len(test.clean))
    rows = _matrix([*train.noisy, *train.clean], features)
    weights = _fit(rows, np.array([1.0] * len(train.noisy) + [0.0] * len(train.clean)))
    clean = np.sort(_matrix(test.clean, features) @ weights)
    threshold = clean[-1 - int(FALSE_POSITIVES * len(clean))]
    noisy = _matrix(test.noisy, features) @ weights
    caught, false = int((noisy > threshold).sum()), int((clean > threshold).sum())
    return Detection(caught, len(noisy), false, len(clean))


def _choose_features(train: Labelled) -> dict[str, int]:
    noisy, clean = (Counter(_list_pairs(half)) for half in (train.noisy, train.clean))
    sizes = max(len(train.noisy), 1), max(len(train.clean), 1)
    often = [one for one in noisy.keys() | clean.keys() if noisy[one] + clean[one] > 1]
    often.sort(key=lambda one: (-abs(noisy[one] / sizes[0] - clean[one] / sizes[1]), one))
    return {one: at for at, one in enumerate(often[:FEATURES])}


def _list_pairs(texts: Sequence[str]) -> Iterator[str]:
    for text in texts:
        yield from list_phrases(text, 2)


def _matrix(texts: Sequence[str], features: dict[str, int]) -> NDArray[np.float32]:
    """Which features a text holds, each row of length one; the last column is the constant."""
    rows = np.zeros((len(texts), len(features) + 1), np.float32)
    for at, text in enumerate(texts):
        held = [features[one] for one in list_phrases(text, 2) if one in features]
        rows[at, held] = 1 / max(len(held), 1) ** 0.5
    rows[:, -1] = 1
    return rows


def _fit(rows: NDArray[np.float32], labels: NDArray[np.float64]) -> NDArray[np.float32]:
    """Gradient descent with momentum; both labels weigh the same."""
    noisy = max(labels.sum(), 1.0)
    clean = max(len(labels) - noisy, 1.0)
    shares = np.where(labels > 0, 0.5 / noisy, 0.5 / clean).astype(np.float32)
    weights = speed = np.zeros(rows.shape[1], np.float32)
    for _ in range(STEPS):
        guess = 1 / (1 + np.exp(-np.clip(rows @ weights, -30, 30)))
        speed = 0.9 * speed - 4.0 * (rows.T @ ((guess - labels) * shares) + 1e-5 * weights)
        weights = weights + speed
    return weights.astype(np.float32)
