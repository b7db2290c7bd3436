"""Agents that misbehave: each is counted for what it is, and named."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from crosswind.figures.attempts import Void
from crosswind.testing import ScriptedProvider
from tests.studies.chaos.conftest import AGENT, Chaos


def is_running(pid: int) -> bool:
    """Whether there is such a process that isn't a zombie."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def outcomes(play: Chaos) -> set[tuple[float | None, str | None]]:
    return {(one.success, one.void and one.void.value) for one in play.attempts()}


@pytest.mark.parametrize(
    ("mode", "options", "named"),
    [
        ("crash", (), "exit status 1: RuntimeError: out of ideas"),
        ("hang", ("--timeout", "1.5"), "did not end in time and was killed"),
        ("flood", (), "wrote too much output and was killed"),
    ],
)
def test_an_agent_that_does_not_come_to_a_good_end_has_failed(
    play: Chaos, mode: str, options: tuple[str, ...], named: str
) -> None:
    done = play(*options, agent=(*AGENT, mode))
    assert done.exit_code == 0, done.output
    assert named in done.stderr
    assert "No clean attempt succeeded" in done.stdout and "It cost" not in done.stdout
    assert outcomes(play) == {(0.0, None)}
    assert {one.note for one in play.attempts()} == {named}


def test_processes_that_it_leaves_behind_are_ended_and_told_of(play: Chaos) -> None:
    done = play(agent=(*AGENT, "children"))
    assert done.exit_code == 0, done.output
    assert "left 2 processes behind" in done.stderr
    assert {one.success for one in play.attempts() if one.arm == "clean"} == {1.0}
    said = " ".join(file.read_text() for file in (play.out / "outputs").iterdir())
    started = [int(word) for word in said.split() if word.isdigit()]
    assert len(started) == 8
    assert not any(is_running(pid) for pid in started)


def test_an_agent_that_ignores_the_gateway_is_told_at_once_and_gets_no_figure(play: Chaos) -> None:
    done = play(agent=(*AGENT, "ignore"))
    assert done.exit_code == 1
    assert re.search(r"task t\d: no request of this task came through the gateway", done.stderr)
    assert "nothing to measure" in done.stderr
    assert done.stdout == ""


def test_an_agent_that_crashes_before_it_asks_a_model_is_told_its_own_error(play: Chaos) -> None:
    done = play(agent=(sys.executable, "-c", "raise SystemExit('no module named my_agent')"))
    assert done.exit_code == 1
    assert "(the last: exit status 1: no module named my_agent)" in done.stderr


def test_an_agent_that_calls_no_tool_gets_a_reason_in_the_place_of_a_figure(play: Chaos) -> None:
    play.profile = "chaos/flaky-tools"
    done = play(agent=(*AGENT, "toolless"))
    assert done.exit_code == 3, done.output
    assert "Nothing could be injected, because no attempt called a tool" in done.stdout
    assert "Success went from" not in done.stdout


def test_an_agent_that_talks_to_two_models_is_told(play: Chaos) -> None:
    done = play(agent=(*AGENT, "two"))
    assert done.exit_code == 0, done.output
    assert "talks to 2 models: another, scripted" in done.stderr


def test_a_command_that_is_not_there_is_a_usage_error(play: Chaos) -> None:
    done = play(agent=("/nowhere/agent",))
    assert done.exit_code == 2
    assert "'/nowhere/agent' can't be started" in done.output
    assert play.attempts() == []


def test_what_an_agent_is_given(play: Chaos) -> None:
    script = (
        "import json, os, sys, urllib.request as u;"
        "e = os.environ;"
        "url, key = e['ANTHROPIC_BASE_URL'], e['ANTHROPIC_AUTH_TOKEN'];"
        "r = u.Request(url + '/v1/models', headers={'x-api-key': key});"
        "u.urlopen(r).read();"
        "assert json.loads(e['CROSSWIND_TASK']) == {'id': 't1', 'prompt': 'Do it'}, e['CROSSWIND_TASK'];"
        "assert e['CROSSWIND_TASK_ID'] == 't1' and e['CROSSWIND_SESSION'] in e['OPENAI_BASE_URL'];"
        "assert e['OPENAI_API_KEY'] == e['ANTHROPIC_API_KEY'] != 'mine';"
        "assert not any(n.startswith('CROSSWIND_CONTROL') for n in e);"
        "assert sys.argv[1:] == ['Do it', 't1', e['OPENAI_BASE_URL']] and not sys.stdin.read();"
        "assert 'noisy' not in ''.join(e.values()) and 'clean' not in e['OPENAI_BASE_URL'];"
        "print(json.dumps({'success': True}))"
    )
    play.tasks = [{"id": "t1", "prompt": "Do it", "expect": "success"}]
    done = play(agent=(sys.executable, "-c", script, "{task}", "{id}", "{base_url}"))
    assert done.exit_code == 3, "it asked no model for anything: " + done.output
    assert {one.void for one in play.attempts()} == {Void.NO_REQUEST}


CACHED = """
import pathlib, subprocess, sys
agent, folder = sys.argv[1], pathlib.Path(sys.argv[2])
prompt = sys.stdin.read()
file = folder / prompt.rpartition("-")[2]
if not file.exists():
    file.write_bytes(subprocess.run([sys.executable, "-S", agent], input=prompt.encode(), stdout=-1).stdout)
print(file.read_text())
"""


def test_an_answer_from_a_cache_is_no_success_under_noise(play: Chaos, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    agent = (sys.executable, "-c", CACHED, AGENT[-1], str(tmp_path / "cache"))
    done = play("--concurrency", "1", "--fail-below", "0.5", agent=agent)
    assert done.exit_code == 3, done.output
    assert "no task has an attempt that counts" in " ".join(done.stdout.split())
    assert "2 no_request" in done.stdout
    found = {(one.arm.value, one.success, one.void) for one in play.attempts()}
    assert found == {("clean", 1.0, None), ("noisy", None, Void.NO_REQUEST)}


def test_an_agent_is_not_given_the_providers_key_by_any_name(
    play: Chaos, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MY_KEY", "THE_SAME_KEY"):
        monkeypatch.setenv(name, "the-real-key")
    script = "import os, runpy; assert 'the-real-key' not in os.environ.values(); runpy.run_path({!r})"
    agent = (sys.executable, "-c", script.format(AGENT[-1]))
    done = play("--key-env", "MY_KEY", agent=agent, own=provider.base_url)
    assert done.exit_code == 0, done.output
    assert {one.success for one in play.attempts(str(play.out / "crosswind.db"))} == {1.0}
