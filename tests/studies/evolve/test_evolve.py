"""`crosswind noise evolve` over HTTP, on scripted agents: one gives up at a rate limit, one never does."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any

import yaml

from crosswind.injectors.profiles.load import parse
from crosswind.simulators.environment import load
from crosswind.studies.evolve.prompts import TASK
from crosswind.testing import Answer, DecideMessage, Dialogue, MessageItem, ScriptedProvider, answer_messages
from tests.gateway.noise_model.writer import configured, writer
from tests.own_packs import WORDS, write_packs, write_profile

RETAIL = load("retail")
OPERATORS = ("tool.timeout", "tool.rate_limit", "tool.redundant", "tool.auth_error", "user.typos")
TASKS = 7
SIZES = ("--tasks", str(TASKS), "--held-out", str(2 * TASKS), "--seeds", "2")
ANY = ("--phrases", "1", "--regression", "1")
"""Whatever the detectors tell may be played."""


def gives_up_at(text: str) -> DecideMessage:
    """The oracle, but for one weakness."""
    decide = RETAIL.oracle().decide

    def weak(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
        if any(text in str(message["content"]) for message in messages if message["role"] == "tool"):
            return {"role": "assistant", "content": "Sorry, I can't help with that now."}
        return dict(decide(messages, tools))

    return weak


async def evolve(out: Path, *given: str) -> tuple[int | None, str, str]:
    arguments = ("noise", "evolve", "--out", str(out), *given)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "crosswind.gateway.cli", *arguments, stdout=PIPE, stderr=PIPE
    )
    said, erred = await process.communicate()
    return process.returncode, said.decode(), erred.decode()


async def test_the_weakness_is_found_frozen_measured_and_doesnt_transfer(tmp_path: Path) -> None:
    out = tmp_path / "run"
    weak = ScriptedProvider(answer_messages(gives_up_at("per-minute rate limit")), strict=False)
    sound = ScriptedProvider(answer_messages(RETAIL.oracle().decide), strict=False)
    async with weak, sound:
        search = ("--reference", weak.base_url, "--second", sound.base_url, "--budget", "10", *SIZES, *ANY)
        search += tuple(part for name in OPERATORS for part in ("--operators", name))
        code, said, erred = await evolve(out, *search)
        assert code == 0, said + erred
        frozen = (out / "profile.yaml").read_text()
        known = parse(frozen, "evolved")
        assert "tool.rate_limit" in {rule.operator for rule in known.rules}
        told = yaml.safe_load(frozen)["lineage"]
        (reference,) = told["reference"]
        assert reference["at_equal_dose"]["high"] < 0 and reference["calm"] == 1.0
        assert [one["seed"] for one in told["second"]] == [0, 1]
        assert all(one["evolved"]["success"] == one["calm"] == 1.0 for one in told["second"]), "solvable"
        assert "at equal dose it hurts the second agent more on 0 of 2 seeds" in said
        chosen, cap = told["chosen_by"]["evolved"], told["chosen_by"]["hand_made"]
        parts = ("exposed", "injections")
        assert all(known.coverage * chosen[name] <= cap[name] for name in parts)
        assert told["evaluations"] == 10 and told["ancestors"][-1]["id"] == told["candidate"]
        lines = [json.loads(line) for line in (out / "evaluations.jsonl").read_text().splitlines()]
        searched = [line for line in lines if "id" in line and line["key"].startswith("search")]
        assert sum(line["fitness"]["sessions"] > 0 for line in searched) == 10

        # What was measured is not measured again, and leads to the same profile.
        before = len(weak.dialogues), len(sound.dialogues)
        code, _, erred = await evolve(out, *search)
        assert code == 0, erred
        assert (len(weak.dialogues), len(sound.dialogues)) == before
        assert (out / "profile.yaml").read_text() == frozen

        code, _, erred = await evolve(out, *search, "--seed", "1")
        assert code == 2 and "seed differ" in erred


async def test_what_the_detectors_tell_is_refused_and_not_played(tmp_path: Path) -> None:
    weak = ScriptedProvider(answer_messages(gives_up_at("per-minute rate limit")), strict=False)
    async with weak:
        named = ("--operators", "tool.rate_limit", "--operators", "tool.timeout")
        named += ("--phrases", "0.1", "--regression", "0.1")
        code, said, erred = await evolve(
            tmp_path, "--reference", weak.base_url, "--budget", "2", *SIZES, *named
        )
    assert code == 2 and "all candidates are told by the detectors" in erred, said + erred
    assert "refused: five phrases find 100%" in said and "tool.rate_limit@" in said
    lines = [json.loads(line) for line in (tmp_path / "evaluations.jsonl").read_text().splitlines()]
    refused = [one for one in lines if "id" in one]
    assert refused and all(one["fitness"]["sessions"] == 0 for one in refused)


async def test_a_prompt_is_found_where_only_words_of_a_model_reach_the_weakness(tmp_path: Path) -> None:
    """The agent gives up when its user wonders about sea monsters, which no rule ever says."""

    def write(dialogue: Dialogue) -> Answer:
        system, material = (item.text for item in dialogue.items if isinstance(item, MessageItem))
        if system == TASK:
            subject = "sea monsters" if "proposal 2" in material else "stamps"
            return Answer(f"Let it be about {subject}.")
        question = "Sea monsters?" if "sea monsters" in system else "Is it late?"
        return Answer(f"{question}\n{question}")

    decide = RETAIL.oracle().decide

    def afraid(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
        if any(
            "sea monsters" in str(message["content"]).lower()
            for message in messages
            if message["role"] == "user"
        ):
            return {"role": "assistant", "content": "Let us talk about something else."}
        return dict(decide(messages))

    agent = ScriptedProvider(answer_messages(afraid), strict=False)
    async with agent, writer(write) as scribe:
        config = tmp_path / "noise.yaml"
        config.write_text(yaml.safe_dump({"noise_model": configured(scribe)}))
        code, said, erred = await evolve(
            tmp_path / "run",
            *("--reference", agent.base_url, "--config", str(config)),
            # The cap is the dose of the same operator in the packs' words, which are longer.
            *("--operators", "user.topic_drift", "--against", "agentnoisebench/topic_shift"),
            *("--budget", "9", *SIZES, *ANY),
        )
        assert code == 0, said + erred
    told = yaml.safe_load((tmp_path / "run" / "profile.yaml").read_text())
    assert [rule["prompt"] for rule in told["rules"]] == ["Let it be about sea monsters."]
    assert "prompt" in {one["by"] for one in told["lineage"]["ancestors"]}
    assert told["lineage"]["reference"][0]["at_equal_dose"]["high"] < 0


async def test_own_packs_are_drawn_from_and_a_search_goes_on_with_the_same(tmp_path: Path) -> None:
    config, out = tmp_path / "noise.yaml", tmp_path / "run"
    config.write_text(yaml.safe_dump({"packs": str(write_packs(tmp_path))}))
    agent = ScriptedProvider(answer_messages(gives_up_at(WORDS)), strict=False)
    async with agent:
        search = ("--reference", agent.base_url, "--against", str(write_profile(tmp_path)), "--budget", "2")
        search += ("--operators", "tool.misleading", *SIZES, *ANY)
        code, _, erred = await evolve(out, *search)
        assert code == 2 and "en/general#lib-*" in erred and "--packs" in erred, erred
        code, said, erred = await evolve(out, *search, "--config", str(config))
        assert code == 0, said + erred
        assert WORDS in str(agent.dialogues)
        write_packs(tmp_path, version=8)
        code, _, erred = await evolve(out, *search, "--config", str(config))
        assert code == 2 and "packs differ" in erred


async def test_what_can_not_be_used_is_refused_before_anything_is_served(tmp_path: Path) -> None:
    for given, says in (
        (("--against", "agentnoisebench/al"), "agentnoisebench/all"),
        (("--against", "off"), "--against: off injects nothing here"),
        (("--operators", "tol.*"), "matches"),
        (("--second", "nope"), "--second nope: no policy: nope/crosswind.json: can't be read"),
        (("--second", "http://127.0.0.1:9/v1"), "--second http://127.0.0.1:9/v1: no server answers there"),
        (("--reference", "nope"), "--reference nope: no policy"),
        (("--packs", "nope"), "packs 'nope' is no folder"),
    ):
        code, _, erred = await evolve(tmp_path / "run", *given)
        assert code == 2 and says in erred, erred
        assert not (tmp_path / "run").exists()
