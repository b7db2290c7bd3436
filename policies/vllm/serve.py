"""Serving a policy with vLLM: every server has a replica here that is tended until we are told to stop."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from threading import Event, Lock, Thread
from urllib.parse import urlsplit

from crosswind.policies.engine import root_of
from crosswind.policies.server import ATTACHED_WITHIN_S, STARTED_WITHIN_S, ServeError, ServeRequest
from crosswind.policies.signals import stop_on_signals
from crosswind.policies.vllm.capture_guard import CaptureGuard
from crosswind.policies.vllm.environment import NotInstalled, find
from crosswind.policies.vllm.launch import Launch, free_port
from crosswind.policies.vllm.replica import LOOK_EVERY_S, AttachedServer, OwnServer, Say, SupervisedServer
from crosswind.policies.vllm_inside.crosswind_inside.header import Refused, read_header

_ENDS_WITHIN_S = 5.0
"""How long to wait for a check of a server that hangs, once we are told to stop."""
_OTHER_WEIGHTS = ("*.bin", "*.pt", "*.gguf")
"""Formats that vLLM reads too, whose completeness isn't seen at a glance."""


def serve(request: ServeRequest, say: Say) -> None:
    """Serve until SIGTERM or SIGINT. Raises ServeError."""
    stop = stop_on_signals()
    with ExitStack() as stack:
        guard = None
        if request.control is not None:
            guard = stack.enter_context(closing(CaptureGuard(request.control, request.tolerance, say)))
        if request.attach:
            _refuse_no_urls(request.attach)
            turn, within_s = Lock(), request.start_within or ATTACHED_WITHIN_S
            replicas: list[SupervisedServer] = [
                AttachedServer(root_of(url), say, guard, within_s, request.directory, turn)
                for url in request.attach
            ]
            _refuse_own(request)
        else:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="crosswind-vllm-")))
            launch = _launch(request, folder)
            own = OwnServer(launch.url, say, guard, request.start_within or STARTED_WITHIN_S, launch)
            stack.callback(own.end)
            replicas = [own]
        _watch(replicas, stop)


def _watch(replicas: Sequence[SupervisedServer], stop: Event) -> None:
    """Start all servers and look after them until `stop` is set, each on a thread of its own:
    one that hangs, or isn't up yet, keeps nobody from the others.

    Raises the ServeError of the first that can't be recovered.
    """
    failures: list[Exception] = []

    def live(replica: SupervisedServer) -> None:
        try:
            replica.begin(stop)
            while not stop.wait(LOOK_EVERY_S):
                replica.check(stop)
        except Exception as error:
            failures.append(error)
            stop.set()

    threads = [Thread(target=live, args=(replica,), daemon=True) for replica in replicas]
    for thread in threads:
        thread.start()
    stop.wait()
    for thread in threads:
        thread.join(_ENDS_WITHIN_S)
    if failures:
        raise failures[0]


def _launch(request: ServeRequest, folder: Path) -> Launch:
    if not (request.directory / "config.json").is_file():
        raise ServeError(f"{request.directory}: no config.json; name a policy directory")
    if not any(argument.startswith("--load-format") for argument in request.arguments):
        _check_weights(request.directory)
    try:
        environment = find()
    except NotInstalled as error:
        raise ServeError(str(error)) from None
    log = request.log or Path(tempfile.mkstemp(prefix="crosswind-vllm-", suffix=".log")[1])
    return Launch(
        environment=environment,
        model=request.directory,
        host=request.host,
        port=request.port or free_port(request.host),
        seed=request.seed,
        rows=request.rows,
        log=log,
        state=folder / "served.json",
        arguments=request.arguments,
    )


def _check_weights(directory: Path) -> None:
    """Raise ServeError where there are none, or a file of them is cut off: vLLM says so after half a minute,
    and in the words of whatever reads it.
    """
    files = sorted(directory.glob("*.safetensors"))
    if not files and not any(found for kind in _OTHER_WEIGHTS for found in directory.glob(kind)):
        raise ServeError(f"{directory}: no weights (*.safetensors); give a complete directory")
    try:
        for file in files:
            read_header(file)
    except Refused as error:
        raise ServeError(str(error)) from None


def _refuse_own(request: ServeRequest) -> None:
    if request.arguments or request.log:
        raise ServeError("--attach: the server is started elsewhere; give it its arguments and log there")


def _refuse_no_urls(attach: tuple[str, ...]) -> None:
    """What can't be a server's URL would be waited for as if it were one that isn't up yet."""
    for url in attach:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ServeError(f"--attach {url}: it is no server's URL; give it as http://host:port")
