"""A child process: a worker, which serves the data plane, or the control plane. Started by the supervisor:

    python -m crosswind.gateway.workers.worker CHANNEL OTHER

Both are inherited file descriptors. The first message over the channel names the role and the configuration.
OTHER is the control plane's listener, or the worker's end of the socket pair that carries connections.
"""

from __future__ import annotations

import asyncio
import shutil
import signal
import socket
import sqlite3
import sys
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import structlog
import uvloop
from structlog.contextvars import bind_contextvars

from crosswind.gateway.app import create_app
from crosswind.gateway.clock import steady_us
from crosswind.gateway.config.settings import Settings
from crosswind.gateway.errors import ConfigurationError
from crosswind.gateway.http.garbage import tune_garbage_collection
from crosswind.gateway.http.memory_budget import use_one_heap
from crosswind.gateway.http.server import Server, allow_many_connections, stop
from crosswind.gateway.peers.channel import Channel, Message
from crosswind.gateway.peers.peers import Peers
from crosswind.gateway.runtime import Gateway
from crosswind.gateway.sessions.leases import LeasesUnavailable
from crosswind.gateway.telemetry.logs import configure
from crosswind.gateway.telemetry.losses import ROWS_LOST
from crosswind.gateway.trajectory.record import Setting
from crosswind.gateway.workers.handoff import HandedServer

_log = structlog.get_logger("crosswind.workers")

_REPORT_EVERY_S = 1.0


def main(arguments: list[str]) -> int:
    channel, other = (socket.socket(fileno=int(number)) for number in arguments)
    return uvloop.run(_run(channel, other))


async def _run(end: socket.socket, other: socket.socket) -> int:
    channel = await Channel.open(end)
    message = await channel.receive()
    if message is None:
        return 1
    try:
        gateway = _make_gateway(message, channel)
    except ConfigurationError as error:
        channel.tell({"failed": {"error": str(error)}})
        channel.close()
        return 2
    except (OSError, sqlite3.Error, LeasesUnavailable):
        if Path(message["folder"]).exists():  # noqa: ASYNC240
            raise
        _log.error("the supervisor was gone before the start")  # and its other processes removed the folder
        return 1
    server = _make_server(gateway, worker=bool(message["number"]))
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop, [server])
    gateway.start()
    tune_garbage_collection()
    listening = asyncio.create_task(_follow_supervisor(channel, gateway, server))
    reporting = asyncio.create_task(_report_state(channel, gateway))
    try:
        await server.run(other)
    finally:
        listening.cancel()
        reporting.cancel()
        lost = await gateway.close()
    if channel.ended:
        # The supervisor can't clean up any more. Processes that are still draining keep the files open.
        shutil.rmtree(message["folder"], ignore_errors=True)
    if lost:
        channel.tell({"lost": lost})
    channel.close()
    return ROWS_LOST if lost else 0


def _make_gateway(message: Message, channel: Channel) -> Gateway:
    settings = Settings(**message["settings"])
    configure(settings.log)
    bind_contextvars(worker=message["number"])
    use_one_heap()
    allow_many_connections()
    folder = Path(message["folder"])
    peers = Peers(message["number"], folder, channel, message["reading"], settings.workers)
    gateway = create_app(settings, peers)
    if message["noise"] is not None:
        gateway.shared.receive_noise_switch(message["noise"])
    return gateway


def _make_server(gateway: Gateway, *, worker: bool) -> Server:
    if worker:
        server = HandedServer(gateway.data_connections, gateway.data.serve)
        if gateway.peers is not None:
            gateway.peers.hand_on = partial(server.hand_on, gateway.peers.folder)
        return server
    from crosswind.gateway.control.application import create_control
    from crosswind.gateway.http.asgi import AsgiServer

    return AsgiServer(gateway.control_connections, create_control(gateway))


async def _follow_supervisor(channel: Channel, gateway: Gateway, server: Server) -> None:
    """Follow the supervisor's messages; drain and exit when it is gone."""

    async def hear(message: Message) -> Mapping[str, Any] | None:
        if "noise" in message:
            gateway.shared.receive_noise_switch(message["noise"])
        elif "setting" in message:
            said = message["setting"]
            gateway.shared.receive_setting(Setting(said["kind"], said["name"], said["value"], steady_us()))
        elif "hang_up" in message:
            gateway.reload_in_background()
        elif "reload" in message:
            await _reload(gateway, message)
        elif "workers" in message and gateway.peers is not None:
            gateway.peers.hear(message)
        return None

    await server.up.wait()
    channel.tell({"ready": True})
    await channel.listen(hear)
    if not server.stopping:
        _log.error("the supervisor is gone: draining")
        stop([server])


async def _reload(gateway: Gateway, message: Message) -> None:
    """Apply a configuration that the control plane has tried."""
    try:
        await gateway.apply_settings(Settings(**message["reload"]), message["reading"])
    except ConfigurationError as error:
        _log.error("the configuration was not reloaded", error=str(error))


async def _report_state(channel: Channel, gateway: Gateway) -> None:
    """Report the state at intervals: silence means that the event loop is stuck."""
    while True:
        gateway.metrics.sample()
        states = {
            name: {base: asdict(state) for base, state in replicas.items()}
            for name, replicas in gateway.upstreams.states().items()
        }
        channel.tell({"problem": gateway.problem(), "upstreams": states})
        await asyncio.sleep(_REPORT_EVERY_S)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
