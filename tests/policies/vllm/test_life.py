"""A vLLM server's life: what keeps it from starting, what it costs, and how it comes back."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import socket
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner, Result

from crosswind.policies.commands.policy import policy
from crosswind.policies.versions.version import PRETRAINED
from crosswind.policies.vllm.diagnosis import diagnose
from crosswind.policies.vllm.health import find_sampling_problems
from tests.gateway.servers import gateway
from tests.policies.asking import ask, chat, sampled
from tests.policies.scripted import answering
from tests.policies.vllm.reference import TOLERANCE, furthest, logprobs
from tests.vllm_server import VllmServed, supervised


def _serve(*arguments: str) -> Result:
    return CliRunner().invoke(policy, ["serve", *arguments])


@pytest.mark.vllm
def test_the_server_says_what_it_costs(vllm: VllmServed) -> None:
    cost = next(line for line in vllm.lines.said if line.startswith("vLLM "))
    found = re.fullmatch(
        r"vLLM 0\.32\.\d+ \((?:cpu|cuda), process group \d+\): up after \d+ s, "
        r"(\d+\.\d) GiB resident in (\d+) processes; log: (\S+)",
        cost,
    )
    assert found and 0.5 < float(found[1]) < 8 and int(found[2]) >= 3 and Path(found[3]).is_file()


@pytest.mark.vllm
async def test_a_killed_engine_comes_back_with_the_last_good_version(
    vllm: VllmServed, tmp_path: Path
) -> None:
    """And a gateway is told that nothing trains until what came back is confirmed."""
    moved = vllm.registry.get("moved-2")
    vllm.engine.publish(moved)
    groups = re.findall(r"process group (\d+)", " ".join(vllm.lines.said))
    async with gateway(tmp_path, vllm.url) as running:
        vllm.way.to = int(running.control.rpartition(":")[2])
        vllm.way.up()
        os.kill(_engine_of(int(groups[-1])), signal.SIGKILL)
        await asyncio.to_thread(vllm.lines.until, r"^capture for training is stopped: ")
        stopped = (await running.api("GET", "/api/versions")).json()["capture_stopped"]
        assert stopped.startswith("version 'moved-2': ")
        await asyncio.to_thread(vllm.lines.until, r"restarting moved-2 in \d+ s")
        await asyncio.to_thread(vllm.lines.until, r"^serving moved-2 at \S+ again")
        await asyncio.to_thread(vllm.lines.until, r"^moved-2 is confirmed at ")
        assert (await running.api("GET", "/api/versions")).json()["capture_stopped"] is None
        vllm.way.down()
    health = vllm.engine.health()
    assert (health.version, health.step, health.swaps) == ("moved-2", 2, 0)
    read = sampled(ask(vllm.url, chat("Where is order #W1234?", max_tokens=12)))
    assert read.versions == ["moved-2"]
    assert furthest(read.logprobs, logprobs(moved.path, read.prompt, read.tokens)) < TOLERANCE


def _engine_of(group: int) -> int:
    """The process of that group that computes."""
    for path in Path("/proc").iterdir():
        if not path.name.isdigit() or os.getpgid(int(path.name)) != group:
            continue
        if (path / "cmdline").read_bytes().startswith(b"VLLM::Worker"):
            return int(path.name)
    raise AssertionError(f"no worker in process group {group}")


@pytest.mark.vllm
def test_a_running_server_is_attached_to_and_left_alone(vllm: VllmServed) -> None:
    path = str(vllm.registry.get("moved-1").path)
    with supervised(path, "--attach", f"{vllm.url}/v1") as lines:
        lines.until(rf"^attached to {re.escape(vllm.url)}: vLLM 0\.32")
        lines.until(rf"^serving moved-1 at {re.escape(vllm.url)}/v1")
        assert vllm.engine.health().version == "moved-1"
    assert lines.process.returncode == 0
    assert httpx.get(f"{vllm.url}/health", trust_env=False).status_code == 200


@pytest.mark.vllm
def test_a_port_that_is_taken(vllm: VllmServed) -> None:
    port = vllm.url.rpartition(":")[2]
    result = _serve("retail", "--port", port)
    assert result.exit_code == 2
    assert f"--port {port}: Address already in use; choose another port" in result.output


def test_a_missing_environment_or_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CROSSWIND_VLLM_ENV", str(tmp_path / "none"))
    result = _serve("retail")
    assert (result.exit_code, result.output) == (
        2,
        f"crosswind: no vLLM in {tmp_path / 'none'}: run `make vllm`\n",
    )
    assert "--engine nothing: the kinds are embedded, vllm" in _serve("retail", "--engine", "nothing").output
    for option in ("--attach", "--control"):
        assert f"{option}: the embedded engine" in _serve("retail", "--embedded", option, "http://x").output


def test_a_missing_or_partial_checkpoint(tmp_path: Path) -> None:
    """Said before vLLM is started."""
    directory = tmp_path / "policy"
    shutil.copytree(PRETRAINED / "retail", directory)
    weights = directory / "model.safetensors"
    whole = weights.read_bytes()
    for left, reason in (
        (whole[:-5000], rf"model.safetensors: has {len(whole) - 5000} bytes, must have {len(whole)}"),
        (whole[:50], "can't be read as safetensors; write the version again"),
        (None, r"no weights \(\*.safetensors\); give a complete directory"),
    ):
        weights.unlink()
        if left is not None:
            weights.write_bytes(left)
        result = _serve(str(directory))
        assert result.exit_code == 2 and result.output.count("\n") == 1
        assert re.search(reason, result.output), result.output
        weights.touch()


ALIVE: dict[str, Any] = {"/health": {}, "/v1/models": {"data": [{"id": "m"}]}}
CHOICE = {"token_ids": [1], "prompt_token_ids": [0], "logprobs": {"token_logprobs": [-1.0]}}


@pytest.mark.parametrize(
    ("answers", "reason", "code"),
    [
        (ALIVE, "it isn't a vLLM server", 2),
        (ALIVE | {"/version": {"version": "0.8.4"}}, r"vLLM 0\.8\.4 isn't supported", 2),
        (
            ALIVE
            | {
                "/version": {"version": "0.32.0"},
                "/v1/completions": {"choices": [CHOICE | {"token_ids": None}]},
            },
            "answers without token ids",
            1,
        ),
        (
            ALIVE
            | {
                "/version": {"version": "0.32.0"},
                "/v1/completions": {"choices": [CHOICE | {"logprobs": None}]},
            },
            "answers without log-probabilities",
            1,
        ),
    ],
)
def test_servers_that_cant_be_attached_to(answers: dict[str, Any], reason: str, code: int) -> None:
    with answering(answers) as url:
        result = _serve(str(PRETRAINED / "retail"), "--attach", url)
    assert result.exit_code == code
    assert re.search(reason, result.output) and result.output.count("\n") == 1


def test_log_probabilities_from_before_the_cuts_are_named() -> None:
    """As vLLM gives them where it isn't told otherwise: the only token left isn't certain."""
    choice = {"logprobs": {"top_logprobs": [{"a": -1.0, "b": -2.0}]}}
    with answering(ALIVE | {"/v1/completions": {"choices": [choice]}}) as url:
        (trouble,) = find_sampling_problems(url)
    assert "before temperature and cuts" in trouble and "--logprobs-mode processed_logprobs" in trouble


def test_a_server_that_isnt_there_yet_is_waited_for_and_that_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    with supervised("retail", "--attach", url) as lines:
        lines.until(rf"^waiting up to 120 s for {re.escape(url)} to answer$")
    assert lines.process.returncode == 0


def test_a_url_without_a_server_is_not_attached_to() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    result = _serve("retail", "--attach", f"http://127.0.0.1:{port}", "--", "--dtype", "float32")
    assert result.exit_code == 2 and "--attach: the server is started elsewhere" in result.output


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            "ValueError: No available memory for the cache blocks. Try increasing ...",
            "no room for the KV cache",
        ),
        (
            "RuntimeError: Worker failed with error 'Available memory on node 0 (16.96/20.09 GiB) on kv "
            "cache allocation is less than requested memory for kv (500.0 GiB). Decrease ...'",
            "less memory is free than it is to take; lower VLLM_CPU_KVCACHE_SPACE",
        ),
        (
            "ValueError: Free memory on device cuda:0 (1.2/79.1 GiB) on startup is less than desired GPU "
            "memory utilization (0.9, 71.2 GiB).",
            "less memory is free than it is to take",
        ),
        (
            "ValueError: the cause\nRuntimeError: Engine core initialization failed. See root cause above. "
            "Failed core proc(s): {}",
            "ValueError: the cause",
        ),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "out of memory"),
        (
            "RuntimeError: [enforce fail] DefaultCPUAllocator: can't allocate memory: you tried",
            "out of memory",
        ),
        ("OSError: [Errno 98] Address already in use", "the port was taken"),
        (
            "ValueError: Model architectures ['X'] are not supported for now.",
            "doesn't know the model's architecture",
        ),
        (
            "pydantic_core.ValidationError: 1 validation error for ModelConfig\n  Value error, Given "
            "max_model_len (9) is greater than the derived (1.0). To allow ... [type=value_error, x]",
            "it refuses its settings: Given max_model_len (9) is greater than the derived (1.0) (",
        ),
        ("api_server.py: error: unrecognized arguments: --nonsense", "these arguments: --nonsense"),
        ("ValueError: something else went wrong", "ValueError: something else went wrong"),
    ],
)
def test_the_log_of_a_server_that_ended_becomes_one_line(tmp_path: Path, said: str, words: str) -> None:
    log = tmp_path / "log"
    log.write_text(f"INFO starting\n{said}\nINFO bye\n")
    told = diagnose(log, 1)
    assert words in told and str(log) in told and "\n" not in told
    assert "killed: out of memory" in diagnose(tmp_path / "none", -9)
