"""A running gateway: its parts, reloads, the kill switch over all processes, and shutdown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import structlog

from crosswind.gateway.clock import now_us
from crosswind.gateway.config.reload import find_changes
from crosswind.gateway.config.settings import Settings
from crosswind.gateway.errors import ConfigurationError, ServiceError
from crosswind.gateway.housekeeping import Housekeeping
from crosswind.gateway.noise.kill_switch import NOISE, SWITCH, KillSwitch
from crosswind.gateway.peers.peers import Peers
from crosswind.gateway.proxy.proxy import DataPlane, Proxy
from crosswind.gateway.recorder.queue import NotDurable
from crosswind.gateway.recorder.recorder import Recorder
from crosswind.gateway.sandbox.confinement import Confined
from crosswind.gateway.sessions.curricula import Curricula
from crosswind.gateway.sessions.profiles import Profiles
from crosswind.gateway.sessions.sessions import Sessions
from crosswind.gateway.sessions.sync import WorkerSync
from crosswind.gateway.telemetry.logs import set_level
from crosswind.gateway.telemetry.metrics import Metrics, render_all_processes
from crosswind.gateway.trajectory.record import Row, Setting
from crosswind.gateway.trajectory.servers import SERVER
from crosswind.gateway.trajectory.store import Store
from crosswind.gateway.trajectory.trust import Trust
from crosswind.gateway.upstreams.probing import HealthProbes
from crosswind.gateway.upstreams.replicas import ReplicaState
from crosswind.gateway.upstreams.upstreams import Upstreams

_log = structlog.get_logger("crosswind.gateway")


@dataclass(slots=True)
class Gateway:
    """The parts of a gateway. `data` is the data plane; the control plane uses all parts."""

    settings: Settings
    store: Store
    recorder: Recorder
    profiles: Profiles
    sessions: Sessions
    curricula: Curricula
    switch: KillSwitch
    trust: Trust
    metrics: Metrics
    data: DataPlane
    build_proxy: Callable[[Settings, Upstreams | None, int], tuple[Proxy, tuple[str, ...]]]
    """Builds the proxy of a configuration from the upstreams in use so far and the number of the reading;
    returns it with the profile files that changed.
    """
    source: Callable[[], Settings]
    """Reads the configuration again."""
    peers: Peers | None = None
    """The other processes, if there are several."""
    worker_sync: WorkerSync | None = None
    confinement: Confined | None = None
    """The process that runs the operators of other packages."""
    _probing: HealthProbes = field(default_factory=HealthProbes)
    _housekeeping: Housekeeping | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _unnamed: count[int] = field(default_factory=count)

    @property
    def upstreams(self) -> Upstreams:
        """The upstreams of the configuration in force."""
        return self.data.proxy.upstreams

    def start(self) -> None:
        """Start the background tasks: health probes, housekeeping, the process of third-party operators."""
        self._start_probes()
        if self.confinement is not None and (self.peers is None or self.peers.number):
            self.confinement.start()
        if self.peers is None or self.peers.number == 0:
            self._housekeeping = Housekeeping(
                self.store, self.metrics, lambda: self.settings, self.sessions.forget
            )
            self._housekeeping.start()

    def _start_probes(self) -> None:
        """Probe the replicas, in each process that sends them requests."""
        if self.peers is None or self.peers.number:
            self._probing.watch(self.upstreams)

    async def reload(self) -> tuple[str, ...]:
        """Read the configuration again and apply it in all processes; return the settings that changed.

        Raises ConfigurationError if it can't be used; then nothing changes.
        """
        if self.peers is None:
            return self.apply_settings(await asyncio.to_thread(self.source))
        changed = self.apply_settings(*await self.peers.read())
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

    def apply_settings(self, settings: Settings, reading: int = 0) -> tuple[str, ...]:
        """Apply a configuration at once; return the settings and the profile files that changed. Requests in
        flight keep the old one. `reading` numbers the configuration for all processes.

        Raises ConfigurationError if it can't be used; then nothing changes.
        """
        changed = find_changes(self.settings, settings)
        before = self.upstreams
        proxy, edited = self.build_proxy(settings, before, reading)
        self.settings, self.data.proxy = settings, proxy
        self.sessions.reconfigure(settings)
        set_level(settings.log.level)
        for removed in set(before) - set(proxy.upstreams):
            self._run_in_background(removed.close(drain=True))
        self._start_probes()
        changed += edited
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

    def set_noise(self, enabled: bool) -> None:
        """Set the kill switch: in memory and the file first, then in the store. It never fails."""
        self.switch.set(enabled)
        self.recorder.offer([Setting(NOISE, SWITCH, {"enabled": enabled}, now_us())])

    async def switch_noise(self, enabled: bool) -> None:
        """Set the kill switch in all processes."""
        self.set_noise(enabled)
        if self.peers is not None:
            await self.peers.switch_noise(enabled)

    def receive_noise_switch(self, enabled: bool) -> None:
        """Set the kill switch as another process did. Only the control plane's process stores it."""
        if self.peers is not None and self.peers.number:
            self.switch.hear(enabled)
        else:
            self.set_noise(enabled)

    async def publish_trust(self, setting: Setting) -> None:
        """Apply a setting of a policy version's or a server's trust in all processes."""
        self.receive_trust(setting)
        if self.peers is not None:
            message = {"kind": setting.kind, "name": setting.name, "value": dict(setting.value)}
            await self.peers.tell_version(message)

    def receive_trust(self, setting: Setting) -> None:
        """Apply a setting of trust in this process, and log whether capture for training stops or resumes."""
        if not self.trust.hear(setting):
            return
        if setting.kind == SERVER:
            if setting.name in self.trust.servers.doubted:
                reason = setting.value.get("reason")
                _log.error("capture of a server is stopped", server=setting.name, reason=reason)
            else:
                _log.warning("capture of a server is resumed", server=setting.name)
        elif self.trust.stopped is None:
            _log.warning("capture for training is resumed", version=setting.name)
        else:
            _log.error("capture for training is stopped", reason=self.trust.stopped)

    def problem(self) -> str | None:
        """Why this process isn't ready; None if it is."""
        state = self.recorder.state()
        return f"the store can't be written: {state.last_error}" if state.down else None

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

    async def close(self) -> None:
        """Write the queued rows, end all tasks and close everything."""
        self._probing.stop()
        if self._housekeeping is not None:
            await self._housekeeping.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.data.proxy.shared.close()
        if (preparing := self.data.proxy.preparation) is not None:
            await preparing.close()
        if self.confinement is not None:
            await asyncio.to_thread(self.confinement.close)
        await self.upstreams.close()
        await self.recorder.aclose()
        if (tracing := self.data.proxy.recording.tracing) is not None:
            await asyncio.to_thread(tracing.close)
        self.store.close()
        if self.worker_sync is not None:
            self.worker_sync.leases.close()
