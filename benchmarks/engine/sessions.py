"""How much of noisy sessions' prompts the engine's prefix cache spares, beside clean ones'."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import httpx

from benchmarks.engine.stack import MODEL, Server
from crosswind.simulators.retail.tools import TOOLS

TURNS, TOKENS, AT_ONCE = 6, 24, 8
_RESULT = {"order_id": "#W1234", "status": "cancelled", "items": ["lamp", "desk"], "total": 120.5}


@dataclass(slots=True)
class Hits:
    """Tokens of the prompts after each session's first one."""

    cached: int = 0
    asked: int = 0

    @property
    def share(self) -> float:
        return self.cached / self.asked


async def measure_hits(gateway: Server, arm: str, sessions: int) -> Hits:
    """Lead sessions of one arm; each is of other orders, so that none is spared by another's prompts."""
    found, turnstile = Hits(), asyncio.Semaphore(AT_ONCE)
    async with httpx.AsyncClient(trust_env=False, timeout=300) as http:

        async def lead(at: int) -> None:
            async with turnstile:
                await _lead(http, gateway, arm, at, found)

        await asyncio.gather(*(lead(at) for at in range(sessions)))
    return found


async def _lead(http: httpx.AsyncClient, gateway: Server, arm: str, at: int, found: Hits) -> None:
    opening = {"group_id": f"{arm}-{at}", "group_size": 2, "rollout_index": 0, "arm": arm, "seed": at}
    opened = await http.post(f"http://127.0.0.1:{gateway.control}/api/sessions", json=opening)
    base, name = opened.json()["base_url"], f"{'CN'[arm == 'noisy']}{at:03d}"
    messages: list[dict[str, Any]] = [_question(name, 0)]
    for turn in range(TURNS):
        asked = {
            "model": MODEL,
            "messages": messages,
            "tools": [tool.schema() for tool in TOOLS.values()],
            "max_tokens": TOKENS,
            "seed": at * 100 + turn,
        }
        response = await http.post(f"{base}/chat/completions", json=asked)
        response.raise_for_status()
        answer = response.json()
        if turn:
            found.asked += answer["usage"]["prompt_tokens"]
            found.cached += answer["usage"]["prompt_tokens_details"]["cached_tokens"]
        message = {name: value for name, value in answer["choices"][0]["message"].items() if value}
        messages.append({"content": None} | message)
        calls = message.get("tool_calls", ())
        messages += [
            {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(_RESULT)} for call in calls
        ]
        if not calls:
            messages.append(_question(name, turn + 1))


def _question(name: str, turn: int) -> dict[str, Any]:
    text = f"What is the status of the order #{name}{turn:02d}, and when will it come to me, please?"
    return {"role": "user", "content": text}
