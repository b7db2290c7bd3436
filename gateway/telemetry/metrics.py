"""The gateway's metrics. Labels are bounded: no session, key, model or text is a label.

With several workers each process keeps its metrics in files of a shared folder, and the control plane sums
them: `prometheus_client` does so if `PROMETHEUS_MULTIPROC_DIR` is set when it is imported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from crosswind.gateway.recorder.recorder import RecorderState
from crosswind.gateway.trajectory.record import Durable, Event, Turn
from crosswind.gateway.trajectory.trust import Trust
from crosswind.gateway.upstreams.replicas import ReplicaState

UpstreamStates = Mapping[str, Mapping[str, ReplicaState]]
"""The states of the replicas, by the upstream's name and the replica's address."""

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
        self._recorder = recorder
        self._live_sessions = live_sessions
        self._upstreams = upstreams
        self.registry = CollectorRegistry()
        self.requests = self._counter("crosswind_requests", "Requests on the data plane", "route", "status")
        # Cached: looking up a child by its labels takes longer than counting.
        self._answered: dict[tuple[str, str], Counter] = {}
        self._of_fitness: dict[str, Counter] = {}
        self.turns = self._counter("crosswind_turns", "Turns recorded", "fitness")
        self.events = self._counter("crosswind_events", "Noise that was injected", "operator")
        self.withdrawals = self._counter("crosswind_withdrawals", "Noise that the guard withdrew", "operator")
        self.operator_failures = self._counter(
            "crosswind_operator_failures",
            "What third parties' operators did wrong: raised, stalled, ended, contract",
            "operator",
            "kind",
        )
        self.operators_off = self._gauge(
            "crosswind_operators_off",
            "Processes in which a third party's operator is switched off",
            "operator",
        )
        self.not_durable = self._counter(
            "crosswind_turns_released_before_durable", "Turns released late or lost", "durable"
        )
        self.upstream_errors = self._counter("crosswind_upstream_errors", "Failures of the upstream", "code")
        self.sessions_pruned = self._counter("crosswind_sessions_pruned", "Sessions deleted by the retention")
        self.rewards_expired = self._counter("crosswind_rewards_expired", "Rewards that did not come")
        self.seconds = Histogram(
            "crosswind_turn_seconds",
            "Turns, from request to release",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.noise_stopped = self._counter(
            "crosswind_noise_stopped_by_itself", "Abort conditions that were met"
        )
        self.texts = self._counter(
            "crosswind_noise_texts", "Texts that the noise model was asked for", "outcome"
        )
        self.in_flight = self._gauge("crosswind_requests_in_flight", "Requests being served")
        self._sessions_live = self._gauge("crosswind_sessions_live", "Sessions in memory")
        self._of_trust = _TrustMetrics(self.registry, trust)
        self._of_upstreams = _UpstreamMetrics(self.registry)
        self._of_recorder = _RecorderMetrics(self._counter, self._gauge)

    def _counter(self, name: str, about: str, *labels: str) -> Counter:
        return Counter(name, about, labels, registry=self.registry)

    def _gauge(self, name: str, about: str, *labels: str) -> Gauge:
        """A gauge of this process; with several processes, the sum over the live ones."""
        return Gauge(name, about, labels, registry=self.registry, multiprocess_mode="livesum")

    def count_request(self, route: str, status: str) -> None:
        """Count a request."""
        counter = self._answered.get((route, status))
        if counter is None:
            counter = self._answered[route, status] = self.requests.labels(route, status)
        counter.inc()

    def count_turn(self, turn: Turn, events: list[Event]) -> None:
        """Count a turn and its events."""
        counter = self._of_fitness.get(turn.fitness)
        if counter is None:
            counter = self._of_fitness[turn.fitness] = self.turns.labels(turn.fitness)
        counter.inc()
        for event in events:
            (self.events if event.after is not None else self.withdrawals).labels(event.operator).inc()

    def count_release(self, durable: Durable, seconds: float) -> None:
        """Count a turn that was released to the client."""
        self.seconds.observe(seconds)
        if durable is not Durable.YES:
            self.not_durable.labels(durable.value).inc()

    def sample(self) -> None:
        """Update the gauges from the recorder, the sessions, the trust and the upstreams."""
        self._sessions_live.set(self._live_sessions())
        self._of_recorder.update(self._recorder())
        self._of_trust.update()
        self._of_upstreams.update(self._upstreams())

    def text(self) -> bytes:
        """The metrics of this process in Prometheus' text format."""
        self.sample()
        return generate_latest(self.registry)


class _TrustMetrics:
    """Doubted versions and servers. Every process is told of them, so the highest value is the latest."""

    def __init__(self, registry: CollectorRegistry, trust: Trust) -> None:
        def gauge(name: str, about: str) -> Gauge:
            return Gauge(name, about, registry=registry, multiprocess_mode="livemax")

        self._trust = trust
        self._capture_stopped = gauge(
            "crosswind_capture_stopped",
            "1 while the capture for training is stopped: a version was doubted, and none confirmed since",
        )
        self._versions = gauge(
            "crosswind_versions_doubted", "Policy versions whose turns may not be trained on"
        )
        self._servers = gauge(
            "crosswind_servers_doubted",
            "Servers, of several, whose turns may not be trained on until they are confirmed",
        )

    def update(self) -> None:
        self._capture_stopped.set(self._trust.stopped is not None)
        self._versions.set(len(self._trust.doubted))
        self._servers.set(len(self._trust.servers.doubted))


class _UpstreamMetrics:
    """Metrics of the upstreams' replicas."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._up = Gauge(
            "crosswind_upstream_up",
            "1 while a replica is held to be up, by every process that asks it",
            ["upstream", "replica"],
            registry=registry,
            multiprocess_mode="livemin",
        )
        self._replicas: set[tuple[str, str]] = set()

    def update(self, states: UpstreamStates) -> None:
        up = {(name, base): state.up for name, bases in states.items() for base, state in bases.items()}
        for labels in self._replicas | up.keys():
            # A replica that is no longer configured has no value.
            self._up.labels(*labels).set(up.get(labels, math.nan))
        self._replicas |= up.keys()


class _RecorderMetrics:
    """The recorder's statistics as metrics."""

    def __init__(self, counter: Callable[[str, str], Counter], gauge: Callable[[str, str], Gauge]) -> None:
        self._queued = gauge("crosswind_recorder_queue_rows", "Rows waiting for the store")
        self._queued_bytes = gauge("crosswind_recorder_queue_bytes", "Bytes waiting for the store")
        self._down = gauge("crosswind_recorder_down", "Processes whose store can't be written")
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

    def update(self, state: RecorderState) -> None:
        self._queued.set(state.queued)
        self._queued_bytes.set(state.queued_bytes)
        self._down.set(int(state.down))
        for at, (counter, count) in enumerate(self._counted):
            total = count(state)
            counter.inc(total - self._seen[at])
            self._seen[at] = total


def render_all_processes(folder: Path, *, workers_ready: int, worker_restarts: int) -> bytes:
    """The metrics of all processes that share the folder, in Prometheus' text format. Reads files."""
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
