"""Servers and clients that misbehave: nothing hangs, no process is left, and the other side sees what it
would have seen without the relay."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.gateway.stdio.play import PATIENCE_S, answers, call, relayed

IDLE = "name: idle\nrules: [{operator: tool.timeout, severity: 1, when: {probability: 0}}]\n"


def server(code: str) -> list[str]:
    return [sys.executable, "-c", f"import sys, os, time, json\n{code}"]


def feed(command: Sequence[str], *messages: object, raw: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    lines = raw + b"".join(json.dumps(one).encode() + b"\n" for one in messages)
    return subprocess.run(command, input=lines, capture_output=True, timeout=PATIENCE_S, check=False)


@pytest.fixture
def idle(tmp_path: Path) -> list[str]:
    """The flags of noise that reads each call and never acts."""
    path = tmp_path / "idle.yaml"
    path.write_text(IDLE)
    return ["--profile", str(path)]


@pytest.mark.parametrize(
    "code",
    [
        "sys.stdin.readline(); sys.exit(7)",
        "sys.stdin.readline(); os.kill(os.getpid(), 11)",
        "print('hello, not JSON', flush=True)",
        "sys.stdout.buffer.write(b'\\xff\\x00garbage without an end'); sys.stdout.flush()",
        "sys.stdin.readline(); print('[1, {\"id\": 1}]', flush=True); print('{', flush=True)",
        "for line in sys.stdin: print(line, end=''); print(line, end='', flush=True)",
        "for line in sys.stdin: print(json.dumps({'jsonrpc': '2.0', 'id': 99, 'result': {}}), flush=True)",
        "for line in sys.stdin: print(json.dumps({'jsonrpc': '2.0', 'id': 1, 'result': 5}), flush=True)",
        "for n in range(200000): print(n)",
    ],
    ids=["dies", "crashes", "garbage", "no end", "batch", "echoes", "wrong id", "no result", "floods"],
)
def test_a_server_that_misbehaves_is_seen_as_it_is(code: str, idle: list[str]) -> None:
    asked = call(1, "x")
    direct, through = feed(server(code), asked), feed(relayed(server(code), *idle), asked)
    assert (through.stdout, through.returncode) == (direct.stdout, direct.returncode)


@pytest.mark.parametrize(
    "line", [b"garbage\n", b"[]\n", b'{"method": "tools/call"}\n', b'"tools/call"', b"\n"]
)
def test_what_a_client_says_wrong_reaches_the_server(line: bytes, idle: list[str]) -> None:
    echo = server("sys.stdout.buffer.write(sys.stdin.buffer.read())")
    assert feed(relayed(echo, *idle), raw=line).stdout == line


def test_a_line_of_100_megabytes_passes_both_ways(idle: list[str]) -> None:
    code = "for line in sys.stdin.buffer: sys.stdout.buffer.write(line.replace(b'method', b'result'))"
    big = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":"'
    big += b"x" * 100_000_000 + b'"}}}\n'
    assert feed(relayed(server(code), *idle), raw=big).stdout == big.replace(b"method", b"result")


def test_a_server_that_does_not_answer_can_be_left(idle: list[str]) -> None:
    code = "sys.stdin.read()"
    assert feed(relayed(server(code), *idle), call(1, "x")).returncode == 0


def test_a_command_that_is_not_there_is_named() -> None:
    done = feed([*relayed(["no-such-server"])])
    assert done.returncode != 0
    assert b"no-such-server" in done.stderr


def test_a_relay_without_a_profile_and_a_gateway_says_that_it_adds_no_noise() -> None:
    code = "sys.stdin.read()"
    assert b"no noise: give --profile or --control" in feed(relayed(server(code)), call(1, "x")).stderr
    assert feed(relayed(server(code), "--profile", "off"), call(1, "x")).stderr == b""


def test_a_profile_that_is_not_there_is_named_and_ends_the_server(tmp_path: Path) -> None:
    done = feed(relayed(server("time.sleep(600)"), "--profile", "chaos/flaky-tool"), call(1, "x"))
    assert done.returncode != 0
    assert b"chaos/flaky-tools" in done.stderr


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def wait_until_gone(pid: int) -> None:
    until = time.monotonic() + PATIENCE_S
    while alive(pid):
        assert time.monotonic() < until, f"process {pid} is still there"
        time.sleep(0.05)


STUBBORN = (
    "import signal, subprocess\n"
    "for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(one, signal.SIG_IGN)\n"
    "child = subprocess.Popen(['sleep', '600'])\n"
    "print(json.dumps([os.getpid(), child.pid]), flush=True)\n"
    "while True: time.sleep(1)"
)
"""Ignores that its input ends and that it is asked to end, and has a child."""


@pytest.mark.parametrize("how", ["leaves", "is terminated", "is killed", "group is killed"])
def test_no_process_outlives_the_relay(how: str) -> None:
    with subprocess.Popen(
        relayed(server(STUBBORN)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as relay:
        assert relay.stdin is not None
        assert relay.stdout is not None
        pids = json.loads(relay.stdout.readline())
        match how:
            case "leaves":
                relay.stdin.close()
                relay.stdout.close()
            case "is terminated":
                relay.terminate()
            case "is killed":
                relay.kill()
            case "group is killed":
                os.killpg(relay.pid, signal.SIGKILL)
        relay.wait(PATIENCE_S)
        for pid in pids:
            wait_until_gone(pid)


def test_a_call_that_is_given_up_gets_no_late_answer(tmp_path: Path) -> None:
    """The profile makes it hang; the client gives it up, and a later call is answered."""
    profile = tmp_path / "hang.yaml"
    profile.write_text(
        "name: h\nrules: [{operator: transport.hang, severity: 1, when: {first_call: true}}]\n"
    )
    code = (
        "for line in sys.stdin:\n"
        " one = json.loads(line)\n"
        " if 'id' in one: print(json.dumps({'jsonrpc': '2.0', 'id': one['id'], 'result': {}}), flush=True)"
    )
    given_up = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    done = feed(
        relayed(server(code), "--profile", str(profile)), call(1, "x"), given_up, call(2, "y"), call(3, "z")
    )
    assert sorted(answers(done.stdout)) == [2, 3]


def test_the_server_starts_before_all_that_only_noise_needs_is_imported() -> None:
    code = "import sys, crosswind.gateway.cli, crosswind.gateway.stdio.command; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "crosswind.gateway.stdio.relay" in loaded
    assert not loaded & {"importlib.metadata", "pydantic", "yaml", "http.client", "crosswind.injectors"}


def test_a_dry_run_changes_nothing_and_says_what_it_would_have_done(tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    code = (
        "for line in sys.stdin: print(json.dumps({'jsonrpc': '2.0', 'id': json.loads(line)['id'],"
        " 'result': {'content': [{'type': 'text', 'text': 'placed'}]}}), flush=True)"
    )
    flags = ("--profile", "robustbench-tc/5xxErr", "--events", str(events), "--dry-run")
    asked = call(1, "place_order")
    done = feed(relayed(server(code), *flags), asked)
    assert done.stdout == feed(server(code), asked).stdout
    table = [row.split() for row in done.stderr.decode().splitlines()]
    assert ["place_order", "destructive", "1", "tool.server_error", "1"] in table, done.stderr
    said = [json.loads(line) for line in events.read_text().splitlines()]
    assert said[0]["note"].startswith("Dry run")
    assert "after" not in said[0]
    assert events.stat().st_mode & 0o077 == 0


TOKEN, KEY = "correct horse battery staple", "ghp_r8Kq2ZxW7vBn4TmYc1LsHd9PfJ3gUa6EoQ5i"


def test_no_secret_of_a_call_is_in_the_file_of_events(tmp_path: Path) -> None:
    """Keys in arguments and results, and a server's token, which has no shape that tells of it."""
    events, profile = tmp_path / "events.jsonl", tmp_path / "noisy.yaml"
    profile.write_text("name: noisy\nrules: [{operator: tool.redundant, severity: 1}]\n")
    code = """
for line in sys.stdin:
    one = json.loads(line)
    told = json.dumps({"key": one["params"]["arguments"]["key"], "session": os.environ["SHOP_TOKEN"]})
    result = {"content": [{"type": "text", "text": told}]}
    print(json.dumps({"jsonrpc": "2.0", "id": one["id"], "result": result}), flush=True)
"""
    asked = [call(number, "login", key=KEY) for number in (1, 2)]
    said = subprocess.run(
        relayed(server(code), "--profile", str(profile), "--events", str(events)),
        input=b"".join(json.dumps(one).encode() + b"\n" for one in asked),
        capture_output=True,
        timeout=PATIENCE_S,
        check=True,
        env={**os.environ, "SHOP_TOKEN": TOKEN},
    ).stdout.decode()
    assert KEY in said and TOKEN in said, "the client gets what it asked for"
    written = events.read_text()
    assert "tool.redundant" in written and "redacted" in written
    assert KEY not in written and TOKEN not in written
