"""The random generator: its sequence, its statistics, and independence of neighbouring keys.

The keys are fixed, so each figure here is too; the limits are those of a one-in-a-million accident.
"""

from __future__ import annotations

import itertools
import pickle
from collections import Counter
from collections.abc import Sequence

import pytest

from crosswind.injectors.seeded_random import SeededRandom, draw_once

KEYS = 4_000
LIMIT = 4.9
"""Standard deviations that a right generator passes with a chance of one in a million."""


SEQUENCE = [
    0.43813706580454437,
    0.026532276225325946,
    0.4053316564595405,
    0.05778635987230463,
    0.723844533292092,
    0.3993361220388071,
    0.5182244276560571,
    0.16848811552011167,
    0.1152704007150469,
    0.07348452866173527,
]
WIDE = (245340303218, "b", [0, 2, 3, 4, 1])


def first_draws(count: int, key: str = "7|session|user.typos|user_message") -> list[list[float]]:
    """The first draws of neighbouring keys, which differ in a number at their end."""
    return [
        [rng.uniform() for _ in range(count)] for rng in (SeededRandom(f"{key}|{n}") for n in range(KEYS))
    ]


def excess(counts: Sequence[int], expected: float) -> float:
    """How many standard deviations chi-square lies above its mean."""
    freedom = len(counts) - 1
    found = sum((count - expected) ** 2 / expected for count in counts)
    return (found - freedom) / (2 * freedom) ** 0.5


def correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """The correlation of two samples of uniform draws, in standard deviations of independent ones."""
    products = [(a - 0.5) * (b - 0.5) for a, b in zip(one, other, strict=True)]
    return sum(products) * 12 / len(products) ** 0.5


def test_the_sequence_of_a_key_is_the_same_everywhere() -> None:
    rng = SeededRandom("the same everywhere")
    assert [rng.uniform() for _ in range(10)] == SEQUENCE
    wide = SeededRandom("schlüssel \ud800 鍵")
    assert (wide.integer(0, 10**12), wide.choice("abc"), wide.shuffled(range(5))) == WIDE


def test_floats_are_in_the_unit_interval_and_use_all_their_bits() -> None:
    drawn = list(itertools.chain.from_iterable(first_draws(20)))
    assert all(0 <= one < 1 for one in drawn)
    assert len(set(drawn)) == len(drawn)
    whole = [int(one * 2**53) for one in drawn]
    for bit in range(53):
        ones = sum(one >> bit & 1 for one in whole)
        assert abs(ones - len(whole) / 2) < LIMIT * len(whole) ** 0.5 / 2, f"bit {bit}"


@pytest.mark.parametrize("draw", [0, 1, 7, 8, 15, 16])
def test_each_draw_is_uniform_over_neighbouring_keys(draw: int) -> None:
    counts = Counter(int(one[draw] * 64) for one in first_draws(draw + 1))
    assert excess([counts[bin] for bin in range(64)], KEYS / 64) < LIMIT


def test_one_key_s_draws_are_uniform() -> None:
    rng = SeededRandom("long")
    counts = Counter(rng.integer(0, 255) for _ in range(100_000))
    assert excess([counts[value] for value in range(256)], 100_000 / 256) < LIMIT


@pytest.mark.parametrize("lag", [1, 2, 7, 8, 9, 64])
def test_the_draws_of_a_key_do_not_depend_on_each_other(lag: int) -> None:
    rng = SeededRandom("long")
    drawn = [rng.uniform() for _ in range(50_000)]
    assert abs(correlation(drawn[:-lag], drawn[lag:])) < LIMIT
    pairs = Counter((int(a * 16), int(b * 16)) for a, b in zip(drawn, drawn[lag:], strict=False))
    cells = [pairs[a, b] for a in range(16) for b in range(16)]
    assert excess(cells, (len(drawn) - lag) / 256) < LIMIT


@pytest.mark.parametrize(
    "keys",
    [
        (lambda n: f"1|s|op|{n}", lambda n: f"1|s|op|{n + 1}"),
        (lambda n: f"1|s|op|{n}", lambda n: f"2|s|op|{n}"),
        (lambda n: f"1|s|op|{n}", lambda n: f"1|s|op|{n}|when"),
        (lambda n: f"parameter {n}", lambda n: f"parameter {n} "),
    ],
)
def test_neighbouring_keys_do_not_depend_on_each_other(keys) -> None:  # type: ignore[no-untyped-def]
    one, other = ([draw_once(key(number)) for number in range(KEYS)] for key in keys)
    assert abs(correlation(one, other)) < LIMIT
    pairs = Counter((int(a * 8), int(b * 8)) for a, b in zip(one, other, strict=True))
    assert excess([pairs[a, b] for a in range(8) for b in range(8)], KEYS / 64) < LIMIT
    whole = [(int(a * 2**53), int(b * 2**53)) for a, b in zip(one, other, strict=True)]
    differing = sum((a ^ b).bit_count() for a, b in whole)
    assert abs(differing - KEYS * 53 / 2) < LIMIT * (KEYS * 53) ** 0.5 / 2, "half of the bits differ"


def test_what_is_built_on_the_floats_has_the_right_shares() -> None:
    rng = SeededRandom("shares")
    orders = Counter(tuple(rng.shuffled("abc")) for _ in range(12_000))
    assert excess(list(orders.values()), 2_000) < LIMIT and len(orders) == 6
    hits = sum(rng.chance(0.3) for _ in range(10_000))
    assert abs(hits - 3_000) < LIMIT * (10_000 * 0.21) ** 0.5
    hits = sum(rng.successes(10, 0.3) for _ in range(1_000))
    assert abs(hits - 3_000) < LIMIT * (10_000 * 0.21) ** 0.5
    heavy = sum(rng.weighted("ab", [3, 1]) == "a" for _ in range(10_000))
    assert abs(heavy - 7_500) < LIMIT * (10_000 * 0.1875) ** 0.5
    mean = sum(rng.exponential(2.0) for _ in range(10_000)) / 10_000
    assert abs(mean - 2.0) < LIMIT * 2.0 / 100


def test_a_single_draw_is_the_generator_s_first() -> None:
    for number in range(100):
        assert draw_once(f"key {number}") == SeededRandom(f"key {number}").uniform()


def test_many_draws_at_once_are_those_one_by_one() -> None:
    together, alone = SeededRandom("many"), SeededRandom("many")
    assert together.choices("abc", 20) == [alone.choice("abc") for _ in range(20)]
    together.skip(4)
    alone.shuffled("abcde")
    assert together.uniform() == alone.uniform()


def test_another_process_gets_a_generator_that_begins_at_the_beginning() -> None:
    fresh = pickle.loads(pickle.dumps(SeededRandom("sent")))
    used = SeededRandom("sent")
    assert [fresh.uniform() for _ in range(20)] == [used.uniform() for _ in range(20)]
    with pytest.raises(TypeError, match="'sent' was drawn from"):
        pickle.dumps(used)
