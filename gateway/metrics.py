"""What the gateway counts. Labels are bounded: no session, key, model or text is one.

With several workers each process keeps its figures in files of a folder that they share, and the control
plane sums them up: `prometheus_client` does so where `PROMETHEUS_MULTIPROC_DIR` is set when it is imported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from gateway.recorder import RecorderState
from gateway.trajectory.record import Durable, Event, Turn
from gateway.trajectory.trust import Trust
from gateway.upstreams.replicas import ReplicaState

UpstreamStates = Mapping[str, Mapping[str, ReplicaState]]
"""How replicas fare, by the upstream's name and the replica's address."""

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


class Metrics:
    """One registry per gateway, so that several can live in one process."""

    def __init__(
        self,
        recorder: Callable[[], RecorderState],
        live_sessions: Callable[[], int],
        upstreams: Callable[[], UpstreamStates],
        trust: Trust,
    ) -> None:
        self._trust = trust
        self._recorder = recorder
        self._live_sessions = live_sessions
        self._upstreams = upstreams
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "crosswind_requests", "Requests on the data plane", ["route", "status"], registry=self.registry
        )
        # Looked up once each: to find a child by its labels takes longer than to count.
        self._answered: dict[tuple[str, str], Counter] = {}
        self._of_fitness: dict[str, Counter] = {}
        self.turns = Counter("crosswind_turns", "Turns recorded", ["fitness"], registry=self.registry)
        self.events = Counter(
            "crosswind_events", "Noise that was injected", ["operator"], registry=self.registry
        )
        self.withdrawals = Counter(
            "crosswind_withdrawals", "Noise that the guard withdrew", ["operator"], registry=self.registry
        )
        self.operator_failures = Counter(
            "crosswind_operator_failures",
            "What third parties' operators did wrong: raised, stalled, ended, contract",
            ["operator", "kind"],
            registry=self.registry,
        )
        self.operators_off = Gauge(
            "crosswind_operators_off",
            "Processes in which a third party's operator is switched off",
            ["operator"],
            registry=self.registry,
            multiprocess_mode="livesum",
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
        self.sessions_pruned = Counter(
            "crosswind_sessions_pruned", "Sessions deleted by the retention", registry=self.registry
        )
        self.rewards_expired = Counter(
            "crosswind_rewards_expired", "Rewards that did not come", registry=self.registry
        )
        self.seconds = Histogram(
            "crosswind_turn_seconds",
            "Turns, from request to release",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.noise_stopped = Counter(
            "crosswind_noise_stopped_by_itself", "Abort conditions that were met", registry=self.registry
        )
        self.texts = Counter(
            "crosswind_noise_texts",
            "Texts that the noise model was asked for",
            ["outcome"],
            registry=self.registry,
        )
        self.in_flight = self._gauge("crosswind_requests_in_flight", "Requests being served")
        self._sessions_live = self._gauge("crosswind_sessions_live", "Sessions in memory")
        # Every process hears of it: the one that has heard of more is right.
        self._capture_stopped = Gauge(
            "crosswind_capture_stopped",
            "1 while the capture for training is stopped: a version was doubted, and none confirmed since",
            registry=self.registry,
            multiprocess_mode="livemax",
        )
        self._doubted = Gauge(
            "crosswind_versions_doubted",
            "Policy versions whose turns may not be trained on",
            registry=self.registry,
            multiprocess_mode="livemax",
        )
        self._servers_doubted = Gauge(
            "crosswind_servers_doubted",
            "Servers, of several, whose turns may not be trained on until they are confirmed",
            registry=self.registry,
            multiprocess_mode="livemax",
        )
        self._upstream_up = Gauge(
            "crosswind_upstream_up",
            "1 while a replica is held to be up, by every process that asks it",
            ["upstream", "replica"],
            registry=self.registry,
            multiprocess_mode="livemin",
        )
        self._replicas: set[tuple[str, str]] = set()
        self._of_recorder = _RecorderFigures(self.registry, self._gauge)

    def _gauge(self, name: str, about: str) -> Gauge:
        """A figure of this process now; of several processes the sum over those that live."""
        return Gauge(name, about, registry=self.registry, multiprocess_mode="livesum")

    def answered(self, route: str, status: str) -> None:
        """Count a request."""
        counter = self._answered.get((route, status))
        if counter is None:
            counter = self._answered[route, status] = self.requests.labels(route, status)
        counter.inc()

    def recorded(self, turn: Turn, events: list[Event]) -> None:
        """Count a turn and its events."""
        counter = self._of_fitness.get(turn.fitness)
        if counter is None:
            counter = self._of_fitness[turn.fitness] = self.turns.labels(turn.fitness)
        counter.inc()
        for event in events:
            (self.events if event.after is not None else self.withdrawals).labels(event.operator).inc()

    def released(self, durable: Durable, seconds: float) -> None:
        """Count a turn that was released to the client."""
        self.seconds.observe(seconds)
        if durable is not Durable.YES:
            self.not_durable.labels(durable.value).inc()

    def sample(self) -> None:
        """Take the figures that others keep."""
        self._sessions_live.set(self._live_sessions())
        self._of_recorder.take(self._recorder())
        self._capture_stopped.set(self._trust.stopped is not None)
        self._doubted.set(len(self._trust.doubted))
        self._servers_doubted.set(len(self._trust.servers.doubted))
        self._take_upstreams(self._upstreams())

    def _take_upstreams(self, states: UpstreamStates) -> None:
        up = {(name, base): state.up for name, bases in states.items() for base, state in bases.items()}
        for labels in self._replicas | up.keys():
            # One that the configuration doesn't name any more has no figure.
            self._upstream_up.labels(*labels).set(up.get(labels, math.nan))
        self._replicas |= up.keys()

    def text(self) -> bytes:
        """Everything of this process in Prometheus' text format."""
        self.sample()
        return generate_latest(self.registry)


