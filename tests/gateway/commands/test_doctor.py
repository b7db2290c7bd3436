"""`crosswind doctor --check` asks each engine for one token, and says what of it training would miss."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from crosswind.gateway.cli import root
from crosswind.gateway.commands.store_claim import claim_store
from crosswind.injectors.packs.load import use_folder
from crosswind.testing import ScriptedProvider
from crosswind.testing.replies import Part, ReceivedRequest, Reply, plain
from tests.gateway.engine import engine
from tests.gateway.servers import gateway, upstream


def by_request(choose: Callable[[ReceivedRequest], Reply]) -> Reply:
    """A reply that depends on the request."""

    async def reply(seen: ReceivedRequest) -> AsyncIterator[Part]:
        async for part in choose(seen)(seen):
            yield part

    return reply


MODELS = {"object": "list", "data": [{"id": "tiny", "object": "model", "owned_by": "vllm"}]}


@pytest.mark.parametrize(
    ("reply", "mark", "said"),
    [
        (engine(), "✓", "an engine that can be trained on (vllm)"),
        (
            engine(prompt_token_ids=None, choice={"token_ids": None}),
            "!",
            "answers without the prompt's token ids, the sampled token ids: its turns are unfit for training",
        ),
        (engine(choice={"logprobs": None}), "!", "answers without log-probabilities"),
        (engine(choice={"weight_versions": None}), "!", "doesn't say which version sampled what"),
        (plain({"error": "busy"}, 503), "✗", "refuses to sample a token (HTTP 503"),
        (plain(b"<html>"), "✗", "doesn't answer"),
    ],
)
async def test_an_engine_is_asked_for_a_token(tmp_path: Path, reply: Reply, mark: str, said: str) -> None:
    async with upstream(plain(MODELS), reply) as app:
        found = await asyncio.to_thread(_doctor, tmp_path, app.url)
        asked: Any = app.requests[1].json
    [line] = [line for line in found.output.splitlines() if said in line]
    assert line.startswith(mark) and found.exit_code == (mark == "✗")
    assert (asked["model"], asked["max_tokens"], asked["return_token_ids"]) == ("tiny", 1, True)


def _doctor(folder: Path, url: str) -> Result:
    return _run(folder, "--check", "--upstream", f"{url}/v1")


def _run(folder: Path, *given: str) -> Result:
    """`doctor`, with free ports and no store unless others are given."""
    usual = ["--port", "0", "--control-port", "0", "--store", f"sqlite:///{folder}/none.db"]
    return CliRunner().invoke(root, ["doctor", *usual, *given])


def _line(found: Result, said: str) -> str:
    [line] = [line for line in found.output.splitlines() if said in line]
    return line


def under_v1(seen: ReceivedRequest) -> Reply:
    """A server that has its API under /v1 alone, and a page for everything else."""
    if seen.path == "/v1/models":
        return plain(MODELS)
    return plain(b"<html>no such page</html>", 404 if seen.path != "/web/models" else 200)


@pytest.mark.parametrize("path", ["", "/api", "/web", "/v1/chat/completions", "/v1/v1"])
async def test_the_url_that_was_meant_is_named(tmp_path: Path, path: str) -> None:
    async with upstream(by_request(under_v1)) as app:
        found = await asyncio.to_thread(_run, tmp_path, "--check", "--upstream", f"{app.url}{path}")
    assert _line(found, f"correct the URL to {app.url}/v1").startswith("✗") and found.exit_code == 1


async def test_a_url_without_any_route_is_wrong_and_one_without_a_list_may_be_right(tmp_path: Path) -> None:
    async with upstream(plain({"error": "no such route"}, 404)) as app:
        found = await asyncio.to_thread(_run, tmp_path, "--check", "--upstream", f"{app.url}/v1")
    assert _line(found, f"it has no {app.url}/v1/chat/completions").startswith("✗")
    refuses = by_request(
        lambda seen: plain({"error": "x"}, 400 if seen.path.endswith("completions") else 404)
    )
    async with upstream(refuses) as app:
        found = await asyncio.to_thread(_run, tmp_path, "--check", "--upstream", f"{app.url}/v1")
    assert _line(found, "no list of models").startswith("!") and found.exit_code == 0


async def test_an_upstream_that_wants_a_key_is_told_with_the_variable(tmp_path: Path) -> None:
    async with upstream(plain({"error": "no key"}, 401)) as app:
        found = await asyncio.to_thread(_run, tmp_path, "--check", "--upstream", f"{app.url}/v1")
    line = _line(found, "wants a key (HTTP 401)")
    assert line.startswith("!") and "set CROSSWIND_UPSTREAM_KEY" in line and found.exit_code == 0


def test_what_can_be_said_without_an_upstream_is_said(tmp_path: Path) -> None:
    (tmp_path / "none.db.noise-off").touch()
    found = _run(tmp_path, "--check")
    assert _line(found, "upstream is missing: give --upstream URL").startswith("✗") and found.exit_code == 1
    assert _line(found, "noise is off").startswith("!")
    assert _line(found, "profile off: its rules are valid").startswith("✓")
    assert "complete" not in found.output


def test_a_tick_says_what_was_checked(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        found = _run(tmp_path, "--upstream", "http://127.0.0.1:1/v1", "--port", port)
    assert _line(found, f"port {port} on 127.0.0.1 can't be used").startswith("✗") and found.exit_code == 1
    assert _line(found, "control_a port on 127.0.0.1, chosen at the start, could be bound")
    assert _line(found, "a valid URL, to be used with the clients' own credentials").startswith("✓")


async def test_a_gateway_that_serves_is_no_fault(tmp_path: Path, app: ScriptedProvider) -> None:
    async with gateway(tmp_path, app) as running:
        port, control = (url.rpartition(":")[2] for url in (running.data, running.control))
        given = ("--upstream", f"{app.url}/v1", "--port", port, "--control-port", control)
        found = await asyncio.to_thread(_run, tmp_path, *given)
    assert found.output.count("a gateway serves there already") == 2 and found.exit_code == 0


def test_what_others_can_reach_is_said(tmp_path: Path) -> None:
    given = ("--upstream", "http://127.0.0.1:1/v1", "--host", "0.0.0.0", "--control-host", "0.0.0.0")
    found = _run(tmp_path, *given)
    data, control = _line(found, "data plane on 0.0.0.0"), _line(found, "control plane on 0.0.0.0")
    assert data.startswith("!") and "without a key of the gateway's; set auth: keys" in data
    assert control.startswith("!") and "made and printed at each start" in control
    assert found.exit_code == 0


@pytest.mark.parametrize(
    ("host", "base"),
    [("127.0.0.1", "http://localhost:18080/v1"), ("0.0.0.0", "http://127.0.0.1:18080/v1")],
)
def test_an_upstream_that_is_the_gateway_itself(tmp_path: Path, host: str, base: str) -> None:
    found = _run(tmp_path, "--upstream", base, "--host", host, "--port", "18080")
    assert _line(found, "is this gateway's own data plane; give the model server's URL").startswith("✗")
    other = _run(tmp_path, "--upstream", base, "--host", host, "--port", "18081")
    assert "own data plane" not in other.output


def test_a_noise_model_or_a_judge_that_is_the_gateway_itself(tmp_path: Path) -> None:
    config = tmp_path / "crosswind.yaml"
    config.write_text(
        "noise_model: {url: http://localhost:18080/v1, model: m, "
        "judge: {url: http://127.0.0.1:18081/v1, model: m}}\n"
    )
    given = ("--config", str(config), "--upstream", "http://127.0.0.1:1/v1", "--control-port", "18081")
    found = _run(tmp_path, *given, "--port", "18080")
    writer, judge = _line(found, "noise_model.url: "), _line(found, "noise_model.judge.url: ")
    assert (
        writer.startswith("✗") and "is this gateway's own data plane; give the model server's URL" in writer
    )
    assert judge.startswith("✗") and "is this gateway's own control plane" in judge
    assert "own data plane" not in _run(tmp_path, *given, "--port", "18082").output


def test_both_planes_cant_have_one_port(tmp_path: Path) -> None:
    given = ("--upstream", "http://127.0.0.1:1/v1", "--host", "0.0.0.0")
    found = _run(tmp_path, *given, "--port", "18080", "--control-port", "18080")
    assert _line(found, "port and control_port are both 18080").startswith("✗")


def test_an_address_of_another_machine(tmp_path: Path) -> None:
    found = _run(tmp_path, "--upstream", "http://127.0.0.1:1/v1", "--host", "192.0.2.7")
    assert _line(found, "host '192.0.2.7' is no address of this machine").startswith("✗")


def test_each_server_of_tools_is_checked(tmp_path: Path) -> None:
    config = tmp_path / "crosswind.yaml"
    config.write_text("""
