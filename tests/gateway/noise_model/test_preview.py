"""`crosswind noise preview --config`: the same words as in the gateway, out of its store."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import yaml
from click.testing import CliRunner, Result

from crosswind.gateway.cli import root
from tests.gateway.dialogue import body, user
from tests.gateway.noise.test_system_prompt import PROFILE, TOLD, system
from tests.gateway.noise_model.test_generation import ASKED, PARAPHRASE, REWORDED, profile
from tests.gateway.noise_model.writer import configured, writer
from tests.gateway.servers import gateway, upstream
from tests.studies.replay.test_replay import store_of

UPSTREAM = {"upstream": "http://127.0.0.1:9/v1"}


async def previewed(*arguments: str) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, root, ["noise", "preview", *arguments])


def in_one_line(text: str) -> str:
    return " ".join(text.split())


async def test_what_the_store_has_is_shown_and_nothing_is_asked(tmp_path: Path) -> None:
    chat = tmp_path / "chat.json"
    chat.write_text(json.dumps([user(ASKED)]))
    rules = profile(PARAPHRASE)
    (tmp_path / "words.yaml").write_text(rules["noise"])
    async with writer(REWORDED) as scribe, upstream() as app:
        model = configured(scribe)
        config = tmp_path / "crosswind.yaml"
        config.write_text(yaml.safe_dump({**UPSTREAM, "store": store_of(tmp_path), "noise_model": model}))
        given = ("--profile", str(tmp_path / "words.yaml"), str(chat))
        async with gateway(tmp_path, app, **rules, noise_model=model) as running:
            before = await previewed("--config", str(config), *given)
            await running.chat(body(user(ASKED)), "s")
            await running.flush()
        after = await previewed("--config", str(config), *given)
        without = await previewed(*given)
    assert before.exit_code == after.exit_code == without.exit_code == 0, before.output + after.output
    assert "no session has had the model write it yet" in in_one_line(before.output)
    assert REWORDED in in_one_line(after.output) and "In the words of scribe" in in_one_line(after.output)
    assert REWORDED not in in_one_line(without.output)
    assert len(scribe.requests) == 1


async def test_a_configuration_without_a_model_or_a_store_is_refused(tmp_path: Path) -> None:
    chat, config = tmp_path / "chat.json", tmp_path / "crosswind.yaml"
    chat.write_text(json.dumps([user(ASKED)]))
    model = {"url": "http://127.0.0.1:9/v1", "model": "scribe"}
    for document, says in (
        ({}, "no noise_model"),
        ({"noise_model": {"url": "nowhere", "model": "m"}}, "noise_model.url"),
        ({"store": f"sqlite:///{tmp_path}/none.db", "noise_model": model}, "none.db"),
    ):
        config.write_text(yaml.safe_dump({**UPSTREAM, **document}))
        result = await previewed("--config", str(config), "--profile", "off", str(chat))
        assert result.exit_code == 2 and says in result.output, result.output


async def test_instructions_are_previewed_too(tmp_path: Path) -> None:
    chat = tmp_path / "chat.json"
    chat.write_text(json.dumps([system(TOLD), user("Hello")]))
    (tmp_path / "difficult.yaml").write_text(PROFILE)
    result = await previewed("--profile", str(tmp_path / "difficult.yaml"), str(chat))
    assert result.exit_code == 0
    assert "user.interaction_pattern" in result.output and "vaguely" in result.output
