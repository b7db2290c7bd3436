"""`crosswind serve`: the data plane and the control plane, two ports in one process and one loop."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gateway.errors import ConfigurationError

if TYPE_CHECKING:
    import uvicorn

    from gateway.config import Settings
    from gateway.gateway import Gateway

Command = Callable[..., None]


def _choice(name: str, about: str, default: str, *others: str) -> Callable[[Command], Command]:
    return click.option(name, type=click.Choice([default, *others]), help=f"{about}  [{default}]")


_OPTIONS = (
    click.option("--config", type=click.Path(path_type=Path), envvar="CROSSWIND_CONFIG", help="A YAML file."),
    click.option("--upstream", help="Base URL of the OpenAI-compatible server: http://host:8000/v1"),
    click.option("--profile", help="The noise profile of sessions that name none.  [off]"),
    click.option("--store", help="Where trajectories are kept.  [sqlite:///crosswind.db]"),
    click.option("--host", help="The data plane's address.  [127.0.0.1]"),
    click.option("--port", type=int, help="The data plane's port.  [8080]"),
    click.option("--control-host", help="The control plane's address.  [127.0.0.1]"),
    click.option("--control-port", type=int, help="The control plane's port.  [8081]"),
    click.option("--seed", type=int, help="The seed of all draws.  [0]"),
    _choice("--sessions", "Whether unseen sessions are opened.", "open", "strict"),
    _choice("--auth", "Whose keys are checked.", "passthrough", "keys"),
    _choice("--record", "How much is stored.", "full", "metadata", "none"),
    _choice("--durability", "What waits for the disk.", "strict", "strict_tools", "relaxed"),
    _choice("--capture", "Token ids from the engine.", "auto", "on", "off"),
    click.option("--token-ids/--no-token-ids", default=None, help="The upstream offers return_token_ids."),
    _choice("--body-secrets", "Secrets in texts.", "redact", "block_training", "keep"),
)


def with_options(command: Command) -> Command:
    """The options that `serve` and `doctor` share."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command()
@with_options
def serve(config: Path | None, **flags: Any) -> None:
    """Put the gateway in front of an OpenAI-compatible server."""
    from gateway.configuration.loading import load
    from gateway.logs import configure

    settings = load(config, flags)
    configure(settings.log)
    data, control = (
        _bound(settings.host, settings.port, "port"),
        _bound(settings.control_host, settings.control_port, "control_port"),
    )
    settings = settings.model_copy(
        update={"port": data.getsockname()[1], "control_port": control.getsockname()[1]}
    )
    sys.exit(_run(settings, data, control))


def _bound(host: str, port: int, field: str) -> socket.socket:
    """A listening socket, taken before anything else, so that a port in use is told at once."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named since asyncio switches Nagle's algorithm off for sockets of a named one only.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(2048)
    except OSError as error:
        listener.close()
        flag = "--" + field.replace("_", "-")
        raise ConfigurationError(
            f"{field} {port} on {host} can't be used ({error.strerror}); give another {flag}"
        ) from None
    listener.setblocking(False)
    return listener


def _run(settings: Settings, data: socket.socket, control: socket.socket) -> int:
    from gateway.app import create_app

    gateway = create_app(settings)
    try:
        import uvloop
    except ImportError:
        return asyncio.run(run(gateway, data, control, announce=True))
    return uvloop.run(run(gateway, data, control, announce=True))


async def run(
    gateway: Gateway, data: socket.socket, control: socket.socket, *, announce: bool = False
) -> int:
    """Serve until SIGTERM or SIGINT, then drain. Gives the exit code."""
    from gateway.control.application import create_control

    servers = [_server(gateway, gateway.data), _server(gateway, create_control(gateway))]
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, servers)
    if announce:
        _announce(gateway.settings)
    try:
        await asyncio.gather(
            *(server._serve([listener]) for server, listener in zip(servers, (data, control), strict=True))
        )
    finally:
        await gateway.close()
    return 0


def stop(servers: list[uvicorn.Server]) -> None:
    """Stop taking requests and let those in flight end; asked again, cut them."""
    for server in servers:
        server.force_exit = server.should_exit
        server.should_exit = True


def _server(gateway: Gateway, app: Any) -> uvicorn.Server:
    import uvicorn

    return uvicorn.Server(
        uvicorn.Config(
            app,
            loop="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=int(gateway.settings.timeouts.drain) or 1,
            h11_max_incomplete_event_size=gateway.settings.limits.header,
            ws="none",
        )
    )


def _announce(settings: Settings) -> None:
    what = {
        "full": "requests, answers, token ids, events and rewards (credentials never)",
        "metadata": "who, when, how much and what was decided; no content",
        "none": "nothing of the traffic",
    }[settings.record.value]
    lines = (
        f"data plane     {settings.data_url}/v1  ->  {settings.upstream}",
        f"control plane  http://{settings.control_host}:{settings.control_port}",
        f"noise          profile {settings.profile}, seed {settings.seed}",
        f"recorded       {what}",
        f"               in {settings.store}, secrets in texts: {settings.body_secrets}",
    )
    for line in lines:
        click.echo(line, err=True)
