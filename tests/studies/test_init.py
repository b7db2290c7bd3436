"""`crosswind init`: what it writes is a first run, from nothing and from recorded sessions."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from crosswind.gateway.trajectory.content import View
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.injectors.engine.plan import Seed, make_plan
from crosswind.injectors.profiles.load import load
from crosswind.studies.chaos.command import chaos
from crosswind.studies.init.command import init
from crosswind.testing import Answer, Call, Dialogue, MessageItem, ScriptedProvider
from tests.gateway.trajectory import rows


def read_order(dialogue: Dialogue) -> Answer:
    results = dialogue.results_of("get_order")
    if not results:
        asked = [one.text for one in dialogue.items if isinstance(one, MessageItem) and one.role == "user"]
        order = next(word.strip("?") for word in " ".join(asked).split() if word.startswith("W1"))
        return Answer(calls=(Call("get_order", {"order": order}),))
    try:
        return Answer(f"It is {json.loads(results[-1][1].text)['status']}.")
    except (ValueError, KeyError, TypeError):
        return Answer("I don't know.")


def test_the_files_are_a_run_and_its_record_gives_files_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    with ScriptedProvider(read_order, strict=False) as provider:
        done = CliRunner().invoke(init, [str(tmp_path / "first"), "--upstream", provider.base_url])
        assert done.exit_code == 0, done.output
        assert "crosswind chaos --config crosswind.yaml" in done.output
        monkeypatch.chdir(tmp_path / "first")
        tasks = Path("tasks.jsonl").read_text().splitlines()[:3]
        Path("three.jsonl").write_text("\n".join(tasks))
        options = ["--config", "crosswind.yaml", "--profile", "chaos/flaky-tools", "--tasks", "three.jsonl"]
        run = CliRunner().invoke(chaos, [*options, "--out", "run", "--", sys.executable, "agent.py"])
        assert {one.headers.get("authorization") for one in provider.requests} == {"Bearer a-key"}
    assert run.exit_code in (0, 3), run.output
    figures = json.loads(Path("run/report.json").read_text())
    assert figures["arms"]["clean"]["success"] == 1.0
    second = tmp_path / "second"
    done = CliRunner().invoke(init, [str(second), "--from", "run/crosswind.db", "--limit", "100"])
    assert done.exit_code == 0, done.output
    assert f"Sessions left out: {len(tasks)} with the first words of a newer one." in done.output
    written = [json.loads(line) for line in (second / "tasks.jsonl").read_text().splitlines()]
    assert {task["prompt"] for task in written} == {json.loads(task)["prompt"] for task in tasks}
    assert yaml.safe_load((second / "crosswind.yaml").read_text())["tool_classes"] == {
        "get_order": "read_only"
    }


def test_sessions_that_give_no_task_are_counted(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "some.db")
    plan = make_plan(load("off"), Seed(0, "s")).to_json()
    store.write([rows.session(f"s{number}", created_us=number, plan=plan) for number in range(5)])
    body = b'{"messages": [{"role": "user", "content": "hi"}]}'
    store.write([rows.turn("s4", received=View.plain(body))])
    store.close()
    done = CliRunner().invoke(
        init, [str(tmp_path / "mine"), "--from", str(tmp_path / "some.db"), "--limit", "3"]
    )
    said = "Sessions left out: 2 older than the newest 3 (--limit), 2 whose first words weren't kept."
    assert done.exit_code == 0 and said in done.output


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl").write_text("mine")
    done = CliRunner().invoke(init, [str(tmp_path)])
    assert done.exit_code == 2
    assert "tasks.jsonl is there already" in done.output
    assert [one.name for one in tmp_path.iterdir()] == ["tasks.jsonl"]
