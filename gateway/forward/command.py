"""`crosswind http`: HTTP tools behind a forward proxy, with noise on their calls."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crosswind.gateway.counts import count
from crosswind.gateway.errors import ConfigurationError
from crosswind.injectors.cli.packs_option import packs_folder_option

if TYPE_CHECKING:
    from crosswind.gateway.forward.settings import ProxySettings, Tally

DEFAULT_SESSION = "session"


@click.group(
    short_help="Put noise on HTTP tools, by a forward proxy.",
    epilog="""\b
Examples:
  crosswind http run --profile chaos/flaky-tools -- python agent.py
  crosswind http serve --profile chaos/flaky-tools --openapi orders.yaml
""",
)
def http() -> None:
    """Put noise between clients and the HTTP APIs that are their tools, by a forward proxy (mitmproxy).

    Where a client's base URL can be set, the gateway's own route needs no certificates and no proxy.
    """


_OPTIONS = (
    click.option(
        "--profile",
        default="off",
        show_default=True,
        help="A profile's name, or a YAML file. With --control, one that the gateway has.",
    ),
    click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seeds the noise."),
    click.option("--session", help="The session's name; what its draws are seeded with, too."),
    click.option(
        "--control",
        envvar="CROSSWIND_CONTROL_URL",
        metavar="URL",
        help="The control plane of the session's gateway.",
    ),
    click.option(
        "--key", envvar="CROSSWIND_CONTROL_KEY", help="A key of the control plane, of the role `operate`."
    ),
    click.option(
        "--wait",
        type=click.FloatRange(min=0),
        default=10.0,
        show_default=True,
        metavar="SECONDS",
        help="How long calls wait for a gateway that doesn't answer; then they go on without noise.",
    ),
    click.option(
        "--rules",
        type=click.Path(dir_okay=False, path_type=Path),
        help="A file with rules that say which requests are calls of tools.",
    ),
    click.option(
        "--openapi",
        type=click.Path(dir_okay=False, path_type=Path),
        help="An OpenAPI document: each operation is a tool, on the document's servers.",
    ),
    click.option(
        "--events", type=click.Path(dir_okay=False, path_type=Path), help="Append events to this file."
    ),
    click.option("--tools-read-only", multiple=True, metavar="GLOB", help="Tools that only read."),
    click.option(
        "--may-repeat",
        multiple=True,
        metavar="GLOB",
        help="Tools whose calls may be delivered twice, and cut after they were carried out.",
    ),
    packs_folder_option,
    click.option("--dry-run", is_flag=True, help="Change nothing; events say what would have been done."),
    click.option(
        "--ready-within",
        type=click.FloatRange(min=1),
        default=60.0,
        show_default=True,
        help="Seconds that mitmproxy may take to start.",
    ),
)
"""Of both commands."""


def _with_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@http.command(
    short_help="Run a command whose HTTP traffic goes through the proxy.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="""\b
Examples:
  crosswind http run --profile chaos/flaky-tools -- python agent.py
  crosswind http run --profile mine.yaml --openapi orders.yaml --events events.jsonl -- node agent.mjs
