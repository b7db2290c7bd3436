"""Sessions that an agent leads with real vLLM through the gateway: it sends back what it got."""

from __future__ import annotations

import json
from typing import Any

from tests.gateway.servers import Running
from tests.policies.conftest import TOOLS
from tests.policies.vllm.recorded import CHAT, post

FAULTS = """\
name: faults
version: 1
summary: Every first result of a call is touched, users' texts are not.
rules:
  - operator: tool.timeout
    severity: 1.0
    when: {probability: 0.5}
  - operator: tool.incomplete
    severity: 1.0
    when: {probability: 1.0}
"""
EVERYWHERE = """\
name: everywhere
version: 1
summary: Users' texts, results and tools are touched.
rules:
  - operator: user.typos
    severity: 0.5
    when: {probability: 1.0}
  - operator: tool.timeout
    severity: 1.0
    when: {probability: 0.5}
  - operator: tool.misleading
    severity: 1.0
    when: {probability: 0.5}
"""


def result_of(call: dict[str, Any]) -> dict[str, Any]:
    """What a tool says, whatever it was asked."""
    content = {"order_id": "#W1234", "status": "cancelled", "items": ["lamp", "desk"], "total": 120.5}
    return {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(content)}


async def say(running: Running, session: str, messages: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """One turn: the answer's body. The agent's messages grow by the answer and the results of its calls."""
    asked = {"model": "policy", "messages": messages, "tools": TOOLS, "max_tokens": 24, **more}
    response = await post(running, session, CHAT, asked)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    message = {name: value for name, value in answer["choices"][0]["message"].items() if value is not None}
    messages.append({"content": None} | message)
    messages.extend(result_of(call) for call in message.get("tool_calls", ()))
    return answer


async def lead(running: Running, session: str, first: str, rounds: int, *, seed: int) -> list[dict[str, Any]]:
    """A session of so many turns, a question after each answer without calls; gives the answers."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": first}]
    answers = []
    for turn in range(rounds):
        answers.append(await say(running, session, messages, seed=seed + turn))
        if messages[-1]["role"] == "assistant":
            order = f"#W{(seed * 37 + turn * 11) % 10_000:04d}"
            messages.append(
                {"role": "user", "content": f"And what is the status of the order {order}, please?"}
            )
    return answers
