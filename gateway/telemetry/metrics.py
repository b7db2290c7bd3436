"""The gateway's metrics. Labels are bounded: no session, key, model or text is a label.

With several workers each process keeps its metrics in files of a shared folder, and the control plane sums
them: `prometheus_client` does so if `PROMETHEUS_MULTIPROC_DIR` is set when it is imported.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from crosswind.gateway.errors import ServiceError, UpstreamError
from crosswind.gateway.http.connection_table import ConnectionTable
from crosswind.gateway.recorder.queue import RecorderState
from crosswind.gateway.sessions.trainer_lag import TrainerLag
from crosswind.gateway.trajectory.record import Durable, Event, Turn
from crosswind.gateway.trajectory.trust import Trust
from crosswind.gateway.upstreams.replicas import ReplicaState
from crosswind.injectors.targets import Withheld

UpstreamStates = Mapping[str, Mapping[str, ReplicaState]]
"""The states of the replicas, by the upstream's name and the replica's address."""

OverProcesses = Literal["livesum", "livemax", "livemin"]
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


class _Seconds:
    """A histogram of durations. They are added when it is read: the library takes two locks for each, and has
    no call for many. A collector of our own would need none of its private attributes, but workers' metrics
    are summed from the files that only its own histograms write.
    """

    def __init__(self, histogram: Histogram) -> None:
        self._histogram = histogram
        self._counts = [0] * (len(_SECONDS) + 1)
        self._sum = 0.0

    def observe(self, seconds: float) -> None:
        self._counts[bisect_left(_SECONDS, seconds)] += 1
        self._sum += seconds

    def count(self) -> None:
        """Add what was observed since the last call."""
        for bucket, count in zip(self._histogram._buckets, self._counts, strict=True):
            if count:
                bucket.inc(count)
        self._histogram._sum.inc(self._sum)
        self._counts, self._sum = [0] * len(self._counts), 0.0


class _ClientMetrics:
    """Connections of clients, and what their requests take, sampled from the tables of both planes."""

    def __init__(self, metrics: Metrics, tables: Sequence[ConnectionTable]) -> None:
        self._tables = tables
        self._open = metrics.gauge("crosswind_clients", "Open connections of clients", "plane")
        self._half_open = metrics.gauge(
            "crosswind_clients_half_open",
            "Connections whose request isn't there to the end of its head",
            "plane",
        )
        self._refused = metrics.counter(
            "crosswind_clients_refused",
            "Connections and requests refused before they were served",
            "plane",
            "reason",
        )
        self._body_bytes = metrics.gauge(
            "crosswind_body_bytes", "Bytes that the bodies of requests take in memory"
        )

    def sample(self) -> None:
        """Take over what the tables hold now."""
        for table in self._tables:
            self._open.labels(table.plane.value).set(len(table.open))
            self._half_open.labels(table.plane.value).set(table.half_open)
            self._body_bytes.set(table.budget.held)
            while table.refused:
                refusal, count = table.refused.popitem()
                self._refused.labels(table.plane.value, refusal.value).inc(count)


class _UpstreamMetrics:
    """Which replicas are up, sampled from the upstreams."""

    def __init__(self, metrics: Metrics, read_states: Callable[[], UpstreamStates]) -> None:
        self._read_states = read_states
        self._up = metrics.gauge(
            "crosswind_upstream_up",
            "1 while a replica is held to be up, by every process that asks it",
            "upstream",
            "replica",
            over_processes="livemin",
        )
        self._known: set[tuple[str, str]] = set()

    def sample(self) -> None:
        states = self._read_states()
        up = {(name, base): state.up for name, bases in states.items() for base, state in bases.items()}
        for replica in self._known | up.keys():
            # A replica that is no longer configured has no value.
            self._up.labels(*replica).set(up.get(replica, math.nan))
        self._known |= up.keys()


class Metrics:
    """One registry per gateway, so that several can live in one process."""

    def __init__(
        self,
        recorder: Callable[[], RecorderState],
        live_sessions: Callable[[], int],
        upstreams: Callable[[], UpstreamStates],
        trust: Trust,
        connections: Sequence[ConnectionTable],
        lag: TrainerLag,
    ) -> None:
        registry = self.registry = CollectorRegistry()
        requests = self.counter("crosswind_requests", "Requests on the data plane", "route", "status")
        # Cached: looking up a child by its labels takes longer than counting.
        self._requests_of = cache(requests.labels)
        self._turns_of = cache(self.counter("crosswind_turns", "Turns recorded", "fitness").labels)
        self._make_noise_counters()
        self.not_durable = self.counter(
            "crosswind_turns_released_before_durable", "Turns released late or lost", "durable"
        )
        self.upstream_errors = self.counter("crosswind_upstream_errors", "Failures of the upstream", "code")
        self.sessions_pruned = self.counter("crosswind_sessions_pruned", "Sessions deleted by the retention")
        self.rewards_expired = self.counter("crosswind_rewards_expired", "Rewards that did not come")
        self._seconds = _Seconds(
            Histogram(
                "crosswind_turn_seconds",
                "Turns, from request to release",
                buckets=_SECONDS,
                registry=registry,
            )
        )
        self.aborts = self.counter("crosswind_noise_stopped_by_itself", "Abort conditions that were met")
        self.texts = self.counter(
            "crosswind_noise_texts", "Texts that the noise model was asked for", "outcome"
        )
        self.in_flight = 0
        self._sampled_gauges = self._make_sampled_gauges(recorder, live_sessions, trust, lag)
        self._sampled_totals = self._make_sampled_totals(recorder, lag)
        self._totals: dict[Counter, int] = defaultdict(int)
        self._uncounted: dict[Counter, int] = defaultdict(int)
        """What is added to counters when they are read: each addition takes a lock."""
        self._clients = _ClientMetrics(self, connections)
        self._upstreams = _UpstreamMetrics(self, upstreams)

    def _make_noise_counters(self) -> None:
        events = self.counter("crosswind_events", "Noise that was injected", "operator")
        self._events_of = cache(events.labels)
        self.events_withheld = self.counter(
            "crosswind_events_withheld", "Noise that was withheld", "operator"
        )
        self._events_withheld_of = cache(self.events_withheld.labels)
        self.faults_withheld = self.counter(
            "crosswind_noise_withheld",
            "Noise on tools and texts that was withheld, by the reason and the tool's class",
            "reason",
            "tool_class",
        )
        self._withheld_of = cache(self.faults_withheld.labels)
        self.operator_failures = self.counter(
            "crosswind_operator_failures",
            "What third parties' operators did wrong: raised, stalled, ended, contract",
            "operator",
            "kind",
        )
        self.operators_off = self.gauge(
            "crosswind_operators_off",
            "Processes in which a third party's operator is switched off",
            "operator",
        )

    def counter(self, name: str, about: str, *labels: str) -> Counter:
        return Counter(name, about, labels, registry=self.registry)

    def gauge(self, name: str, about: str, *labels: str, over_processes: OverProcesses = "livesum") -> Gauge:
        """A gauge of this process. `over_processes`: which value counts if there are several."""
        return Gauge(name, about, labels, registry=self.registry, multiprocess_mode=over_processes)

    def _make_sampled_gauges(
        self,
        recorder: Callable[[], RecorderState],
        live_sessions: Callable[[], int],
        trust: Trust,
        lag: TrainerLag,
    ) -> Sequence[tuple[Gauge, Callable[[], float]]]:
        def doubt(name: str, about: str) -> Gauge:
            # Every process hears of every doubt, so the highest value is the latest.
            return self.gauge(name, about, over_processes="livemax")

        return (
            (
                self.gauge("crosswind_requests_in_flight", "Requests being served"),
                lambda: self.in_flight,
            ),
            (self.gauge("crosswind_sessions_live", "Sessions in memory"), live_sessions),
            (
                self.gauge(
                    "crosswind_train_lag_steps",
                    "Training steps that finished rollouts wait for, of the run that lags most; 0 without "
                    "train.lag_limit",
                    over_processes="livemax",
                ),
                lambda: lag.steps,
            ),
            (
                self.gauge("crosswind_recorder_queue_rows", "Rows waiting for the store"),
                lambda: recorder().queued,
            ),
            (
                self.gauge("crosswind_recorder_queue_bytes", "Bytes waiting for the store"),
                lambda: recorder().queued_bytes,
            ),
            (
                self.gauge("crosswind_recorder_down", "Processes whose store can't be written"),
                lambda: recorder().down,
            ),
            (
                doubt(
                    "crosswind_capture_stopped",
                    "1 while the capture for training is stopped: a version was doubted, and none confirmed "
                    "since",
                ),
                lambda: trust.stopped is not None,
            ),
            (
                doubt("crosswind_versions_doubted", "Policy versions whose turns may not be trained on"),
                lambda: len(trust.doubted),
            ),
            (
                doubt(
                    "crosswind_servers_doubted",
                    "Servers, of several, whose turns may not be trained on until they are confirmed",
                ),
                lambda: len(trust.servers.doubted),
            ),
        )

    def _make_sampled_totals(
        self, recorder: Callable[[], RecorderState], lag: TrainerLag
    ) -> Sequence[tuple[Counter, Callable[[], int]]]:
        return (
            (self.counter("crosswind_recorder_rows_written", "Rows on disk"), lambda: recorder().written),
            (
                self.counter("crosswind_recorder_rows_lost", "Rows refused or dropped"),
                lambda: recorder().refused + recorder().dropped,
            ),
            (
                self.counter(
                    "crosswind_sessions_refused_for_lag",
                    "Training sessions refused: the trainer lags",
                ),
                lambda: lag.refused,
            ),
            (self.counter("crosswind_recorder_commits", "Commits"), lambda: recorder().commits),
            (
                self.counter("crosswind_recorder_commit_failures", "Commits that failed"),
                lambda: recorder().failures,
            ),
        )

    def count_failure(self, error: ServiceError) -> None:
        """Count an error that the upstream caused."""
        if isinstance(error, UpstreamError):
            self.upstream_errors.labels(error.code).inc()

    def count_request(self, route: str, status: str) -> None:
        self._uncounted[self._requests_of(route, status)] += 1

    def count_turn(self, turn: Turn, events: list[Event]) -> None:
        self._uncounted[self._turns_of(turn.fitness)] += 1
        self.count_events(events)

    def count_events(self, events: list[Event]) -> None:
        for event in events:
            if event.after is not None:
                self._uncounted[self._events_of(event.operator)] += 1
            elif event.withheld:
                self._uncounted[self._events_withheld_of(event.operator)] += 1

    def count_withheld(self, reason: Withheld, tool_class: str | None) -> None:
        """Count noise that was withheld; `tool_class` None: it was not about a tool."""
        self._uncounted[self._withheld_of(reason.value, tool_class or "none")] += 1

    def count_release(self, durable: Durable, seconds: float) -> None:
        """Count a turn that was released to the client."""
        self._seconds.observe(seconds)
        if durable is not Durable.YES:
            self.not_durable.labels(durable.value).inc()

    def sample(self) -> None:
        """Update what is read from the recorder, the sessions, the trust and the upstreams."""
        for child, count in self._uncounted.items():
            child.inc(count)
        self._uncounted.clear()
        self._seconds.count()
        for gauge, value in self._sampled_gauges:
            gauge.set(value())
        for counter, read_total in self._sampled_totals:
            total = read_total()
            counter.inc(total - self._totals[counter])
            self._totals[counter] = total
        self._clients.sample()
        self._upstreams.sample()

    def text(self) -> bytes:
        """The metrics of this process in Prometheus' text format."""
        self.sample()
        return generate_latest(self.registry)


def render_all_processes(folder: Path, *, workers_ready: int, worker_restarts: int) -> bytes:
    """The metrics of all processes that share the folder, in Prometheus' text format. Reads files."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry, str(folder))  # type: ignore[no-untyped-call]
    registry.register(_Workers(workers_ready, worker_restarts))
    return generate_latest(registry)


@dataclass(frozen=True)
class _Workers(Collector):
    ready: int
    restarts: int

    def collect(self) -> list[GaugeMetricFamily | CounterMetricFamily]:
        return [
            GaugeMetricFamily("crosswind_workers_ready", "Workers that are in order", self.ready),
            CounterMetricFamily(
                "crosswind_worker_restarts", "Processes that died and were started again", self.restarts
            ),
        ]
