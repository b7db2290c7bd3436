"""`crosswind http run`: the clients of a command, its end, and what is said of its traffic."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.gateway.forward.conftest import RUN, Served, write_profile
from tests.gateway.forward.programs import CLIENTS, find_client

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize("name", CLIENTS)
def test_clients_come_through_and_trust_the_proxy(
    name: str, run_command: Run, api: Served, tmp_path: Path
) -> None:
    command = find_client(name)
    profile = write_profile(tmp_path, {"operator": "tool.timeout", "severity": 1.0})
    ended = run_command("--no-canary", "--profile", profile, "--", *command, f"{api.secure_url}/items")
    assert ended.stdout.split() == ["504", "200"], ended.stderr
    assert "2 requests came through" in ended.stderr
    assert [path for _, path, _, _ in api.api.seen] == ["/items"]


def test_the_exit_status_is_the_commands_and_nothing_is_left(
    run_command: Run, api: Served, tmp_path: Path
) -> None:
    script = "import os, pathlib, sys; print(os.environ['SSL_CERT_FILE']); sys.exit(7)"
    ended = run_command("--no-canary", "--", sys.executable, "-c", script)
    assert ended.returncode == 7
    assert "no request of" in ended.stderr and "came through the proxy" in ended.stderr
    bundle = Path(ended.stdout.strip())
    assert bundle.parent.parent == tmp_path and not bundle.parent.exists()
    killed = run_command("--no-canary", "--", sys.executable, "-c", "import os; os.kill(os.getpid(), 9)")
    assert killed.returncode == 137


def test_the_authority_is_for_its_owner_only(run_command: Run) -> None:
    script = (
        "import os, pathlib; folder = pathlib.Path(os.environ['SSL_CERT_FILE']).parent;"
        "print(oct(folder.stat().st_mode & 0o777),"
        "oct((folder / 'authority' / 'mitmproxy-ca.pem').stat().st_mode & 0o777))"
    )
    assert run_command("--no-canary", "--", sys.executable, "-c", script).stdout.split() == ["0o700", "0o600"]


def test_the_command_does_not_get_the_key(run_command: Run) -> None:
    script = (
        "import os, pathlib; folder = pathlib.Path(os.environ['SSL_CERT_FILE']).parent;"
        "held = [path for path in folder.rglob('*') if path.is_file() and b'the-key' in path.read_bytes()];"
        "print(os.environ.get('CROSSWIND_CONTROL_KEY'), held)"
    )
    flags = ("--no-canary", "--control", "http://127.0.0.1:9", "--wait", "0")
    ended = run_command(*flags, "--", sys.executable, "-c", script, CROSSWIND_CONTROL_KEY="the-key")
    assert ended.stdout.strip() == "None []", ended.stderr


def test_canaries_tell_what_bypasses_the_proxy(run_command: Run, api: Served) -> None:
    ended = run_command("--", sys.executable, "-c", "pass", HTTP_PROXY="http://127.0.0.1:9")
    assert "HTTP_PROXY is not used: the proxy connects to APIs itself" in ended.stderr
    assert "aiohttp bypasses the proxy: make its sessions with ClientSession(trust_env=True)" in ended.stderr
    assert "traffic of these never comes through: aiohttp\n" in ended.stderr
    assert "no request of" in ended.stderr


def test_a_host_that_no_rule_is_for_is_passed_on_unopened(
    run_command: Run, api: Served, tmp_path: Path
) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules:\n- {tool: order, method: POST, path: /orders, host: api.example.com}\n")
    script = (
        f"import ssl, httpx; trust = ssl.create_default_context(cafile={str(api.certificate)!r});"
        f"print(httpx.get('{api.secure_url}/a', verify=trust).status_code)"
    )
    ended = run_command("--no-canary", "--rules", rules, "--", sys.executable, "-c", script)
    assert ended.stdout == "200\n", ended.stderr
    assert "1 connection was passed on unopened, since no rule is for it" in ended.stderr


def test_a_signal_reaches_the_command_and_a_kill_leaves_no_process(api: Served, tmp_path: Path) -> None:
    script = (
        "import os, pathlib, signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(3));"
        "pathlib.Path('pids').write_text(f'{os.getpid()}'); print('up', flush=True); time.sleep(600)"
    )
    command = [*RUN, "run", "--no-canary", "--", sys.executable, "-c", script]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    for number, status in ((signal.SIGTERM, 3), (signal.SIGKILL, -9)):
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=tmp_path, env=environment) as process:
            assert process.stdout is not None and process.stdout.readline() == b"up\n"
            children = _descendants(process.pid)
            assert len(children) >= 2
            process.send_signal(number)
            assert process.wait(60) == status
        deadline = time.monotonic() + 60
        while (left := [pid for pid in children if _runs(pid)]) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not left
        assert not list(tmp_path.glob("crosswind-http-*"))


def _descendants(pid: int) -> list[int]:
    pairs = [(int(one.parent.name), _parent(one)) for one in Path("/proc").glob("[0-9]*/stat")]
    found = [pid]
    for _ in range(5):
        found += [child for child, parent in pairs if parent in found and child not in found]
    return found[1:]


def _parent(stat: Path) -> int:
    try:
        return int(stat.read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--profile", "no-such-profile", "--", "true"], "no-such-profile"),
        (["--rules", "absent.yaml", "--", "true"], "absent.yaml: No such file or directory"),
        (["--", "no-such-command"], "no-such-command: No such file or directory"),
    ],
)
def test_bad_input_is_one_line(run_command: Run, arguments: list[str], said: str) -> None:
    ended = run_command("--no-canary", *arguments)
    assert ended.returncode == 2
    assert said in ended.stderr and "Traceback" not in ended.stderr