class _RecorderFigures:
    """The recorder's own counts, as metrics."""

    def __init__(self, registry: CollectorRegistry, gauge: Callable[[str, str], Gauge]) -> None:
        self._queued = gauge("crosswind_recorder_queue_rows", "Rows waiting for the store")
        self._queued_bytes = gauge("crosswind_recorder_queue_bytes", "Bytes waiting for the store")
        self._down = gauge("crosswind_recorder_down", "Processes whose store can't be written")

        def counter(name: str, about: str) -> Counter:
            return Counter(name, about, registry=registry)

        self._counted: list[tuple[Counter, Callable[[RecorderState], int]]] = [
            (counter("crosswind_recorder_rows_written", "Rows on disk"), lambda state: state.written),
            (
                counter("crosswind_recorder_rows_lost", "Rows refused or dropped"),
                lambda state: state.refused + state.dropped,
            ),
            (counter("crosswind_recorder_commits", "Commits"), lambda state: state.commits),
            (
                counter("crosswind_recorder_commit_failures", "Commits that failed"),
                lambda state: state.failures,
            ),
        ]
        self._seen = [0] * len(self._counted)

    def take(self, state: RecorderState) -> None:
        self._queued.set(state.queued)
        self._queued_bytes.set(state.queued_bytes)
        self._down.set(int(state.down))
        for at, (counter, count) in enumerate(self._counted):
            total = count(state)
            counter.inc(total - self._seen[at])
            self._seen[at] = total


def text_of_all(folder: Path, *, workers_ready: int, worker_restarts: int) -> bytes:
    """The figures of all processes that share the folder, in Prometheus' text format; it reads files."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry, str(folder))  # type: ignore[no-untyped-call]
    registry.register(_Workers(workers_ready, worker_restarts))
    return generate_latest(registry)


class _Workers(Collector):
    def __init__(self, ready: int, restarts: int) -> None:
        self._ready = ready
        self._restarts = restarts

    def collect(self) -> list[GaugeMetricFamily | CounterMetricFamily]:
        return [
            GaugeMetricFamily("crosswind_workers_ready", "Workers that are in order", self._ready),
            CounterMetricFamily(
                "crosswind_worker_restarts", "Processes that died and were started again", self._restarts
            ),
        ]
