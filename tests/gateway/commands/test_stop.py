"""`crosswind serve` stops cleanly: it says what it waits for, and who waits gets an answer."""

from __future__ import annotations

import asyncio
import re
import signal
from pathlib import Path

import httpx
import pytest

from crosswind.testing.provider import ScriptedProvider
from crosswind.testing.replies import Part, ReceivedRequest
from tests.gateway.dialogue import body, user
from tests.gateway.servers import upstream
from tests.loop.children import Children

ROUTES = {
    "chat/completions": ("error", "code"),
    "messages": ("error", "type"),
    "files": ("error", "code"),
}


async def never(seen: ReceivedRequest) -> Part:
    """A model that thinks for ever."""
    await asyncio.Event().wait()
    yield b""


@pytest.mark.parametrize("workers", ["1", "2"])
async def test_a_second_signal_ends_at_once_and_clients_get_the_protocols_error(
    tmp_path: Path, children: Children, workers: str
) -> None:
    async with upstream(never) as app, httpx.AsyncClient(trust_env=False, timeout=120) as http:
        serving = await asyncio.to_thread(
            children.gateway, app.url, tmp_path / "store.db", "--workers", workers,
            environment={"CROSSWIND_TIMEOUTS__DRAIN": "600"},
        )  # fmt: skip
        calls = [
            asyncio.create_task(http.post(f"{serving.data}/v1/{route}", json=body(user("hi"))))
            for route in ROUTES
        ]
        await _until_received(app, len(calls))
        child = serving.child
        child.process.send_signal(signal.SIGINT)
        await asyncio.to_thread(child.until, lambda: "stopping when the requests in flight" in child.said)
        assert "at_most_s=600" in child.said
        child.process.send_signal(signal.SIGINT)
        for call, (outer, _) in zip(calls, ROUTES.values(), strict=True):
            given = await call
            assert given.status_code == 503 and outer in given.json(), given.text
            assert "the gateway is stopping" in given.json()["error"]["message"]
        assert await asyncio.to_thread(child.process.wait, 60) == 0
        assert "Traceback" not in child.said


async def test_the_end_of_the_drain_answers_too(tmp_path: Path, children: Children) -> None:
    async with upstream(never) as app, httpx.AsyncClient(trust_env=False, timeout=120) as http:
        drain = {"CROSSWIND_TIMEOUTS__DRAIN": "1"}
        serving = await asyncio.to_thread(children.gateway, app.url, tmp_path / "store.db", environment=drain)
        call = asyncio.create_task(http.post(f"{serving.data}/v1/chat/completions", json=body(user("hi"))))
        await _until_received(app, 1)
        serving.child.process.terminate()
        given = await call
        assert (given.status_code, given.json()["error"]["code"]) == (503, "stopping")
        assert await asyncio.to_thread(serving.child.process.wait, 60) == 0
        assert "Traceback" not in serving.child.said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_workers_start_is_no_failure(
    tmp_path: Path, children: Children, number: signal.Signals
) -> None:
    given = ("--upstream", "http://127.0.0.1:1/v1", "--store", f"sqlite:///{tmp_path}/store.db")
    child = children.start("serve", *given, "--port", "0", "--control-port", "0", "--workers", "2")
    child.until(lambda: _children_of(child.process.pid))
    child.process.send_signal(number)
    assert child.process.wait(60) == 0, child.said
    assert "Traceback" not in child.said


def _children_of(pid: int) -> bool:
    task = Path(f"/proc/{pid}/task/{pid}/children")
    return bool(re.findall(r"\d+", task.read_text())) if task.exists() else False


async def _until_received(app: ScriptedProvider, count: int) -> None:
    async with asyncio.timeout(60):
        while len(app.requests) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
