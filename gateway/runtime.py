"""A running gateway: its parts, reloads, readiness over all processes, and shutdown."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from itertools import count
from secrets import token_hex
from typing import Any

import structlog

from crosswind.gateway.config.reload import find_changes
from crosswind.gateway.config.secrets import collect_secrets
from crosswind.gateway.config.sections import Detail
from crosswind.gateway.config.settings import Settings
from crosswind.gateway.errors import ConfigurationError, ServiceError
from crosswind.gateway.file_watch import FileWatch
from crosswind.gateway.housekeeping import Housekeeping
from crosswind.gateway.http.auth import Authenticator
from crosswind.gateway.noise.drill_control import DrillControl
from crosswind.gateway.noise.kill_switch import KillSwitch
from crosswind.gateway.noise.limits import AbortWatch, FaultsInFlight
from crosswind.gateway.parts import (
    build_confinement,
    build_ownership,
    build_preparation,
    make_connection_tables,
    tell_late_search,
    trying_packs,
)
from crosswind.gateway.peers.peers import Peers
from crosswind.gateway.proxy.models import ModelList
from crosswind.gateway.proxy.passthrough import PassThrough
from crosswind.gateway.proxy.proxy import DataPlane, Proxy
from crosswind.gateway.proxy.relay import ResponseRelay
from crosswind.gateway.proxy.request_builder import RequestBuilder
from crosswind.gateway.proxy.shared_calls import SharedCalls
from crosswind.gateway.proxy.short_circuit import ShortCircuit
from crosswind.gateway.proxy.stored_responses import StoredResponses
from crosswind.gateway.proxy.tool_http import ToolsOverHttp
from crosswind.gateway.proxy.tool_legs import ToolLegs
from crosswind.gateway.proxy.tool_mcp import McpOverHttp
from crosswind.gateway.proxy.tool_route import ToolRoutes
from crosswind.gateway.proxy.transparent import TransparentTurns
from crosswind.gateway.proxy.websockets import WebSockets
from crosswind.gateway.proxy.withheld_noise import WithheldNoise
from crosswind.gateway.recorder.queue import NotDurable
from crosswind.gateway.recorder.recorder import Recorder
from crosswind.gateway.recorder.redaction import Redactor
from crosswind.gateway.sessions.curricula import Curricula
from crosswind.gateway.sessions.destroyed import DestroyedAnswers
from crosswind.gateway.sessions.drills import Drills
from crosswind.gateway.sessions.inference import Inference
from crosswind.gateway.sessions.leases import TurnLeases
from crosswind.gateway.sessions.profiles import Profiles, read_profile_files
from crosswind.gateway.sessions.restore import ResponseLookup
from crosswind.gateway.sessions.sessions import Sessions
from crosswind.gateway.sessions.sync import WorkerSync
from crosswind.gateway.sessions.trainer_lag import TrainerLag
from crosswind.gateway.shared_state import SharedState
from crosswind.gateway.telemetry.logs import mask_log_lines, set_level
from crosswind.gateway.telemetry.metrics import Metrics, render_all_processes
from crosswind.gateway.trajectory.record import Row
from crosswind.gateway.trajectory.store import Store
from crosswind.gateway.trajectory.trust import Trust
from crosswind.gateway.turn.recording import Recording
from crosswind.gateway.turn.tracing import open_tracing
from crosswind.gateway.upstreams.probing import probe_regularly
from crosswind.gateway.upstreams.replicas import ReplicaState
from crosswind.gateway.upstreams.tool_servers import ServerKind, ToolServers
from crosswind.gateway.upstreams.upstreams import Upstreams, build_upstreams
from crosswind.injectors.profiles.expressions import LIMIT

_log = structlog.get_logger("crosswind.gateway")


class Gateway:
    """The parts of a gateway. `data` is the data plane; the control plane uses all parts."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        profiles: Profiles,
        curricula: Curricula,
        drills: Drills,
        trust: Trust,
        switch: KillSwitch,
        peers: Peers | None,
        source: Callable[[], Settings],
    ) -> None:
        """`peers` are the other processes, if there are several; `source` reads the configuration again."""
        self.settings = settings
        self.store = store
        self.profiles = profiles
        self.curricula = curricula
        self.drills = drills
        self.trust = trust
        self.switch = switch
        self.peers = peers
        self._source = source
        self._run = token_hex(8) if peers is None else peers.folder.name
        self._build_parts(settings)
        LIMIT.seconds, LIMIT.tell = settings.timeouts.expression, tell_late_search
        self.data = DataPlane(self._build_proxy(settings, None))
        self._file_watch = FileWatch(store, self.sessions.forget_all)
        self._probes: list[asyncio.Task[None]] = []
        self._housekeeping: Housekeeping | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._reloading = asyncio.Lock()
        self._unnamed = count()

    def _build_parts(self, settings: Settings) -> None:
        """Build the parts that stay through a reload."""
        store, drills, peers, switch = self.store, self.drills, self.peers, self.switch
        self.recorder = Recorder(
            store,
            detail=settings.record,
            durability_wait_s=settings.durability_wait,
            commit_delay_s=settings.commit_delay,
            in_flight=lambda: self.metrics.in_flight,
        )
        leases = None if peers is None else TurnLeases(peers.folder / "claims.sqlite")
        self.worker_sync = None if leases is None else WorkerSync(store, leases)
        self._destroyed = DestroyedAnswers(
            store,
            None if peers is None else peers.folder / "destroyed.sqlite",
            settings.limits.destroyed_answers,
        )
        self._inference = Inference(store, self._destroyed, leases)
        self.trainer_lag = TrainerLag(store, lambda: self.settings.train)
        self.sessions = Sessions(
            settings,
            store,
            self.profiles,
            self._inference,
            ResponseLookup(store, self.recorder),
            drills,
            self.trainer_lag,
            self.worker_sync,
        )
        self.shared = SharedState(
            switch,
            self.trust,
            drills,
            self.recorder,
            peers,
            lambda end, reason: self.drill_control.end(end, reason),  # noqa: PLW0108
        )
        self.drill_control = DrillControl(
            drills, switch, self.recorder, self.acknowledge, self.shared.tell, self._run_in_background
        )
        self.data_connections, self.control_connections = make_connection_tables(settings)
        # A reload replaces the upstreams.
        self.metrics = Metrics(
            self.recorder.state,
            self.sessions.live,
            lambda: self.upstreams.states(),  # noqa: PLW0108
            self.trust,
            (self.data_connections, self.control_connections),
            self.trainer_lag,
        )
        self._withheld = WithheldNoise(self.metrics)
        self._watch = AbortWatch(settings.abort, self._stop_noise, time.monotonic)
        self._faults_in_flight = FaultsInFlight(settings.dose.faults_in_flight, settings.workers)
        self._shared_calls = SharedCalls(settings.retry_grace)
        self._tracing = open_tracing(settings.telemetry)
        self._preparation = build_preparation(settings, store, self.recorder, self.metrics)
        self._confinement = build_confinement(settings, self.metrics)
        self._tool_legs = ToolLegs(
            store, self.recorder, self.metrics, switch, drills, shared=peers is not None
        )

    def _build_proxy(self, settings: Settings, known: Proxy | None) -> Proxy:
        """Build the parts that depend on the configuration, with those upstreams of the `known` that stay."""
        upstreams = build_upstreams(settings, None if known is None else known.upstreams, self._run)
        authenticator = Authenticator(settings)
        sessions, recorder, metrics = self.sessions, self.recorder, self.metrics
        ownership = build_ownership(settings, self.store, recorder)
        recording = Recording(
            settings.durability,
            recorder,
            metrics,
            self._inference,
            self._watch,
            self._tracing,
            self.trust,
            self.drills,
            shared_account=ownership is not None,
        )
        redactor = Redactor(settings.body_secrets, collect_secrets(settings))
        mask_log_lines(redactor.mask_name)
        return Proxy(
            settings=settings,
            upstreams=upstreams,
            sessions=sessions,
            authenticator=authenticator,
            redactor=redactor,
            metrics=metrics,
            recording=recording,
            relay=ResponseRelay(settings, recording),
            short_circuit=ShortCircuit(recording, settings.markers),
            shared=self._shared_calls,
            in_flight=self._faults_in_flight,
            builder=RequestBuilder(
                settings, self.switch, self._preparation, self._confinement, self._withheld, self.drills
            ),
            passthrough=PassThrough(
                settings,
                upstreams,
                ModelList(upstreams, settings.limits.answer),
                sessions,
                StoredResponses(sessions),
                metrics,
                recorder,
                ownership,
            ),
            websockets=WebSockets(
                settings, upstreams, sessions, authenticator, redactor, recorder, metrics, ownership
            ),
            tools=self._build_tool_routes(settings, redactor, known),
            transparent=TransparentTurns(settings, recording) if settings.record is Detail.NONE else None,
            ownership=ownership,
            preparation=self._preparation,
        )

    def _build_tool_routes(self, settings: Settings, redactor: Redactor, known: Proxy | None) -> ToolRoutes:
        servers = ToolServers(settings, self.store, self._run, None if known is None else known.tools.servers)
        protocols = {ServerKind.MCP: McpOverHttp(), ServerKind.API: ToolsOverHttp()}
        return ToolRoutes(
            settings, servers, self.sessions, redactor, self.metrics, self._tool_legs, protocols, self.peers
        )

    @property
    def upstreams(self) -> Upstreams:
        return self.data.proxy.upstreams

    def start(self) -> None:
        """Start the background tasks: health probes, the watch over the store's files, housekeeping, the
        process of third-party operators.
        """
        self._start_probes()
        self._run_in_background(self._file_watch.run())
        self._run_in_background(self.trainer_lag.watch())
        if self._confinement is not None and (self.peers is None or self.peers.number):
            self._confinement.start()
        if self.peers is None or self.peers.number == 0:
            self._housekeeping = Housekeeping(
                self.store, self.metrics, lambda: self.settings, self.sessions.forget
            )
            self._housekeeping.start()
            self._run_in_background(self.drill_control.run())

    def _start_probes(self) -> None:
        """Probe the replicas, in each process that sends them requests."""
        if self.peers is None or self.peers.number:
            self._stop_probes()
            self._probes = [
                asyncio.create_task(probe_regularly(upstream, upstream.health.probe))
                for upstream in self.upstreams
                if upstream.health.probe is not None
            ]

    def _stop_probes(self) -> None:
        for probe in self._probes:
            probe.cancel()

    async def reload(self) -> tuple[str, ...]:
        """Read the configuration again and apply it in all processes; return the settings that changed.

        Raises ConfigurationError if it can't be used; then nothing changes.
        """
        # One at a time: what was read last is applied last.
        async with self._reloading:
            if self.peers is None:
                return await self.apply_settings(await asyncio.to_thread(self._source))
            changed = await self.apply_settings(*await self.peers.read())
            await self.peers.reload()
            return changed

    def reload_in_background(self) -> None:
        """Reload on SIGHUP. An error is logged, and nothing changes then."""

        async def reload_or_log() -> None:
            try:
                await self.reload()
            except ConfigurationError as error:
                _log.error("the configuration was not reloaded", error=str(error))

        self._run_in_background(reload_or_log())

    def _run_in_background(self, work: Coroutine[Any, Any, None]) -> None:
        # The loop itself keeps only weak references to tasks.
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def apply_settings(self, settings: Settings, reading: int = 0) -> tuple[str, ...]:
        """Read the packs and the profile files, then apply a configuration at once; return the settings, the
        folder of packs and the profile files that changed. Requests in flight keep the old one. `reading`
        numbers the configuration for all processes.

        Raises ConfigurationError if it can't be used; then nothing changes.
        """
        changed = find_changes(self.settings, settings)
        before = self.data.proxy
        shared = None if self.peers is None else self.peers.folder
        with trying_packs(settings, shared, reading) as packs:
            files = await asyncio.to_thread(read_profile_files, settings, self.profiles, reading)
            proxy = self._build_proxy(settings, before)
        # Replace the profiles last: if a part above can't be built, nothing has changed.
        edited = self.profiles.take(files, reading)
        self.settings, self.data.proxy = settings, proxy
        for connections in (self.data_connections, self.control_connections):
            connections.configure(settings.limits, settings.timeouts)
        LIMIT.seconds = settings.timeouts.expression
        self.sessions.reconfigure(settings)
        set_level(settings.log.level)
        for removed in set(before.upstreams) - set(proxy.upstreams):
            self._run_in_background(removed.close(drain=True))
        self._run_in_background(before.tools.servers.close_others(proxy.tools.servers, drain=True))
        self._start_probes()
        changed += packs + edited
        _log.info("the configuration was reloaded", changed=changed)
        return changed

    async def next_unnamed(self) -> str:
        """The name for the next session without one: numbered, so that a run is reproducible."""
        number = next(self._unnamed) if self.worker_sync is None else await self.worker_sync.number("unnamed")
        return f"unnamed-{number}"

    async def acknowledge(self, rows: Sequence[Row]) -> None:
        """Write rows and wait until they are on disk. Raises ServiceError 503 if that fails; then nothing was
        written.
        """
        ticket = self.recorder.submit(rows, retry=False)
        try:
            await self.recorder.ensure_durable(ticket, self.settings.acknowledge_wait)
        except NotDurable as error:
            raise ServiceError(
                503,
                f"{error}; free space or repair the store, then send it again",
                kind="server_error",
                code="not_durable",
            ) from error

    def _stop_noise(self, reason: str) -> None:
        """Stop noise because an abort condition is met."""
        self.shared.set_noise(False, reason)
        self.metrics.aborts.inc()

    def problem(self) -> str | None:
        """Why this process isn't ready; None if it is."""
        state = self.recorder.state()
        written = f"the store can't be written: {state.last_error}" if state.down else None
        return self._file_watch.problem or written

    @property
    def store_unavailable(self) -> bool:
        """Whether this process can't write to the store."""
        return self._file_watch.problem is not None or self.recorder.state().down

    def problems(self) -> list[str]:
        """Why the gateway isn't ready, over all processes; empty if it is."""
        own = self.problem()
        return [*([own] if own else []), *(self.peers.troubles() if self.peers else [])]

    def upstream_states(self) -> Mapping[str, Mapping[str, ReplicaState | Mapping[str, Any]]]:
        """The health of every upstream's replicas, as the processes that send them requests see it."""
        return self.upstreams.states() if self.peers is None else self.peers.upstreams()

    async def metrics_text(self) -> bytes:
        """The metrics of all processes, in Prometheus' text format."""
        if self.peers is None:
            return self.metrics.text()
        self.metrics.sample()
        peers = self.peers
        return await asyncio.to_thread(
            render_all_processes, peers.folder, workers_ready=peers.ready(), worker_restarts=peers.restarts
        )

    async def close(self) -> int:
        """Write the queued rows, end all tasks and close everything; return how many rows were lost."""
        self._stop_probes()
        if self._housekeeping is not None:
            await self._housekeeping.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._shared_calls.close()
        self._withheld.summarize()
        if self._preparation is not None:
            await self._preparation.close()
        if self._confinement is not None:
            await asyncio.to_thread(self._confinement.close)
        await self.upstreams.close()
        await self.data.proxy.tools.servers.close_others(None, drain=False)
        lost = await self.recorder.aclose()
        if self._tracing is not None:
            await asyncio.to_thread(self._tracing.close)
        self.store.close()
        if self.worker_sync is not None:
            self.worker_sync.leases.close()
        self._destroyed.close()
        self.drills.counts.close()
        return lost