""",
)
@_with_options
@click.option("--canary/--no-canary", default=True, help="Try which HTTP stacks go through the proxy.")
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND [ARGUMENT]...")
def run(command: tuple[str, ...], canary: bool, **flags: Any) -> None:
    """Run a command with the variables that let its HTTP clients use a proxy of its own and trust it. Ends
    with the command's exit status.

    Without --rules and --openapi, every request is a call of a tool that is named after its address, unless
    it is one to a model. What is no call is streamed untouched. The proxy's certificate authority is made for
    this run and removed after it.
    """
    from crosswind.gateway.forward.canary import Canaries
    from crosswind.gateway.forward.client_environment import client_environment, find_proxy
    from crosswind.gateway.forward.client_process import run_client
    from crosswind.gateway.forward.proxy import MitmProxy, run_folder

    within = flags.pop("ready_within")
    make = _read_flags(**flags)
    python = _install()
    if other := find_proxy(os.environ):
        _say(f"{other} is not used: the proxy connects to APIs itself")
    with run_folder() as folder:
        proxy = MitmProxy(
            python,
            folder,
            lambda *pipes: make(folder, pipes),
            ["regular@127.0.0.1:0"],
            ready_within_s=within,
        )
        with proxy:
            variables = client_environment(os.environ, f"http://127.0.0.1:{proxy.ports[0]}", folder)
            variables["CROSSWIND_SESSION"] = proxy.session
            canaries = Canaries(proxy, command[0], variables, _say)
            if canary:
                canaries.start()
            try:
                status = run_client(command, variables)
                if not proxy.used:
                    canaries.join()  # They tell why.
            except OSError as error:
                raise ConfigurationError(
                    f"{command[0]}: {error.strerror}; give the client's command behind `--`"
                ) from error
            finally:
                canaries.stop()
        _report(proxy.tally, command[0], canaries.past)
    sys.exit(status)


@http.command(
    short_help="Serve the proxy, for clients that are started elsewhere.",
    epilog="""\b
Examples:
  crosswind http serve --profile chaos/flaky-tools --listen 127.0.0.1:8899
  curl --proxy http://SESSION:x@127.0.0.1:8899 --cacert ~/.crosswind/ca.pem https://api.example.com/orders
  crosswind http serve --reverse 8901=https://api.example.com --profile mine.yaml
