"""Turns that real vLLM answered through the gateway, and what their record is held against."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from tests.gateway.servers import Running
from tests.policies.vllm.reference import TOLERANCE, furthest, logprobs

CHAT = "/chat/completions"
CAPTURE = {"token_ids", "prompt_token_ids", "weight_versions"}
_NAMES = re.compile(r"(?:chatcmpl|cmpl|chatcmpl-tool)-[0-9a-f]+")


async def post(running: Running, session: str, path: str, body: Any) -> httpx.Response:
    """A request of the session's agent."""
    return await running.http.post(f"{running.data}/s/{session}/v1{path}", json=body, timeout=120)


def post_bare(url: str, path: str, body: Any) -> httpx.Response:
    """The same without a gateway between."""
    return httpx.post(f"{url}/v1{path}", json=body, timeout=120, trust_env=False)


async def turns(running: Running, session: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await running.trajectory(session))["turns"]
    return found


def assert_true(turn: Mapping[str, Any], version: Path, *, named: str | None = None) -> float:
    """The turn is fit, its versions cover its tokens, and transformers gives them the log-probabilities
    that are on record. Gives the largest difference.
    """
    assert turn["fitness"] == "fit", turn["fitness"]
    apart = 0.0
    for completion in turn["completions"]:
        ids = completion["token_ids"]
        assert [(span["version"], span["start"], span["end"]) for span in completion["versions"]] == [
            (named or version.name, 0, len(ids))
        ]
        theirs = logprobs(version, turn["prompt_ids"], ids)
        apart = max(apart, furthest(completion["logprobs"], theirs))
    assert apart < TOLERANCE
    return apart


def events(response: httpx.Response) -> list[dict[str, Any]]:
    """A stream's events."""
    lines = response.text.split("\n\n")
    assert lines[-2:] != ["data: [DONE]"] and "data: [DONE]" in lines
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {")]


def message_of(response: httpx.Response) -> dict[str, Any]:
    """The one choice of an answer, plain or streamed: its message with `finish_reason`, made-up ids apart."""
    if response.headers["content-type"].startswith("application/json"):
        choice = response.json()["choices"][0]
        return _nameless(choice["message"] | {"finish_reason": choice["finish_reason"]})
    message: dict[str, Any] = {"tool_calls": {}}
    for event in events(response):
        for choice in event["choices"]:
            message["finish_reason"] = choice["finish_reason"]
            for name, value in choice["delta"].items():
                if name == "tool_calls":
                    for call in value:
                        kept = message["tool_calls"].setdefault(call["index"], {"function": {}})
                        kept["id"] = call.get("id", kept.get("id"))
                        for part, text in call["function"].items():
                            kept["function"][part] = kept["function"].get(part, "") + text
                elif value is not None:
                    message[name] = message.get(name, "") + value
    return _nameless(message | {"tool_calls": [call for _, call in sorted(message["tool_calls"].items())]})


def _nameless(message: dict[str, Any]) -> dict[str, Any]:
    said = {name: value for name, value in message.items() if value not in (None, "", [])}
    named: dict[str, Any] = json.loads(_NAMES.sub("ID", json.dumps(said)))
    return named


def shapes(response: httpx.Response) -> list[set[str]]:
    """Which members a body, or each of a stream's kinds of chunks, has: its own and its choices'."""
    bodies = events(response) if "event-stream" in response.headers["content-type"] else [response.json()]
    return [set(body).union(*body["choices"]) for body in bodies]
