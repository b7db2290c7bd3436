"""What the gateway counts. Labels are bounded: no session, key, model or text is one."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from gateway.recorder import RecorderState
from gateway.trajectory.record import Durable, Event, Turn

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


class Metrics:
    """One registry per gateway, so that several can live in one process."""

    def __init__(self, recorder: Callable[[], RecorderState], live_sessions: Callable[[], int]) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "crosswind_requests", "Requests on the data plane", ["route", "status"], registry=self.registry
        )
        self.turns = Counter("crosswind_turns", "Turns recorded", ["fitness"], registry=self.registry)
        self.events = Counter(
            "crosswind_events", "Noise that was injected", ["operator"], registry=self.registry
        )
        self.withdrawals = Counter(
            "crosswind_withdrawals", "Noise that the guard withdrew", ["operator"], registry=self.registry
        )
        self.not_durable = Counter(
            "crosswind_turns_released_before_durable",
            "Turns released late or lost",
            ["durable"],
            registry=self.registry,
        )
        self.upstream_errors = Counter(
            "crosswind_upstream_errors", "Failures of the upstream", ["code"], registry=self.registry
        )
        self.seconds = Histogram(
            "crosswind_turn_seconds",
            "Turns, from request to release",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.in_flight = Gauge(
            "crosswind_requests_in_flight", "Requests being served", registry=self.registry
        )
        live = Gauge("crosswind_sessions_live", "Sessions in memory", registry=self.registry)
        live.set_function(live_sessions)
        self.registry.register(_RecorderCollector(recorder))

    def recorded(self, turn: Turn, events: list[Event]) -> None:
        """Count a turn and its events."""
        self.turns.labels(turn.fitness).inc()
        for event in events:
            (self.events if event.after is not None else self.withdrawals).labels(event.operator).inc()

    def released(self, durable: Durable, seconds: float) -> None:
        """Count a turn that was released to the client."""
        self.seconds.observe(seconds)
        if durable is not Durable.YES:
            self.not_durable.labels(durable.value).inc()

    def text(self) -> bytes:
        """Everything in Prometheus' text format."""
        return generate_latest(self.registry)


class _RecorderCollector(Collector):
    def __init__(self, state: Callable[[], RecorderState]) -> None:
        self._state = state

    def collect(self) -> list[GaugeMetricFamily | CounterMetricFamily]:
        state = self._state()
        return [
            GaugeMetricFamily("crosswind_recorder_queue_rows", "Rows waiting for the store", state.queued),
            GaugeMetricFamily(
                "crosswind_recorder_queue_bytes", "Bytes waiting for the store", state.queued_bytes
            ),
            GaugeMetricFamily(
                "crosswind_recorder_down", "1 while the store can't be written", int(state.down)
            ),
            CounterMetricFamily("crosswind_recorder_rows_written", "Rows on disk", state.written),
            CounterMetricFamily(
                "crosswind_recorder_rows_lost", "Rows refused or dropped", state.refused + state.dropped
            ),
            CounterMetricFamily("crosswind_recorder_commits", "Commits", state.commits),
            CounterMetricFamily("crosswind_recorder_commit_failures", "Commits that failed", state.failures),
        ]