""",
)
@_with_options
@click.option("--listen", default="127.0.0.1:8899", show_default=True, help="The forward proxy's address.")
@click.option(
    "--reverse",
    multiple=True,
    metavar="PORT=URL",
    help="Also serve this API at this port. The session comes by the header X-Crosswind-Session.",
)
@click.option(
    "--authority",
    type=click.Path(file_okay=False, path_type=Path),
    help="A folder that keeps the certificate authority; by default it is made for this run.",
)
def serve(listen: str, reverse: tuple[str, ...], authority: Path | None, **flags: Any) -> None:
    """Serve a forward proxy. The user of a client's proxy credentials names its session; without it the proxy
    answers 407. SIGTERM ends it.
    """
    import signal

    from crosswind.gateway.config.settings import is_loopback
    from crosswind.gateway.forward.proxy import MitmProxy, run_folder

    host, _, port = listen.rpartition(":")
    if not port.isdecimal() or not host:
        raise ConfigurationError(f"--listen {listen}: give HOST:PORT, such as 127.0.0.1:8899")
    modes = [f"regular@{host}:{port}", *(_reverse_mode(host, one) for one in reverse)]
    if not is_loopback(host.strip("[]")):
        _say(
            f"other machines can reach the proxy on {host}, and what this machine reaches: it asks for no key"
        )
    within = flags.pop("ready_within")
    make = _read_flags(**flags, require_session=True)
    python = _install()
    with run_folder(authority) as folder:
        proxy = MitmProxy(python, folder, lambda *pipes: make(folder, pipes), modes, ready_within_s=within)
        with proxy:
            certificate = (authority or folder / "authority") / "mitmproxy-ca-cert.pem"
            _say(f"listening on {', '.join(f'{host}:{one}' for one in proxy.ports)}; trust {certificate}")
            # Both end it; mitmproxy itself isn't in the terminal's group.
            signal.signal(signal.SIGTERM, signal.default_int_handler)
            try:
                status = proxy.wait()
            except KeyboardInterrupt:
                status = 0
        _report(proxy.tally, None, [])
    sys.exit(status)


def _reverse_mode(host: str, given: str) -> str:
    port, found, url = given.partition("=")
    if not found or not port.isdecimal() or not url.startswith(("http://", "https://")):
        raise ConfigurationError(f"--reverse {given}: give PORT=URL, such as 8901=https://api.example.com")
    return f"reverse:{url}@{host}:{port}"


def _read_flags(
    *,
    profile: str,
    seed: int,
    session: str | None,
    control: str | None,
    key: str | None,
    wait: float,
    rules: Path | None,
    openapi: Path | None,
    events: Path | None,
    tools_read_only: tuple[str, ...],
    may_repeat: tuple[str, ...],
    packs: Path | None,
    dry_run: bool,
    require_session: bool = False,
) -> Callable[[Path, tuple[int, ...]], ProxySettings]:
    """Check what the flags say, before anything is started."""
    from crosswind.gateway.forward.settings import ProxySettings, read_openapi_file, read_rule_file

    path = Path(profile)
    if control is None and (path.suffix in (".yaml", ".yml") or path.is_file()):
        try:
            profile = path.read_text(encoding="utf-8") + "\n"
        except OSError as error:
            raise ConfigurationError(f"{profile}: {error.strerror}: name a file that can be read") from error
    name = session or (DEFAULT_SESSION if control is None else f"http-{secrets.token_hex(8)}")
    ruled = () if rules is None else read_rule_file(rules)
    document = None if openapi is None else read_openapi_file(openapi)

    def make(folder: Path, pipes: tuple[int, ...]) -> ProxySettings:
        return ProxySettings(
            folder=str(folder),
            status_fd=pipes[0],
            lifeline_fd=pipes[1],
            session=name,
            control=control,
            key=key,
            patience_s=wait,
            profile=profile,
            packs=None if packs is None else str(packs.absolute()),
            seed=seed,
            rules=ruled,
            openapi=document,
            events=None if events is None else str(events.absolute()),
            may_repeat=may_repeat,
            read_only=tools_read_only,
            dry_run=dry_run,
            require_session=require_session,
        )

    checked = make(Path(), (0, 0))
    try:
        checked.read_rules()
        if control is None:
            checked.make_plan(checked.read_profile(), name)
    except ValueError as error:
        raise ConfigurationError(str(error)) from error
    return make


def _install() -> Path:
    from crosswind.gateway.forward.environment import MITMPROXY
    from crosswind.locked_environment import NotInstalled

    try:
        return MITMPROXY.install(_say)
    except NotInstalled as error:
        raise ConfigurationError(str(error)) from error


def _report(tally: Tally | None, command: str | None, past: list[str]) -> None:
    """Say what came through, and what didn't."""
    if tally is None:
        return _say("what came through isn't known: mitmproxy didn't say it at its end")
    requests, calls = sum(tally.requests.values()), sum(tally.calls.values())
    if not requests and command is not None:
        unopened = ", except connections that were not opened" if tally.unopened else ""
        _say(f"no request of {command} came through the proxy{unopened}")
    else:
        clients = ", ".join(f"{client} {number}" for client, number in sorted(tally.requests.items()))
        by = f" ({clients})" if clients else ""
        _say(
            f"{count(requests, 'request')} came through{by}: {count(calls, 'call')} of tools, "
            f"{tally.noisy} with noise"
        )
    for host, times in sorted(tally.distrusted.items()):
        refused = f"{host}: a client refused the proxy's certificate {count(times, 'time')}"
        _say(f"{refused}; it is passed on unopened since")
    for host, passed in sorted(tally.unopened.items()):
        if host not in tally.distrusted:
            passed_on = count(passed, "connection was", "connections were")
            _say(f"{host}: {passed_on} passed on unopened, since no rule is for it")
    if tally.failures:
        _say(f"the noise failed {count(tally.failures, 'time')}; what it was about was passed on as it was")
    if tally.would is not None and (table := tally.would.write()):
        _say(f"a dry run, nothing was done\n{table}")
    if past:
        _say(f"traffic of these never comes through: {', '.join(sorted(past))}")


def _say(text: str) -> None:
    print(f"crosswind http: {text}", file=sys.stderr, flush=True)
