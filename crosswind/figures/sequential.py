"""A sequential test of a mean against a threshold, by betting (Waudby-Smith and Ramdas, 2024).

Two players start with 1. One bets, unit after unit, that the mean is above the threshold, the other that it
is below. Neither can expect to win where its bet is wrong, so the chance that its capital ever reaches 1/α
is at most α (Ville's inequality), however often one looks: the test may stop at any unit. Each player
spreads its capital over fixed stakes, so that none has to be tuned. The thresholds that neither has won
against are an interval for the mean, which holds at any unit, and for few of them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec
from msgspec import structs


class Verdict(StrEnum):
    """What a test has shown."""

    PASSED = "passed"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"


_STAKES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
"""Of the greatest stake that can't lose more than there is."""
_BOLD = 0.4
"""The share of the capital on the greatest stake, which wins most wherever few tasks settle a claim; the
others have the same share of the rest each."""
_SHARES = [math.log((1.0 - _BOLD) / (len(_STAKES) - 1))] * (len(_STAKES) - 1) + [math.log(_BOLD)]
"""The logarithm of what is on each stake at first."""


_HALVINGS = 20


class Claim(msgspec.Struct, frozen=True):
    """That the mean of a unit's value, which lies in [low, high], is `threshold` or more.

    Where it holds, the test fails with a chance of `error_rate` at most. Where it doesn't, the test passes
    with a chance of `error_rate` at most.
    """

    threshold: float
    low: float
    high: float
    error_rate: float

    def __post_init__(self) -> None:
        if not self.low < self.threshold < self.high:
            raise ValueError(f"the threshold {self.threshold:g} isn't between {self.low:g} and {self.high:g}")
        if not 0.0 < self.error_rate < 1.0:
            raise ValueError(f"the error rate {self.error_rate:g} isn't between 0 and 1")


class SequentialTest:
    """A test of one claim, fed unit by unit. It stops by itself: later units change nothing."""

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        self.units = 0
        """Units that were seen before it stopped."""
        self.verdict = Verdict.INCONCLUSIVE
        self._seen: Counter[float] = Counter()
        self._above = list(_SHARES)
        self._below = list(_SHARES)
        """The logarithm of the capital on each stake."""

    def add(self, value: float) -> Verdict:
        """Take in a unit. Returns the verdict so far."""
        claim = self.claim
        if not claim.low <= value <= claim.high:
            raise ValueError(f"the value {value:g} isn't between {claim.low:g} and {claim.high:g}")
        if self.verdict is not Verdict.INCONCLUSIVE:
            return self.verdict
        self.units += 1
        self._seen[value] += 1
        self._above = [
            had + won for had, won in zip(self._above, _wins(claim, value, above=True), strict=True)
        ]
        self._below = [
            had + won for had, won in zip(self._below, _wins(claim, value, above=False), strict=True)
        ]
        self.verdict = _decide(claim, self._above, self._below)
        return self.verdict

    def interval(self) -> tuple[float, float]:
        """The thresholds that the units so far decide neither way. Each end misses the mean with a chance of
        `error_rate` at most, however often one looks; the test stops when its threshold leaves the interval.
        """
        low, high = self.claim.low, self.claim.high
        return self._find_end(low, high, above=True), self._find_end(high, low, above=False)

    def _find_end(self, decided: float, undecided: float, *, above: bool) -> float:
        """Where the thresholds end that one of the players has won against, from one bound to the other."""
        goal = -math.log(self.claim.error_rate)
        for _ in range(_HALVINGS):
            middle = (decided + undecided) / 2
            claim = structs.replace(self.claim, threshold=middle)
            capital = list(_SHARES)
            for value, count in self._seen.items():
                wins = _wins(claim, value, above=above)
                capital = [had + count * win for had, win in zip(capital, wins, strict=True)]
            if _log_sum(capital) >= goal:
                decided = middle
            else:
                undecided = middle
        return decided

    def units_left(self) -> int | None:
        """About how many more units it takes if they are as those so far; None if they don't settle it."""
        if self.verdict is not Verdict.INCONCLUSIVE:
            return 0
        mean = sum(value * count for value, count in self._seen.items()) / max(1, self.units)
        above = mean > self.claim.threshold
        capital = self._above if above else self._below
        growth = [0.0] * len(_STAKES)
        for value, count in self._seen.items():
            wins = _wins(self.claim, value, above=above)
            growth = [sofar + count * win / self.units for sofar, win in zip(growth, wins, strict=True)]
        goal = -math.log(self.claim.error_rate)
        needed = [
            math.ceil((goal - had) / grows) for had, grows in zip(capital, growth, strict=True) if grows > 0
        ]
        return max(1, min(needed)) if needed else None


def run_test(claim: Claim, values: Iterable[float]) -> SequentialTest:
    """Test a claim on these units, in their order."""
    test = SequentialTest(claim)
    for value in values:
        if test.add(value) is not Verdict.INCONCLUSIVE:
            break
    return test


class Odds(msgspec.Struct, frozen=True):
    """How likely each verdict is, and how many units the test takes on average."""

    passed: float
    failed: float
    inconclusive: float
    units: float


def compute_odds(claim: Claim, chances: Mapping[float, float], units: int) -> Odds:
    """The odds of a test of at most so many units whose values are independent and have these chances.

    Exact: all ways through the counts of each value are followed.
    """
    values = sorted(chances)
    wins = [(_wins(claim, value, above=True), _wins(claim, value, above=False)) for value in values]
    now = {(0,) * len(values): 1.0}
    ended = dict.fromkeys(Verdict, 0.0)
    mean = 0.0
    for seen in range(1, units + 1):
        after: dict[tuple[int, ...], float] = {}
        for counts, chance in now.items():
            for place, value in enumerate(values):
                if chances[value]:
                    key = (*counts[:place], counts[place] + 1, *counts[place + 1 :])
                    after[key] = after.get(key, 0.0) + chance * chances[value]
        now = {}
        for counts, chance in after.items():
            above, below = (
                [
                    share
                    + sum(times * win[side][at] for times, win in zip(counts, wins, strict=True) if times)
                    for at, share in enumerate(_SHARES)
                ]
                for side in (0, 1)
            )
            verdict = _decide(claim, above, below)
            if verdict is Verdict.INCONCLUSIVE:
                now[counts] = chance
            else:
                ended[verdict] += chance
                mean += chance * seen
    left = sum(now.values())
    return Odds(ended[Verdict.PASSED], ended[Verdict.FAILED], left, mean + left * units)


def _wins(claim: Claim, value: float, *, above: bool) -> list[float]:
    """The logarithm of what each stake multiplies its capital by at this value."""
    if above:
        most, gain = 1.0 / (claim.threshold - claim.low), value - claim.threshold
    else:
        most, gain = 1.0 / (claim.high - claim.threshold), claim.threshold - value
    factors = [1.0 + stake * most * gain for stake in _STAKES]
    return [math.log(factor) if factor > 1e-12 else -math.inf for factor in factors]


def _decide(claim: Claim, above: list[float], below: list[float]) -> Verdict:
    goal = -math.log(claim.error_rate)
    if _log_sum(above) >= goal:
        return Verdict.PASSED
    if _log_sum(below) >= goal:
        return Verdict.FAILED
    return Verdict.INCONCLUSIVE


def _log_sum(logs: list[float]) -> float:
    most = max(logs)
    return most if most == -math.inf else most + math.log(sum([math.exp(one - most) for one in logs]))