upstreams: [{name: model, base: "http://127.0.0.1:9/v1"}]
tools:
  mcp: {clinic: {url: "http://127.0.0.1:9/mcp"}}
  apis:
    desk: {url: "http://127.0.0.1:9", rules: [{tool: find_slot, method: GET, path: /slots}]}
    bare: {url: "http://127.0.0.1:9"}
    gone: {url: "http://127.0.0.1:9", openapi: gone.yaml}
""")
    found = _run(tmp_path, "--config", str(config))
    assert found.exit_code == 1
    assert _line(found, "clients use /s/SESSION/mcp/clinic").startswith("✓")
    assert _line(found, "clients use /s/SESSION/tools/desk/").startswith("✓")
    assert _line(found, "tools.apis.bare: no request is a call").startswith("!")
    assert _line(found, "tools.apis.gone.openapi: 'gone.yaml' can't be read").startswith("✗")


@pytest.fixture
def _without_own_packs_later() -> Iterator[None]:
    yield
    use_folder(None)


@pytest.mark.usefixtures("_without_own_packs_later")
def test_own_packs_are_read(tmp_path: Path) -> None:
    config, packs = tmp_path / "crosswind.yaml", tmp_path / "packs"
    config.write_text(json.dumps({"upstream": "http://127.0.0.1:1/v1", "packs": str(packs)}))
    found = _run(tmp_path, "--config", str(config))
    assert _line(found, "is no folder").startswith("✗") and found.exit_code == 1
    (packs / "en").mkdir(parents=True)
    file = packs / "en" / "health.jsonl"
    file.write_text("{}")
    assert _line(_run(tmp_path, "--config", str(config)), "health.jsonl, line 1").startswith("✗")
    file.write_text(json.dumps({"pack": "en/health", "version": 1, "licence": "CC0-1.0"}))
    found = _run(tmp_path, "--config", str(config))
    assert _line(found, "can be read, and take the place of shipped ones").startswith("✓")


def test_a_store_taken_away_from_its_gateway_is_a_fault(tmp_path: Path) -> None:
    given = ("--upstream", "http://127.0.0.1:1/v1")
    assert _line(_run(tmp_path, *given), "it isn't there yet").startswith("✓")
    with claim_store(f"sqlite:///{tmp_path}/none.db"):
        found = _run(tmp_path, *given)
    gone = f"its file was deleted or moved while the gateway of process {os.getpid()} serves it"
    assert _line(found, gone).startswith("✗") and found.exit_code == 1
    assert "isn't there yet" not in found.output
