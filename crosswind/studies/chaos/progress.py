"""What a person is told while a run goes on: counts, time left, cost, and what is wrong, at once."""

from __future__ import annotations

import sys
import time
from collections import Counter

from crosswind.figures.attempts import Arm, Void
from crosswind.gateway.counts import count
from crosswind.studies.chaos.player import Played, RunStopped
from crosswind.studies.chaos.prices import Price

_EVERY_S = 10.0
_EVERY_ON_TERMINAL_S = 0.2
_FIRST = 3
"""After so many attempts without any request the run ends."""


class Progress:
    """Counts the attempts of a run, and prints to standard error."""

    def __init__(self, total: int, done: int, concurrency: int, price: Price | None) -> None:
        self._total = total
        self._left = total - done
        self._finished = 0
        self._voids = 0
        self._in_a_row = 0
        self._most_in_a_row = max(6, 2 * concurrency)
        self._arms: dict[Arm, list[float]] = {Arm.CLEAN: [], Arm.NOISY: []}
        self._price = price
        self._cost = 0.0
        self._requests = 0
        self._attempts = 0
        self._said: Counter[str] = Counter()
        self._began = self._shown = time.monotonic()
        self._terminal = sys.stderr.isatty()

    def add(self, played: Played) -> None:
        """Take in an attempt. Raises RunStopped where it makes no sense to go on."""
        self._attempts += 1
        self._requests += played.examined.requests
        if self._price is not None:
            self._cost += self._price.of(played.examined.tokens_in, played.examined.tokens_out)
        self._say_oddities(played)
        if played.verdict.void is None:
            assert played.verdict.success is not None
            self._finished += 1
            self._in_a_row = 0
            self._arms[played.episode.arm].append(played.verdict.success)
        else:
            self._voids += 1
            self._in_a_row += 1
            if played.verdict.void is not Void.NO_REQUEST:  # That is said of each such attempt.
                self._say(f"void, {played.verdict.void}: {played.verdict.note}", played)
        self._stop_if_hopeless(played)
        every = _EVERY_ON_TERMINAL_S if self._terminal else _EVERY_S
        if time.monotonic() - self._shown >= every:
            self._show()

    def _say_oddities(self, played: Played) -> None:
        if played.examined.requests == 0:
            self._say(
                "no request of this task came through the gateway: the agent ignores OPENAI_BASE_URL and "
                "ANTHROPIC_BASE_URL, or asks no model",
                played,
            )
        if len(played.examined.models) > 1:
            self._say(
                f"talks to {len(played.examined.models)} models: {', '.join(played.examined.models)}", played
            )
        if played.ended.left_behind:
            self._say(
                f"left {count(played.ended.left_behind, 'process', 'processes')} behind, killed since", played
            )
        if wrong := played.ended.describe():
            self._say(wrong, played)

    def _say(self, text: str, played: Played) -> None:
        """Say something the first time, with the task and the session where it can be seen."""
        kind = text.partition(":")[0]
        self._said[kind] += 1
        if self._said[kind] == 1:
            self._print(f"task {played.episode.task.id}: {text} (session {played.session})")

    def _stop_if_hopeless(self, played: Played) -> None:
        unheard = played.verdict.void in (None, Void.NO_REQUEST)
        if self._requests == 0 and self._attempts >= _FIRST and unheard:
            wrong = played.ended.describe()
            first = f" (the last: {wrong}). See first that the agent runs" if wrong else ""
            raise RunStopped(
                f"no request of the first {self._attempts} attempts came through the gateway, so there is "
                f"nothing to measure{first}. Give the agent the gateway's address: OPENAI_BASE_URL, "
                "ANTHROPIC_BASE_URL, or {base_url} in its command"
            )
        if self._in_a_row >= self._most_in_a_row:
            raise RunStopped(
                f"{self._in_a_row} attempts in a row were void, the last by {played.verdict.void}: "
                f"{played.verdict.note}; fix that, and run again with --resume"
            )

    def _show(self) -> None:
        self._shown = now = time.monotonic()
        taken = now - self._began
        parts = [f"{self._total - self._left + self._finished}/{self._total}"]
        for arm, values in self._arms.items():
            if values:
                parts.append(f"{arm.value} {sum(values) / len(values):.0%} of {len(values)}")
        if self._voids:
            parts.append(f"{self._voids} void")
        if self._price is not None:
            parts.append(f"${self._cost:.2f}")
        if self._finished:
            left = taken / self._finished * (self._left - self._finished)
            parts.append(f"{_clock(left)} left")
        line = "  ".join(parts)
        sys.stderr.write(f"\r\x1b[K{line}" if self._terminal else f"{line}\n")
        sys.stderr.flush()

    def _print(self, text: str) -> None:
        sys.stderr.write(("\r\x1b[K" if self._terminal else "") + f"crosswind: {text}\n")
        sys.stderr.flush()

    def close(self) -> None:
        """The last line: how often each thing was said, and the time taken."""
        if self._terminal:
            sys.stderr.write("\r\x1b[K")
        for kind, times in self._said.items():
            if times > 1:
                self._print(f"{times} attempts: {kind}")
        cost = f", ${self._cost:.2f}" if self._price is not None else ""
        self._print(f"{count(self._attempts, 'attempt')} in {_clock(time.monotonic() - self._began)}{cost}")


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
