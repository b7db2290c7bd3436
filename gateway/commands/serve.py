"""`crosswind serve`: the data plane and the control plane on two ports, in one process or in several."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crosswind.gateway.errors import ConfigurationError

if TYPE_CHECKING:
    from pydantic import SecretStr

    from crosswind.gateway.config.settings import Settings
    from crosswind.gateway.runtime import Gateway

Command = Callable[..., None]


def _make_choice_option(name: str, about: str, default: str, *others: str) -> Callable[[Command], Command]:
    return click.option(name, type=click.Choice([default, *others]), help=f"{about}  [{default}]")


def _complete_profiles(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    from crosswind.injectors.cli.completion import complete_profiles

    return complete_profiles(context, parameter, typed)


_OPTIONS = (
    click.option("--config", type=click.Path(path_type=Path), envvar="CROSSWIND_CONFIG", help="A YAML file."),
    click.option("--upstream", help="Base URL of the OpenAI-compatible server: http://host:8000/v1"),
    click.option(
        "--profile",
        shell_complete=_complete_profiles,
        help="The noise profile of sessions that name none.  [off]",
    ),
    click.option(
        "--assume-replayable/--no-assume-replayable",
        default=None,
        help="Believe profiles that say that every tool call may be repeated, writes included.",
    ),
    click.option(
        "--tools-read-only",
        multiple=True,
        metavar="NAME",
        callback=lambda _context, _option, names: names or None,
        help="A tool that only reads, or a glob such as 'fetch_*': its results may be replaced. Repeatable.",
    ),
    click.option(
        "--packs",
        type=click.Path(path_type=Path),
        help="A folder of phrase packs; each takes the place of the shipped one.",
    ),
    click.option("--store", help="The store: a path or a URL.  [sqlite:///crosswind.db]"),
    click.option("--host", help="The data plane's address.  [127.0.0.1]"),
    click.option("--port", type=int, help="The data plane's port.  [8080]"),
    click.option("--control-host", help="The control plane's address.  [127.0.0.1]"),
    click.option("--control-port", type=int, help="The control plane's port.  [8081]"),
    click.option("--workers", type=click.IntRange(1), help="Processes that serve the data plane.  [1]"),
    click.option("--seed", type=int, help="The seed of all draws.  [0]"),
    _make_choice_option("--sessions", "Whether unseen sessions are opened.", "open", "strict"),
    _make_choice_option("--auth", "Whose keys are checked.", "passthrough", "keys"),
    _make_choice_option("--record", "How much is stored.", "full", "metadata", "none"),
    _make_choice_option("--durability", "What waits for the disk.", "strict", "strict_tools", "relaxed"),
    _make_choice_option("--capture", "Token ids from the engine.", "auto", "on", "off"),
    click.option("--token-ids/--no-token-ids", default=None, help="The upstream offers return_token_ids."),
    _make_choice_option("--body-secrets", "Secrets in texts.", "redact", "block_training", "keep"),
)


def with_options(command: Command) -> Command:
    """The options that `serve` and `doctor` share."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command(
    short_help="Put the gateway in front of a model server.",
    epilog="""\b
Examples:
  crosswind serve --upstream http://127.0.0.1:8000/v1
  crosswind serve --upstream https://api.openai.com/v1 --profile chaos/flaky-tools
  crosswind serve --config crosswind.yaml --workers 4
""",
)
@with_options
def serve(config: Path | None, **flags: Any) -> None:
    """Put the gateway in front of an OpenAI-compatible server."""
    from crosswind.gateway.commands.listeners import bind_planes, refuse_own_addresses
    from crosswind.gateway.config.loading import load
    from crosswind.gateway.http.memory_budget import use_one_heap
    from crosswind.gateway.http.server import allow_many_connections
    from crosswind.gateway.telemetry.logs import configure

    _exit_on_signals()
    settings = load(config, flags)
    configure(settings.log)
    use_one_heap()
    allow_many_connections()
    data, control = bind_planes(settings)
    made_key = _make_control_key(settings)
    ports = {"port": data.getsockname()[1], "control_port": control.getsockname()[1]}

    configured = settings.model_copy()

    def reread() -> Settings:
        """Read the configuration again; a port that is configured as before stays the one that was bound, and
        a key that was made here stays until one is configured.
        """
        now = load(config, flags)
        if now.needs_control_key and not made_key:
            raise ConfigurationError(
                "control_key is gone, and the control plane can be reached from elsewhere; give one again"
            )
        same = {name: port for name, port in ports.items() if getattr(now, name) == getattr(configured, name)}
        now = now.model_copy(update={**same, **(made_key if now.needs_control_key else {})})
        refuse_own_addresses(now)
        return now

    settings = settings.model_copy(update={**ports, **made_key})
    refuse_own_addresses(settings)
    with _claim_store(settings.store):
        sys.exit((_serve_alone if settings.workers == 1 else _supervise)(settings, data, control, reread))


