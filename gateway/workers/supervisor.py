"""The supervisor serves nothing itself, so no request can bring it down.

It accepts connections and hands them to the workers, restarts the workers and the control plane when they
die, forwards signals and the kill switch, and exits when all of them have. The control plane is a child too,
so that its large answers can't affect the workers. A worker that dies loses only its own connections.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import structlog
from pydantic import SecretStr

from crosswind.gateway.config.settings import Settings
from crosswind.gateway.errors import ConfigurationError
from crosswind.gateway.peers.channel import Message
from crosswind.gateway.telemetry.losses import ROWS_LOST, tell_lost_rows
from crosswind.gateway.workers.child import ChildProcess
from crosswind.gateway.workers.handoff import Dealer

_log = structlog.get_logger("crosswind.workers")

_ANSWER_S = 1.0
"""How long workers may take to answer a question to all of them."""
_TELL_EVERY_S = 1.0
_CUT_AFTER_DRAIN_S = 10.0
_STARTS = 5
"""The supervisor gives up after this many consecutive failed starts of every worker."""


class Supervisor:
    """Runs `settings.workers` workers and the control plane until SIGTERM or SIGINT.

    `folder` is private to this run. `reload` reads the configuration again. `announce` reports that all is
    up.
    """

    def __init__(
        self,
        settings: Settings,
        data: socket.socket,
        control: socket.socket,
        folder: Path,
        *,
        reload: Callable[[], Settings],
        announce: Callable[[Settings], None],
    ) -> None:
        self._settings = settings
        self._dealer = Dealer(data)
        self._control_listener = control
        self._folder = folder
        self._reload = reload
        self._announce = announce
        self._noise: bool | None = None
        """The state of the kill switch; None if it was never set."""
        self._stopping = False
        self._up = False
        """Whether all children have been ready at once."""
        self._over = asyncio.Event()
        self._reading = 0
        """The number of the configuration in force. Profiles in files belong to one reading."""
        self._readings = 0
        self._read_last: tuple[Settings, int] | None = None
        """The configuration that the control plane is trying, with its number."""
        self._failed: Message | None = None
        self._restarts = 0
        self._ended_badly = False
        self._rows_lost = 0
        self._control = ChildProcess(0)
        self._workers = [ChildProcess(number) for number in range(1, settings.workers + 1)]

    @property
    def _children(self) -> list[ChildProcess]:
        return [self._control, *self._workers]

    async def run(self) -> int:
        """Serve and return the exit code. Raises ConfigurationError if a child can't start."""
        self._install_signal_handlers()
        keeping = [asyncio.create_task(self._keep(child)) for child in self._children]
        telling = asyncio.create_task(self._tell_control())
        try:
            await self._over.wait()
        finally:
            telling.cancel()
            code = await self._end_children(keeping)
        if self._failed is not None:
            raise ConfigurationError(str(self._failed["error"]))
        return code

    # Children

    async def _keep(self, child: ChildProcess) -> None:
        """Keep a child running until the supervisor stops."""
        while not self._stopping:
            await child.start(self._folder, None if child.number else self._control_listener)
            child.tell(self._instructions(child))
            if self._stopping:
                child.signal(signal.SIGTERM)
            handed = child.handed
            code = await child.live(self._hear)
            if handed is not None:
                self._dealer.remove(handed)
            self._forget_gauges(child.pid)
            if self._stopping:
                # SIGTERM kills a child that isn't far enough to drain, nor to have anything to drain.
                if code not in (0, ROWS_LOST, -signal.SIGTERM):
                    _log.error("a child did not end well", who=child.name, exit_code=code)
                    self._ended_badly = True
                return
            if not self._up or self._workers_keep_failing():
                return self._give_up(child, code)
            self._restarts += 1
            self._tell()
            pause_s = child.pause_s()
            _log.error("a child died and is started again", who=child.name, exit_code=code, in_s=pause_s)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), pause_s)

    def _instructions(self, child: ChildProcess) -> Message:
        return {
            "number": child.number,
            "folder": str(self._folder),
            "settings": _serialize_settings(self._settings),
            "reading": self._reading,
            "noise": self._noise,
        }

    def _workers_keep_failing(self) -> bool:
        return all(worker.failed_starts >= _STARTS for worker in self._workers)

    def _give_up(self, child: ChildProcess, code: int) -> None:
        _log.error("a child can't start", who=child.name, exit_code=code)
        self._failed, self._ended_badly = child.failure, True
        self._stop()

    async def _hear(self, child: ChildProcess, message: Message) -> Message | None:
        if "failed" in message:
            child.failure = message["failed"]
        elif "lost" in message:
            self._rows_lost += message["lost"]
        elif "ready" in message:
            child.ready = True
            if child.handed is not None:
                self._dealer.add(child.handed, child.number)
            self._tell()
            if not self._up and all(one.ready for one in self._children):
                self._up = True
                self._announce(self._settings)
        elif "problem" in message:
            child.problem = message["problem"]
            child.upstreams = message["upstreams"]
        elif "noise" in message:
            self._noise = bool(message["noise"])
            return {"answered": await self._ask_workers({"noise": self._noise})}
        elif "setting" in message:
            return {"answered": await self._ask_workers({"setting": message["setting"]})}
        elif "read" in message:
            return await self._read()
        elif "reload" in message and self._read_last is not None:
            self._settings, self._reading = self._read_last
            message = {"reload": _serialize_settings(self._settings), "reading": self._reading}
            return {"answered": await self._ask_workers(message)}
        return None

    async def _ask_workers(self, message: Message) -> int:
        """Ask all workers at once; return how many answered in time."""
        answers = await asyncio.gather(*(worker.ask(message, _ANSWER_S) for worker in self._workers))
        return sum(answer is not None for answer in answers)

    async def _tell_control(self) -> None:
        """Report the workers' states to the control plane at intervals."""
        while True:
            self._tell()
            await asyncio.sleep(_TELL_EVERY_S)

    def _tell(self) -> None:
        now = asyncio.get_running_loop().time()
        workers = [worker.state(now) for worker in self._workers]
        self._control.tell({"workers": workers, "restarts": self._restarts})

    def _forget_gauges(self, pid: int) -> None:
        """Delete the live gauges of a dead process, so that they are not summed with the others."""
        for file in self._folder.glob(f"gauge_live*_{pid}.db"):
            file.unlink(missing_ok=True)

    # Signals

    def _install_signal_handlers(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop)
        loop.add_signal_handler(signal.SIGUSR1, self._switch, False)
        loop.add_signal_handler(signal.SIGUSR2, self._switch, True)
        # The control plane tries a new configuration first and reports when the workers may take it.
        loop.add_signal_handler(signal.SIGHUP, self._control.tell, {"hang_up": True})

    def _stop(self) -> None:
        """Drain all children; a second signal ends them at once."""
        self._stopping = True
        self._dealer.close()
        self._over.set()
        for child in self._children:
            child.signal(signal.SIGTERM)

    def _switch(self, enabled: bool) -> None:
        """Set the kill switch by signal, in memory here and in the workers; the control plane stores it."""
        self._noise = enabled
        _log.warning("noise is switched by a signal", enabled=enabled)
        for child in self._children:
            child.tell({"noise": enabled})

    async def _read(self) -> Message:
        """Read the current configuration for the control plane to try."""
        try:
            settings = await asyncio.to_thread(self._reload)
        except ConfigurationError as error:
            return {"error": str(error)}
        self._readings += 1
        self._read_last = settings, self._readings
        return {"settings": _serialize_settings(settings), "reading": self._readings}

    async def _end_children(self, keeping: list[asyncio.Task[None]]) -> int:
        """Wait for all children to end and kill those that don't; return the exit code."""
        if not self._stopping:
            self._stop()
        _, slow = await asyncio.wait(keeping, timeout=self._settings.timeouts.drain + _CUT_AFTER_DRAIN_S)
        for child in self._children if slow else ():
            child.signal(signal.SIGKILL)
        await asyncio.gather(*keeping)
        return tell_lost_rows(self._rows_lost) or int(self._ended_badly)


def _serialize_settings(settings: Settings) -> Message:
    """The configuration as a message to a child."""
    message: Message = json.loads(json.dumps(settings.model_dump(), default=_reveal_secret))
    return message


def _reveal_secret(value: Any) -> Any:
    """Serialise secrets in the clear: they go only to our own children, over a private socket pair."""
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value)
