"""What is the same in all processes of a gateway: the kill switch, trust in versions and servers, drills."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from crosswind.gateway.clock import now_us
from crosswind.gateway.noise.kill_switch import NOISE, SWITCH, KillSwitch
from crosswind.gateway.peers.peers import Peers
from crosswind.gateway.recorder.recorder import Recorder
from crosswind.gateway.sessions.drills import KIND as DRILL
from crosswind.gateway.sessions.drills import DrillEnd, Drills
from crosswind.gateway.trajectory.record import Setting
from crosswind.gateway.trajectory.servers import SERVER
from crosswind.gateway.trajectory.trust import Trust

_log = structlog.get_logger("crosswind.gateway")


class SharedState:
    """Changes it in this process and, for the control plane, in all others."""

    def __init__(
        self,
        switch: KillSwitch,
        trust: Trust,
        drills: Drills,
        recorder: Recorder,
        peers: Peers | None,
        end_drill: Callable[[DrillEnd, str], None],
    ) -> None:
        """`end_drill` ends the drill that runs, in the process that controls it."""
        self._switch, self._trust, self._drills = switch, trust, drills
        self._recorder, self._peers, self._end_drill = recorder, peers, end_drill

    def set_noise(self, enabled: bool, reason: str | None = None) -> None:
        """Set the kill switch: in memory and the file first, then in the store. It never fails."""
        self._switch.set(enabled)
        value = {"enabled": enabled} | ({} if reason is None else {"reason": reason})
        self._recorder.offer([Setting(NOISE, SWITCH, value, now_us())])
        if not enabled and (self._peers is None or self._peers.number == 0):
            self._end_drill(DrillEnd.KILL_SWITCH, reason or "noise was switched off")

    def switch_noise_by_signal(self, enabled: bool) -> None:
        """Set the kill switch of a gateway of one process."""
        _log.warning("noise is switched by a signal", enabled=enabled)
        self.set_noise(enabled)

    async def switch_noise(self, enabled: bool) -> None:
        """Set the kill switch in all processes, for the control plane."""
        _log.warning("noise is switched over the control plane", enabled=enabled)
        self.set_noise(enabled)
        if self._peers is not None:
            await self._peers.switch_noise(enabled)

    def receive_noise_switch(self, enabled: bool) -> None:
        """Set the kill switch as another process did. Only the control plane's process stores it."""
        if self._peers is not None and self._peers.number:
            self._switch.hear(enabled)
        else:
            self.set_noise(enabled)

    async def publish_trust(self, setting: Setting) -> None:
        """Apply a setting of a policy version's or a server's trust in all processes."""
        self._receive_trust(setting)
        await self.tell(setting)

    async def tell(self, setting: Setting) -> None:
        """Tell the other processes of a setting."""
        if self._peers is not None:
            message = {"kind": setting.kind, "name": setting.name, "value": dict(setting.value)}
            await self._peers.tell_setting(message)

    def receive_setting(self, setting: Setting) -> None:
        """Apply a setting that another process tells of."""
        if setting.kind == DRILL:
            self._drills.hear(setting)
        else:
            self._receive_trust(setting)

    def _receive_trust(self, setting: Setting) -> None:
        """Apply a setting of trust in this process, and log whether capture for training stops or resumes."""
        if not self._trust.hear(setting):
            return
        if setting.kind == SERVER:
            if setting.name in self._trust.servers.doubted:
                reason = setting.value.get("reason")
                _log.error("capture of a server is stopped", server=setting.name, reason=reason)
            else:
                _log.warning("capture of a server is resumed", server=setting.name)
        elif self._trust.stopped is None:
            _log.warning("capture for training is resumed", version=setting.name)
        else:
            _log.error("capture for training is stopped", reason=self._trust.stopped)
