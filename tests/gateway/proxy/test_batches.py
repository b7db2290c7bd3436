"""Batches run without noise, and an event of their session says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from crosswind.gateway.cli import root
from crosswind.testing.replies import plain
from tests.gateway.closed_world import ABBREVIATED, profile, tool
from tests.gateway.servers import Running, answer, gateway, upstream

BATCH = b'{ "input_file_id": "file-1", "endpoint": "/v1/chat/completions", "completion_window": "24h" }'
BODY = {"model": "m", "messages": [{"role": "user", "content": "What did ACME order?"}], "tools": [tool()]}


async def run(running: Running, session: str, method: str = "POST") -> bytes:
    path = f"{running.data}/s/{session}/v1/batches"
    return (await running.http.request(method, path, content=BATCH if method == "POST" else None)).content


async def test_a_session_says_that_its_batches_run_without_noise(tmp_path: Path) -> None:
    made = {"id": "batch_1", "object": "batch"}
    async with upstream(plain(answer()), plain(made)) as app:
        async with gateway(tmp_path, app, noise=profile(ABBREVIATED)) as running:
            await running.chat(BODY, "one")
            for method in ("POST", "GET", "POST"):
                await run(running, "one", method)
                assert (app.requests[-1].method, app.requests[-1].path) == (method, "/v1/batches")
            assert app.requests[-1].body == BATCH
            told = await running.trajectory("one")
            events = [one for one in told["events"] if "batch" in one["note"]]
            assert [(one["turn_index"], one["after"]) for one in events] == [(-1, None)] * 2
            opened = await running.api("POST", "/api/sessions", {"profile": "off"})
            await run(running, opened.json()["id"])
            assert (await running.trajectory(opened.json()["id"]))["events"] == []
        store = f"sqlite:///{tmp_path}/store.db"
        page = tmp_path / "page.html"
    for command in (["report", "--store", store, "--out", str(page)], ["store", "verify", "--store", store]):
        result = CliRunner().invoke(root, command)
        assert result.exit_code == 0, result.output


@pytest.mark.parametrize("status", [400, 500])
async def test_a_batch_that_was_refused_leaves_no_event(tmp_path: Path, status: int) -> None:
    replies = plain(answer()), plain({"error": {"message": "no"}}, status)
    async with upstream(*replies) as app, gateway(tmp_path, app, noise=profile(ABBREVIATED)) as running:
        await running.chat(BODY, "one")
        await run(running, "one")
        events = (await running.trajectory("one"))["events"]
        assert events and not [one for one in events if "batch" in one["note"]]
