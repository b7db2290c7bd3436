"""Whole runs on gateways of their own: the drop, a rerun, a failing upstream, a kill, a resumption."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from crosswind.figures.attempts import Arm, Void
from crosswind.figures.gate import Gate, GateResult
from crosswind.gateway.trajectory.store import open_existing
from crosswind.studies.chaos import guard
from crosswind.studies.chaos.episodes import plan_episodes
from crosswind.studies.chaos.gate import GateWatch
from crosswind.studies.chaos.run_folder import lock_folder
from crosswind.studies.chaos.tasks import Task
from crosswind.testing import Answer, Dialogue, ScriptedProvider
from crosswind.testing.errors import ProviderError
from tests.loop.children import COMMAND, ENVIRONMENT
from tests.own_packs import ENTRY, WORDS, write_packs, write_profile
from tests.studies.chaos.conftest import AGENT, Chaos, Running, read_gate


def flights(count: int) -> list[dict[str, Any]]:
    return [
        {"id": f"t{n}", "prompt": f"Which gate does this flight leave from? HA-{n}", "expect": f"Gate B{n}."}
        for n in range(count)
    ]


def test_the_drop_is_what_the_noise_did_and_a_rerun_says_the_same(
    play: Chaos, provider: ScriptedProvider, tmp_path: Path
) -> None:
    play.tasks, play.profile = flights(12), "chaos/flaky-tools"
    printed = []
    for name in ("one", "two"):
        play.folder = tmp_path / name
        play.folder.mkdir()
        done = play("--concurrency", "8", "--no-times", "--price", "1/10", own=provider.base_url)
        assert done.exit_code == 0, done.output
        files = [(play.out / f"report.{kind}").read_bytes() for kind in ("json", "md", "html")]
        printed.append((done.stdout, files))
        attempts = play.attempts(str(play.out / "crosswind.db"))
        assert len(attempts) == 24
        clean = [one for one in attempts if one.arm is Arm.CLEAN]
        assert [one.success for one in clean] == [1.0] * 12
        assert not any(one.faults for one in clean)
        # The scripted model never asks again: it fails where, and only where, a result was spoilt.
        hit = [one for one in attempts if one.arm is Arm.NOISY and one.success == 0.0]
        assert hit
        assert all(one.faults for one in hit)
    assert printed[0] == printed[1]


def test_a_run_draws_from_own_packs_and_goes_on_with_the_same(
    play: Chaos, provider: ScriptedProvider, tmp_path: Path
) -> None:
    packs, play.profile = write_packs(tmp_path), str(write_profile(tmp_path))
    refused = play(own=provider.base_url)
    assert refused.exit_code
    assert "en/general#lib-*" in refused.output and "--packs" in refused.output, refused.output
    play.folder = tmp_path / "with"
    play.folder.mkdir()
    given = "--packs", str(packs)
    done = play(*given, own=provider.base_url)
    assert done.exit_code == 0, done.output
    with closing(open_existing(str(play.out / "crosswind.db"))) as store:
        events = [one for session in store.sessions(limit=9) for one in store.events(session.id)]
    assert any(WORDS in (one.after or "") and ENTRY in one.draw["phrases"] for one in events)
    assert play(*given, "--resume", own=provider.base_url).exit_code == 0
    write_packs(tmp_path, version=8, words="Gates are brought up to date once an hour.")
    refused = play(*given, "--resume", own=provider.base_url)
    assert refused.exit_code == 2 and "--resume: packs isn't what it was" in refused.output
    refused = play("--packs", str(tmp_path / "none"), own=provider.base_url)
    assert refused.exit_code == 2 and "none' is no folder" in refused.output
    refused = play(*given)
    assert refused.exit_code == 2 and "--packs is for a gateway of the run's own" in refused.output


VAGUE = """
name: vague
rules:
  - operator: user.ambiguous
    severity: 1.0
    when: {probability: 1.0}
