"""Limits on noise at run time: faults in flight, and thresholds that switch noise off."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from crosswind.gateway.config.sections import Abort

_log = structlog.get_logger("crosswind.dose")
CAPPED = "Withheld: as many faults are in flight as `dose.faults_in_flight` allows."


class FaultsInFlight:
    """Counts the injected faults in flight. A cap over all workers is split among them."""

    def __init__(self, most: int | None, workers: int) -> None:
        self._most = None if most is None else max(1, most // workers)
        self.count = 0

    def admit(self) -> bool:
        """Begin a fault; False where the cap is reached."""
        if self._most is not None and self.count >= self._most:
            return False
        self.count += 1
        return True

    def end(self) -> None:
        self.count -= 1


@dataclass(frozen=True, slots=True)
class _Outcome:
    at: float
    failed: bool
    seconds: float | None


class AbortWatch:
    """Switches noise off when the traffic's own failures or latency pass a threshold. Injected failures don't
    count, and neither does the latency of exchanges with injected faults.
    """

    def __init__(self, abort: Abort, switch_off: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._abort = abort
        self._switch_off = switch_off
        self._clock = clock
        self._outcomes: deque[_Outcome] = deque()
        self._failures = self._timed = self._slow = 0
        self.active = abort.error_rate is not None or abort.latency is not None
        """Whether there is a threshold."""

    def note(self, *, failed: bool, seconds: float | None) -> None:
        """Count an exchange that noise didn't fail, and switch noise off if a threshold is passed. `seconds`
        is None where noise may have prolonged it.
        """
        if not self.active:
            return
        now = self._clock()
        self._add(_Outcome(now, failed, seconds), 1)
        while self._outcomes[0].at < now - self._abort.window:
            self._add(self._outcomes[0], -1)
        count, timed, least = len(self._outcomes), self._timed, self._abort.least
        rate, latency = self._abort.error_rate, self._abort.latency
        if rate is not None and count >= least and self._failures / count > rate:
            self._stop(f"{self._failures} of {count} requests failed, more than abort.error_rate {rate:g}")
        elif latency is not None and timed >= least and self._slow / timed > self._abort.slow_share:
            self._stop(f"{self._slow} of {timed} requests took longer than abort.latency {latency:g} s")

    def _add(self, outcome: _Outcome, sign: int) -> None:
        if sign > 0:
            self._outcomes.append(outcome)
        else:
            self._outcomes.popleft()
        self._failures += sign * outcome.failed
        if outcome.seconds is not None:
            self._timed += sign
            self._slow += sign * (self._abort.latency is not None and outcome.seconds > self._abort.latency)

    def _stop(self, reason: str) -> None:
        self._outcomes.clear()
        self._failures = self._timed = self._slow = 0
        _log.error("noise is switched off by itself", reason=reason)
        self._switch_off(reason)
