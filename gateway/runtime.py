"""A gateway put together: its parts, what they do only together, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import structlog

from crosswind.gateway.clock import now_us
from crosswind.gateway.config.reload import changes
from crosswind.gateway.config.settings import Settings
from crosswind.gateway.errors import ConfigurationError, ServiceError
from crosswind.gateway.housekeeping import Housekeeping
from crosswind.gateway.noise.kill_switch import NOISE, SWITCH, KillSwitch
from crosswind.gateway.peers.peers import Peers
from crosswind.gateway.proxy.proxy import DataPlane, Proxy
from crosswind.gateway.recorder.recorder import NotDurable, Recorder
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
    """A gateway's parts: `data` is the data plane, the control plane is made around them all."""

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
    proxy_of: Callable[[Settings, Upstreams | None, int], tuple[Proxy, tuple[str, ...]]]
    """Makes the proxy of a configuration, with what can be taken over of the upstreams known so far, in a
    reading of that number, and gives the profiles in files that changed.
    """
    source: Callable[[], Settings]
    """Reads the configuration anew."""
    peers: Peers | None = None
    """The other processes, where this one isn't alone."""
    sharing: WorkerSync | None = None
    confinement: Confined | None = None
    """Where third parties' operators run."""
    _probing: HealthProbes = field(default_factory=HealthProbes)
    _housekeeping: Housekeeping | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _unnamed: count[int] = field(default_factory=count)

    @property
    def upstreams(self) -> Upstreams:
        """The upstreams of the configuration in force."""
        return self.data.proxy.upstreams

    def start(self) -> None:
        """What the gateway does of its own accord, as long as it serves."""
        self._watch()
        if self.confinement is not None and (self.peers is None or self.peers.number):
            self.confinement.start()
        if self.peers is None or self.peers.number == 0:
            self._housekeeping = Housekeeping(
                self.store, self.metrics, lambda: self.settings, self.sessions.forget
            )
            self._housekeeping.start()

    def _watch(self) -> None:
        """Ask the replicas how they are, in each process that sends them requests."""
        if self.peers is None or self.peers.number:
            self._probing.watch(self.upstreams)

    async def reread(self) -> tuple[str, ...]:
        """Read the configuration anew and put it in force, in all processes; gives the settings that changed.

        ConfigurationError where it can't be: nothing is changed then.
        """
        if self.peers is None:
            return self.reload(await asyncio.to_thread(self.source))
        changed = self.reload(*await self.peers.read())
        await self.peers.reload()
        return changed

    def hang_up(self) -> None:
        """SIGHUP: read the configuration anew; what is wrong with it is logged, and nothing changes then."""

        async def reread() -> None:
            try:
                await self.reread()
            except ConfigurationError as error:
                _log.error("the configuration is kept as it is", error=str(error))

        rereading = asyncio.create_task(reread())
        self._tasks.add(rereading)
        rereading.add_done_callback(self._tasks.discard)

    def reload(self, settings: Settings, reading: int = 0) -> tuple[str, ...]:
        """Put a configuration in force at once; gives the settings that changed, and the profiles in files.
        Requests in flight end with what they began with. `reading` is the number that several processes know
        it by.

        ConfigurationError where it can't be: nothing is changed then.
        """
        changed = changes(self.settings, settings)
        before = self.upstreams
        proxy, edited = self.proxy_of(settings, before, reading)
        self.settings, self.data.proxy = settings, proxy
        self.sessions.reconfigure(settings)
        set_level(settings.log.level)
        for gone in set(before) - set(proxy.upstreams):
            closing = asyncio.create_task(gone.close(drain=True))
            self._tasks.add(closing)
            closing.add_done_callback(self._tasks.discard)
        self._watch()
        changed += edited
        _log.info("the configuration was reloaded", changed=changed)
        return changed

    async def next_unnamed(self) -> str:
        """The name of a session that was given none: the number of such sessions so far, so that a run
        repeats.
        """
        number = next(self._unnamed) if self.sharing is None else await self.sharing.number("unnamed")
        return f"unnamed-{number}"

    async def acknowledge(self, rows: Sequence[Row]) -> None:
        """Write rows and wait until they are on disk. ServiceError 503 where they aren't: nothing was written
        then.
        """
        ticket = self.recorder.submit(rows, retry=False)
        try:
            await self.recorder.ensure_durable(ticket, self.settings.acknowledge_wait)
        except NotDurable as error:
            raise ServiceError(
                503,
                f"{error}; free space or mend the store, then send it again",
                kind="server_error",
                code="not_durable",
            ) from error

    def set_noise(self, enabled: bool) -> None:
        """The kill switch: memory and file first, the store after. Never refused, and never fails."""
        self.switch.set(enabled)
        self.recorder.offer([Setting(NOISE, SWITCH, {"enabled": enabled}, now_us())])

    async def switch_noise(self, enabled: bool) -> None:
        """The kill switch, here and in all other processes."""
        self.set_noise(enabled)
        if self.peers is not None:
            await self.peers.switch_noise(enabled)

    def hear_noise(self, enabled: bool) -> None:
        """The kill switch as another process set it; the control plane's process writes it down for all."""
        if self.peers is not None and self.peers.number:
            self.switch.hear(enabled)
        else:
            self.set_noise(enabled)

    async def tell_version(self, setting: Setting) -> None:
        """What was said of a policy version, or of a server, here and in all other processes."""
        self.hear_version(setting)
        if self.peers is not None:
            said = {"kind": setting.kind, "name": setting.name, "value": dict(setting.value)}
            await self.peers.tell_version(said)

    def hear_version(self, setting: Setting) -> None:
        """Take in what was said of a policy version, or of a server; that the capture for training stops is
        logged.
        """
        if not self.trust.hear(setting):
            return
        if setting.kind == SERVER:
            if setting.name in self.trust.servers.doubted:
                reason = setting.value.get("reason")
                _log.error("capture of a server is stopped", server=setting.name, reason=reason)
            else:
                _log.warning("capture of a server goes on", server=setting.name)
        elif self.trust.stopped is None:
            _log.warning("capture for training goes on", version=setting.name)
        else:
            _log.error("capture for training is stopped", reason=self.trust.stopped)

    def problem(self) -> str | None:
        """Why this process isn't in order; None where it is."""
        state = self.recorder.state()
        return f"the store can't be written: {state.last_error}" if state.down else None

    def problems(self) -> list[str]:
        """Why the gateway, all its processes, isn't in order; nothing where it is."""
        own = self.problem()
        return [*([own] if own else []), *(self.peers.troubles() if self.peers else [])]

    def upstream_states(self) -> Mapping[str, Mapping[str, ReplicaState | Mapping[str, Any]]]:
        """How every upstream's replicas fare, as the processes that ask them see it."""
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
        """Write what is queued and let go of everything."""
        self._probing.stop()
        if self._housekeeping is not None:
            await self._housekeeping.stop()
        for closing in self._tasks:
            closing.cancel()
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
        if self.sharing is not None:
            self.sharing.leases.close()