"""


def test_users_leave_nothing_open_unless_somebody_answers(play: Chaos, tmp_path: Path) -> None:
    prompt = "Please find a flight to Lisbon on 2026-12-01. HA-1"
    play.tasks = [{"id": f"t{n}", "prompt": prompt, "expect": "Gate B1."} for n in range(4)]
    play.profile = str(tmp_path / "vague.yaml")
    Path(play.profile).write_text(VAGUE)
    done = play()
    assert not any(one.faults for one in play.attempts())
    assert "nobody answers the agent" in " ".join(done.stdout.split())
    refused = play("--user-answers", "--resume")
    assert refused.exit_code == 2 and "--resume: user answers isn't what it was" in refused.output
    play.folder = tmp_path / "answered"
    play.folder.mkdir()
    play("--user-answers")
    assert any(one.faults for one in play.attempts())


def test_a_gate_ends_the_run_as_soon_as_its_verdict_stands(play: Chaos) -> None:
    play.tasks, play.profile = flights(60), "chaos/confused-users"
    done = play("--fail-below", "0.5", "--concurrency", "2")
    assert done.exit_code == 0, done.output
    assert "Passed: success under noise of at least 50.0%" in " ".join(done.stdout.split())
    first = play.attempts()
    assert 10 <= len(first) < 60
    again = play("--fail-below", "0.5", "--resume")
    assert again.exit_code == 0, again.output
    assert play.attempts() == first


def test_a_gate_over_many_tasks_does_not_look_after_each(running: Running) -> None:
    looks: list[int] = []

    class Watch(GateWatch):
        def judge(self) -> GateResult:
            looks.append(self._finished)
            return super().judge()

    episodes = list(plan_episodes([Task(f"t{n}", {}) for n in range(500)], ["flaky"], 1))
    with closing(open_existing(running.store)) as store:
        names = [f"t{n}" for n in range(500)]
        watch = Watch(Gate(fail_below=0.9), names, episodes, store, "no-such-run", 0)
        for episode in episodes:
            watch.finish(episode)
    assert looks[:20] == list(range(1, 21))
    assert len(looks) < 100
    assert not watch.decided


def test_a_gate_that_few_tasks_cannot_decide_says_so(play: Chaos) -> None:
    done = play("--max-drop", "0.1")
    assert done.exit_code == 3
    said = " ".join(done.stdout.split())
    goal = re.search(r"Inconclusive: a drop of at most 10.0 points: 0.0 points \[(\S+), (\S+)\]", said)
    assert goal is not None, said
    # The headline has the interval that decides: a drop is a difference below 0.
    assert f"+0.0 points [-{goal[2]}, +{goal[1].removeprefix('-')}] (the gate's interval)" in said


def test_an_upstream_that_fails_half_way_is_never_the_agents_failure(play: Chaos) -> None:
    play.tasks, left = flights(3), [5]

    def fail_for_a_while(dialogue: Dialogue) -> Answer:
        left[0] -= 1
        return Answer(error=ProviderError(503, "over capacity")) if -4 <= left[0] < 0 else read_gate(dialogue)

    with ScriptedProvider(fail_for_a_while, strict=False) as provider:
        done = play("--concurrency", "1", "--retries", "6", "--retry-pause", "0.01", own=provider.base_url)
    assert done.exit_code == 0, done.output
    attempts = play.attempts(str(play.out / "crosswind.db"))
    void = [one for one in attempts if one.void]
    assert {one.void for one in void} == {Void.UPSTREAM}
    assert void
    assert "void, upstream: turn" in done.stderr
    counted = [one for one in attempts if one.counts]
    assert len(counted) == 6
    assert {one.success for one in counted if one.arm is Arm.CLEAN} == {1.0}


def test_an_upstream_that_is_gone_ends_the_run_and_says_so(play: Chaos) -> None:
    play.tasks = flights(12)
    with ScriptedProvider(Answer(error=ProviderError(503, "gone")), strict=False) as provider:
        done = play("--retries", "0", own=provider.base_url)
    assert done.exit_code == 1
    assert re.search(r"\d+ attempts in a row were void, the last by upstream", done.stderr)


def running_with(folder: Path) -> list[str]:
    """The command lines of processes that mention a folder."""
    found = []
    for one in Path("/proc").iterdir():
        if one.name.isdigit() and int(one.name) != os.getpid():
            try:
                line = (one / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                environment = (one / "environ").read_bytes()
            except OSError:
                continue
            if str(folder) in line or f"MARK={folder}".encode() in environment.split(b"\0"):
                found.append(line)
    return found


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_killed_leaves_nothing_behind_and_goes_on(
    play: Chaos, provider: ScriptedProvider, tmp_path: Path, number: signal.Signals
) -> None:
    play.tasks, play.profile = flights(10), "chaos/flaky-tools"
    file = tmp_path / "tasks.jsonl"
    file.write_text("".join(json.dumps(task) + "\n" for task in play.tasks))
    command = [
        *COMMAND,
        *("chaos", "--upstream", provider.base_url, "--profile", play.profile, "--tasks", str(file)),
        *("--out", str(play.out), "--concurrency", "2", "--", *AGENT),
    ]
    outputs = play.out / "outputs"
    child = subprocess.Popen(
        command,
        env={**ENVIRONMENT, "MARK": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (outputs.is_dir() and len(list(outputs.iterdir())) >= 3):
        assert child.poll() is None
        time.sleep(0.02)
    child.send_signal(number)
    _, said = child.communicate()
    assert (f"stopped; go on with --resume --out {play.out}" in said) == (number != signal.SIGKILL)
    while left := running_with(tmp_path):
        time.sleep(0.05)
        assert left
    store = str(play.out / "crosswind.db")
    before = {one.sessions for one in play.attempts(store) if one.success is not None}
    assert 3 <= len(before) < 20
    done = play("--resume", own=provider.base_url)
    assert done.exit_code == 0, done.output
    attempts = play.attempts(store)
    assert len(attempts) == 20
    assert {one.success is not None for one in attempts} == {True}
    assert before < {one.sessions for one in attempts}


def test_a_run_goes_on_with_the_same_settings_only(play: Chaos) -> None:
    play.tasks = flights(2)[1:]
    assert play().exit_code == 0
    again = play()
    assert again.exit_code == 2
    assert "has a run; go on with it by --resume" in again.output
    other = play("--resume", "--samples", "2")
    assert other.exit_code == 2
    assert "samples isn't what it was" in other.output
    assert AGENT[-1] not in (play.out / "run.json").read_text(), "a command line may hold a key"
    assert play("--resume").exit_code == 0
    assert len(play.attempts()) == 2


def test_two_commands_do_not_play_in_one_folder(play: Chaos) -> None:
    with lock_folder(play.out):
        first = play()
        again = play("--resume")
    assert (first.exit_code, again.exit_code) == (2, 2)
    assert "is under way; wait for its end" in again.output
    assert play().exit_code == 0


def test_the_guard_ends_what_is_marked_once_its_input_closes(tmp_path: Path) -> None:
    sleep = [sys.executable, "-c", "import time; time.sleep(3600)"]
    marked = subprocess.Popen(sleep, env={guard.VARIABLE: "a-token"}, start_new_session=True)
    other = subprocess.Popen(sleep, env={guard.VARIABLE: "another"})
    watching = subprocess.Popen(
        [sys.executable, "-I", "-S", guard.__file__, "a-token"], stdin=subprocess.PIPE
    )
    assert watching.stdin is not None
    watching.stdin.close()
    assert marked.wait(60) == -signal.SIGTERM
    assert watching.wait(60) == 0
    assert other.poll() is None
    other.kill()
    other.wait()
