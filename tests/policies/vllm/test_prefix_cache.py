"""The engine's prefix cache through the gateway: noise stays put, so noisy turns hit it as calm ones do."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from crosswind.gateway.client import Client
from tests.loop.children import Children
from tests.policies.conftest import TOOLS
from tests.vllm_server import VllmServed

pytestmark = pytest.mark.vllm

SESSIONS, TURNS = 4, 4
ASKED = (
    "Please look up order #W{:04d} for me and tell me exactly when it was shipped, what I paid for every "
    "single item in it, and whether the blue chair that I ordered last week can still be exchanged."
)
RESULT = (
    '{{"order_id": "#W{:04d}", "status": "delivered", "items": ["chair", "table", "lamp"], "total": 120.5}}'
)


@pytest.mark.parametrize("profile", ["off", "agentnoisebench/all"])
def test_every_turn_hits_what_the_turn_before_computed(
    vllm: VllmServed, children: Children, tmp_path: Path, profile: str
) -> None:
    """A turn's prompt is cached by whole blocks; the next turn computes none of them again."""
    told = re.search(r'block_size="(\d+)"', httpx.get(f"{vllm.url}/metrics", trust_env=False).text)
    assert told
    block = int(told[1])
    injected = 0
    gateway = children.gateway(vllm.url, tmp_path / "store.db", "--capture", "on")
    with Client(gateway.control) as control:
        for number in range(SESSIONS):
            session = control.open_session(task_id=f"t-{number}", profile=profile, seed=number)
            usages = _converse(session.base_url, session.api_key, number)
            for before, after in pairwise(usages):
                known = before["prompt_tokens"] // block * block
                assert after["prompt_tokens_details"]["cached_tokens"] >= known
            assert usages[-1]["prompt_tokens_details"]["cached_tokens"] > 0
            injected += len(control.events(session.id))
            control.close(session.id)
    assert (injected > 0) == (profile != "off")


def _converse(base_url: str, key: str, number: int) -> list[dict[str, Any]]:
    """A conversation of several turns, tool calls answered; gives each turn's usage."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You are a helpful shop assistant."}]
    usages = []
    with httpx.Client(
        base_url=base_url, headers={"authorization": f"Bearer {key}"}, timeout=120, trust_env=False
    ) as http:
        for turn in range(TURNS):
            messages.append({"role": "user", "content": ASKED.format(10 * number + turn)})
            body = {"model": "policy", "messages": messages, "tools": TOOLS, "max_tokens": 16, "seed": number}
            response = http.post("chat/completions", json=body)
            assert response.status_code == 200, response.text
            answer = response.json()
            usages.append(answer["usage"])
            message = answer["choices"][0]["message"]
            messages.append({name: value for name, value in message.items() if value})
            messages += [
                {"role": "tool", "tool_call_id": call["id"], "content": RESULT.format(turn)}
                for call in message.get("tool_calls") or ()
            ]
    return usages