def _exit_on_signals() -> None:
    """Exit with 0 while nothing is served yet. What serves takes the signals over."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(0))


@contextlib.contextmanager
def _claim_store(url: str) -> Iterator[None]:
    """Log it if another gateway serves this store."""
    import structlog

    from crosswind.gateway.commands.store_claim import claim_store

    with claim_store(url) as other:
        if other is not None:
            structlog.get_logger("crosswind.gateway").warning(
                "another gateway serves this store; send a session's requests to one of them only",
                store=url,
                process=other,
            )
        yield


def _make_control_key(settings: Settings) -> dict[str, SecretStr]:
    """The setting of a new key for the control plane, which is printed, where others can reach it and no key
    is configured; else nothing.
    """
    from pydantic import SecretStr

    if not settings.needs_control_key:
        return {}
    key = f"ck-{secrets.token_urlsafe(24)}"
    told = f"control key    {key}  (for this run; set control_key to keep one)"
    if settings.log.format == "json":
        # Not by a logger, which masks it.
        event = {"event": "a control key was made for this run", "code": "control_key_made"}
        told = json.dumps({**event, "level": "warning", "control_key": key})
    click.echo(told, err=True)
    return {"control_key": SecretStr(key)}


def _supervise(
    settings: Settings, data: socket.socket, control: socket.socket, reread: Callable[[], Settings]
) -> int:
    from crosswind.gateway.peers.peers import private_folder
    from crosswind.gateway.workers.supervisor import Supervisor

    with private_folder() as folder:
        supervisor = Supervisor(settings, data, control, folder, reload=reread, announce=_announce)
        return asyncio.run(supervisor.run())


def _serve_alone(
    settings: Settings, data: socket.socket, control: socket.socket, reread: Callable[[], Settings]
) -> int:
    """Serve both planes in this process, in one event loop."""
    import uvloop

    from crosswind.gateway.app import create_app

    return uvloop.run(run(create_app(settings, source=reread), data, control))


async def run(gateway: Gateway, data: socket.socket, control: socket.socket) -> int:
    """Serve until SIGTERM or SIGINT, then drain; return the exit code."""
    from crosswind.gateway.http.asgi import AsgiServer, LazyApplication
    from crosswind.gateway.http.garbage import tune_garbage_collection
    from crosswind.gateway.http.server import HttpServer, Server, serve_on, stop
    from crosswind.gateway.telemetry.losses import tell_lost_rows

    settings = gateway.settings
    control_plane = LazyApplication(partial(_make_control_plane, gateway))
    servers: list[Server] = [
        HttpServer(gateway.data_connections, gateway.data.serve),
        AsgiServer(gateway.control_connections, control_plane),
    ]
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, servers)
    loop.add_signal_handler(signal.SIGHUP, gateway.reload_in_background)
    loop.add_signal_handler(signal.SIGUSR1, gateway.shared.switch_noise_by_signal, False)
    loop.add_signal_handler(signal.SIGUSR2, gateway.shared.switch_noise_by_signal, True)
    gateway.start()
    control_plane.made.add_done_callback(lambda _: tune_garbage_collection())
    _announce(settings)
    lost = 0
    try:
        await asyncio.gather(serve_on(servers, (data, control)), control_plane.made)
    finally:
        lost = await gateway.close()
    return tell_lost_rows(lost)


def _make_control_plane(gateway: Gateway) -> Any:
    """Import and create the control plane after the data plane serves: its imports are the slowest."""
    from crosswind.gateway.control.application import create_control

    return create_control(gateway)


def _announce(settings: Settings) -> None:
    """Say where the gateway serves what, and to whom: as lines, or as one event where the log is JSON."""
    from crosswind.gateway.commands.listeners import describe_exposure
    from crosswind.gateway.noise.kill_switch import switch_file

    what = {
        "full": "requests, answers, token ids, events and rewards (credentials never)",
        "metadata": "who, when, how much and what was decided; no content",
        "none": "nothing of the traffic",
    }[settings.record.value]
    data = f"{_format_address(settings.host, settings.port)}/v1"
    control = _format_address(settings.control_host, settings.control_port)
    if settings.log.format == "json":
        import structlog

        upstreams = [base for upstream in settings.every_upstream for base in upstream.bases]
        structlog.get_logger("crosswind.gateway").info(
            "serving",
            data_plane=data,
            control_plane=control,
            upstreams=upstreams,
            profile=settings.profile,
            seed=settings.seed,
            record=settings.record.value,
            store=settings.store,
            body_secrets=settings.body_secrets,
            exposed=list(describe_exposure(settings)),
        )
        return
    file = switch_file(settings)
    off = file if file is not None and file.exists() else None
    lines = (
        f"data plane     {data}  ->  {_list_upstreams(settings)}",
        *([f"               for agents: {settings.public_url}/v1"] if settings.public_url else []),
        *(f"tools          {one}" for one in _list_tool_servers(settings)),
        f"control plane  {control}",
        *(f"open           {one}" for one in describe_exposure(settings)),
        f"noise          profile {settings.profile}, seed {settings.seed}",
        *([f"               OFF while {off} exists: PUT /api/noise or SIGUSR2 deletes it"] if off else []),
        f"recorded       {what}",
        f"               in {settings.store}, secrets in texts: {settings.body_secrets}",
    )
    with contextlib.suppress(OSError):  # A full disk under the log must not stop the service.
        for line in lines:
            click.echo(line, err=True)


def _format_address(host: str, port: int) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _list_tool_servers(settings: Settings) -> Iterator[str]:
    """The address that clients use for each server of tools, and the server's own."""
    root = f"{_format_address(settings.host, settings.port)}/s/SESSION"
    for route, servers in (("mcp", settings.tools.mcp), ("tools", settings.tools.apis)):
        for name, server in servers.items():
            yield f"{root}/{route}/{name}  ->  {server.url}"


def _list_upstreams(settings: Settings) -> str:
    return ", ".join(base for upstream in settings.every_upstream for base in upstream.bases)
