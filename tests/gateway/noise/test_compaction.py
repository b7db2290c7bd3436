"""A client compacts its history: what is left of it stays as the policy met it, in whatever process."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.gateway.agents import ChatAgent, calling, play
from tests.gateway.closed_world import ABBREVIATED
from tests.gateway.dialogue import TOOLS, call, result, user
from tests.gateway.servers import gateway, upstream

NOISY = "name: noisy\nversion: 1\nsummary: All is touched.\ncompose: all_of\nrules:\n" + "".join(
    f"  - operator: {operator}\n    severity: 1.0\n    when: {{probability: 0.7}}\n"
    for operator in ("user.redundant", "user.typos", "tool.redundant", "tool.timeout", "tool.misleading")
)
SUMMARY = user("Summary of what came before: the customer asked about several orders.")


def exchange(number: int) -> list[dict[str, Any]]:
    order = f"W{number + 10}"
    return [
        user(f"Question {number}: please check the order {order} and tell me when it comes."),
        call(f"call-{number}", order),
        result(f"call-{number}", order),
        {"role": "assistant", "content": f"The order {order} is on its way."},
    ]


def shown(body: dict[str, Any]) -> dict[str, str]:
    """What the policy met of each message that has an anchor, by what tells it apart."""
    out = {}
    for message in body["messages"]:
        if message["role"] == "tool":
            out[message["tool_call_id"]] = message["content"]
        elif message["role"] == "user" and "Summary" not in message["content"]:
            out[message["content"][:10]] = message["content"]
    return out


@pytest.mark.parametrize("restart", [False, True], ids=["one process", "another process"])
@settings(max_examples=12, deadline=None)
@given(st.integers(2, 6), st.data())
async def test_what_is_left_stays_as_it_was(restart: bool, turns: int, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, turns - 1)) * 4 + data.draw(st.sampled_from([0, 3]))
    history = [message for number in range(turns) for message in exchange(number)]
    with TemporaryDirectory() as folder:
        tmp = Path(folder)
        async with upstream() as app:
            async with gateway(tmp, app, noise=NOISY) as running:
                for number in range(turns):
                    body = {"model": "m", "tools": TOOLS, "messages": history[: 4 * number + 3]}
                    await running.chat(body, "one")
                before = shown(app.requests[-1].json)
                compacted = [SUMMARY, *history[cut:]]
                if not restart:
                    await running.chat({"model": "m", "tools": TOOLS, "messages": compacted}, "one")
            if restart:
                async with gateway(tmp, app, noise=NOISY) as running:
                    await running.chat({"model": "m", "tools": TOOLS, "messages": compacted}, "one")
            after = shown(app.requests[-1].json)
            assert after == {name: text for name, text in before.items() if name in after}
            kept = [one for one in history[cut:] if one["role"] in ("user", "tool")]
            assert len(after) == len(kept), "nothing got lost"


async def test_what_was_put_back_is_put_back_behind_a_summary_too(tmp_path: Path) -> None:
    async with play(tmp_path, ChatAgent, ABBREVIATED, calling(1, 0), calling(0)) as (app, _, agent):
        await agent.ask()
        await agent.answer_calls()
        kept = agent.history[1:3]
        agent.history = [SUMMARY, *kept]
        await agent.ask("And what else?")
        del app.dialogues[2:]  # It doesn't go on from the one before.
        met, again = (app.bodies(agent.path)[at]["messages"] for at in (1, 2))
        assert json.dumps(met[1:4]) == json.dumps(again[1:4]), (
            "the phantom's call and result with the real one"
        )
