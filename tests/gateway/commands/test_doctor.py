"""`crosswind doctor --check` asks each engine for one token, and says what of it training would miss."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from crosswind.gateway.cli import root
from crosswind.testing.replies import Reply, plain
from tests.gateway.engine import engine
from tests.gateway.servers import upstream

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
    given = ["doctor", "--check", "--upstream", f"{url}/v1", "--store", f"sqlite:///{folder}/none.db"]
    return CliRunner().invoke(root, given)
