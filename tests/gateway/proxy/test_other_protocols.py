"""A session whose client goes on in another protocol: nothing is put back there in the first one's form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from crosswind.testing.replies import ReceivedRequest, plain
from tests.gateway.closed_world import ABBREVIATED, TOOL, profile, tool
from tests.gateway.protocols.messages import conversation as messages
from tests.gateway.servers import answer, computed, gateway, upstream

FUNCTION = tool()["function"]
OWN = {
    "name": FUNCTION["name"],
    "description": FUNCTION["description"],
    "input_schema": FUNCTION["parameters"],
}
QUESTION = "What did ACME order?"


def calling(*calls: tuple[str, str]) -> dict[str, Any]:
    made = answer()
    functions = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}
        for call_id, name in calls
    ]
    message = {"role": "assistant", "content": None, "tool_calls": functions}
    made["choices"] = [{"index": 0, "message": message, "finish_reason": "tool_calls"}]
    return made


async def test_a_history_goes_on_in_another_protocol(tmp_path: Path) -> None:
    def real(seen: ReceivedRequest) -> Any:
        [true] = {one["function"]["name"] for one in seen.json["tools"]} - {TOOL}
        return calling(("c1", true))

    path = tmp_path / "closed.yaml"
    rule = "  - {operator: user.redundant, severity: 1.0, when: {probability: 1.0}}\n"
    path.write_text(profile(ABBREVIATED) + rule)
    async with (
        upstream(plain(calling(("p1", TOOL))), computed(real)) as app,
        gateway(tmp_path, app, profile=str(path)) as running,
    ):
        asked = {"model": "m", "messages": [{"role": "user", "content": QUESTION}], "tools": [tool()]}
        told = (await running.chat(asked, "one")).json()["choices"][0]["message"]["tool_calls"]
        assert [one["id"] for one in told] == ["c1"] and len(app.requests) == 2
        shown = app.requests[0].json["messages"][0]["content"]
        app.steps[:] = [plain(messages.MESSAGE)]
        use = {"type": "tool_use", "id": "c1", "name": told[0]["function"]["name"], "input": {}}
        history = [
            messages.user(QUESTION),
            {"role": "assistant", "content": [use]},
            messages.user(messages.result("c1", "2")),
        ]
        got = await messages.post(running, messages.body(*history, tools=[OWN]), "one")
        assert got.status_code == 200
        sent = app.requests[2].json
        [true] = {one["name"] for one in sent["tools"]} - {TOOL}
        assert sent["messages"][1] == {"role": "assistant", "content": [{**use, "name": true}]}
        assert [one["role"] for one in sent["messages"]] == ["user", "assistant", "user"]
        assert sent["messages"][0]["content"] == shown != QUESTION, "the noise stays"
