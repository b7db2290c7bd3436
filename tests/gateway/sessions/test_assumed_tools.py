"""A profile may say that every call may be repeated; only the operator may accept that writes are doubled."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from crosswind.studies.audit.tally import audit_store
from crosswind.testing.replies import plain
from tests.gateway.dialogue import body, user
from tests.gateway.servers import answer, gateway, upstream

NOISE = """
name: papers
version: 1
summary: Every result is lost.
assume_tools: replayable
rules:
  - {operator: tool.timeout, severity: 1.0, when: {probability: 1.0}}
"""
WRITE = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "fund_account", "arguments": "{}"}}
    ],
}
RESULT = {"role": "tool", "tool_call_id": "call_1", "content": '{"balance": 12}'}
TOOLS = [{"type": "function", "function": {"name": "fund_account", "parameters": {"type": "object"}}}]


@pytest.mark.parametrize("accepted", [False, True])
async def test_a_write_is_destroyed_only_where_that_is_accepted(tmp_path: Path, accepted: bool) -> None:
    request: dict[str, Any] = body(user("Fund it."), WRITE, RESULT, tools=TOOLS)
    async with (
        upstream(plain(answer())) as app,
        gateway(tmp_path, app, noise=NOISE, assume_replayable=accepted) as running,
    ):
        await running.chat(request, "mine")
        sent = app.bodies("/v1/chat/completions")[-1]["messages"][-1]["content"]
        assert (sent == RESULT["content"]) is not accepted
        await running.flush()
        events = (await running.api("GET", "/api/sessions/mine/events")).json()["events"]
        assert [(one["tool"], one["after"] is not None) for one in events] == [("fund_account", accepted)]
        assert ("Assumed replayable: " in events[0]["note"]) is accepted and "Solvable" not in events[0][
            "note"
        ]
        writes = await asyncio.to_thread(lambda: running.gateway.store.summary().destroyed_writes)
        assert writes == ({"fund_account": 1} if accepted else {})
        audited = await asyncio.to_thread(audit_store, running.gateway.store)
        assert audited.destroyed_writes == int(accepted) and not audited.breaches
        shown = (await running.api("GET", "/api/sessions/mine")).json()
        assert shown["plan"]["assume_tools"] == ("replayable" if accepted else "declared")
