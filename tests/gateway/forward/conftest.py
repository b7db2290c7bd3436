"""A real mitmproxy between real clients and a real API, plain and over TLS."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from crosswind.gateway.forward.environment import MITMPROXY
from crosswind.locked_environment import NotInstalled
from tests.gateway.forward.api import Api
from tests.serving import serve_in_thread

RUN = [sys.executable, "-c", "from crosswind.gateway.cli import main; main()", "http"]


@pytest.fixture(scope="session", autouse=True)
def mitmproxy() -> None:
    try:
        MITMPROXY.install()
    except NotInstalled as error:
        if error.unreached:
            pytest.skip(str(error))
        raise


@dataclass(frozen=True)
class Served:
    api: Api
    url: str
    secure_url: str
    certificate: Path


@pytest.fixture(scope="session")
def served_api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("tls")
    if shutil.which("openssl") is None:
        pytest.skip("makes a certificate with openssl")
    certificate, key = folder / "cert.pem", folder / "key.pem"
    # fmt: off
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
         "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )
    # fmt: on
    api = Api()
    plain = uvicorn.Server(uvicorn.Config(api, log_level="error"))
    secure = uvicorn.Server(
        uvicorn.Config(api, log_level="error", ssl_certfile=str(certificate), ssl_keyfile=str(key))
    )
    with serve_in_thread(plain) as url, serve_in_thread(secure) as other:
        yield Served(api, url, other.replace("http://127.0.0.1", "https://localhost"), certificate)


@pytest.fixture
def api(served_api: Served) -> Served:
    served_api.api.orders.clear()
    served_api.api.seen.clear()
    return served_api


def write_profile(folder: Path, *rules: dict[str, Any], **settings: Any) -> Path:
    """A profile with these rules, which always act."""
    path = folder / "profile.yaml"
    defaults = {"name": "ours", "version": 1, "summary": "For tests.", "compose": "all_of"}
    path.write_text(json.dumps({**defaults, **settings, "rules": list(rules)}, indent=1))
    return path


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


@dataclass(frozen=True)
class Proxy:
    url: str
    authority: Path
    reverse: str
    said: Callable[[], str]
    """Ends the proxy; what it said."""
    events: Path

    def read_events(self) -> list[dict[str, Any]]:
        """All events of the proxy, which ends: an event may be written after its call's last byte."""
        self.said()
        return [json.loads(line) for line in self.events.read_text().splitlines()]


@pytest.fixture
def serve(tmp_path: Path, api: Served) -> Iterator[Callable[..., Proxy]]:
    """Starts `crosswind http serve` with these options."""
    with contextlib.ExitStack() as stack:

        def start(*options: object) -> Proxy:
            events, authority = tmp_path / "events.jsonl", tmp_path / "authority"
            command = [*RUN, "serve", "--listen", "127.0.0.1:0", "--reverse", f"{_free_port()}={api.url}"]
            command += ["--events", str(events), "--authority", str(authority), *map(str, options)]
            process = subprocess.Popen(
                command,
                stderr=subprocess.PIPE,
                text=True,
                env=os.environ | {"SSL_CERT_FILE": str(api.certificate)},
            )

            said: list[str] = []

            def end() -> str:
                process.terminate()
                if not said:
                    said.append(process.communicate()[1])
                return said[0]

            stack.callback(end)
            assert process.stderr is not None
            line = process.stderr.readline()
            ports = re.findall(r"127\.0\.0\.1:(\d+)", line)
            assert len(ports) == 2, line + end()
            own = authority / "mitmproxy-ca-cert.pem"
            return Proxy(
                f"http://s1:x@127.0.0.1:{ports[0]}", own, f"http://127.0.0.1:{ports[1]}", end, events
            )

        yield start


@pytest.fixture
def run_command(tmp_path: Path, api: Served) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs `crosswind http run` with these options and this command."""

    def run(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = (
            os.environ | {"SSL_CERT_FILE": str(api.certificate), "TMPDIR": str(tmp_path)} | variables
        )
        return subprocess.run(
            [*RUN, "run", *map(str, arguments)],
            check=False,
            capture_output=True,
            text=True,
            env=environment,
            cwd=tmp_path,
        )

    return run
