"""`crosswind train` as people run it: its exit code and what it says."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.trainer.commands.resources import lock_folder
from crosswind.trainer.commands.train import train
from crosswind.trainer.learning.model import Policy
from tests.trainer.conftest import serving
from tests.trainer.practice import play
from tests.trainer.processes import run_python, run_trainer, start_trainer

NOWHERE = "http://127.0.0.1:9"

Run = Callable[..., Result]


@pytest.fixture
def places(first_policy: Path, tmp_path: Path) -> list[str]:
    """Where a run reads and writes."""
    return [
        *("--policy", str(first_policy), "--out", str(tmp_path / "out")),
        *("--store", f"sqlite:///{tmp_path / 'store.db'}"),
    ]


@pytest.fixture
def run(places: list[str]) -> Iterator[Run]:
    """`crosswind train run` in this process, whose own handlers of signals are put back."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield lambda *more: CliRunner().invoke(train, ["run", *places, "--wait", "0.1", *more])
    for number, handler in before.items():
        signal.signal(number, handler)


def test_its_help_needs_no_torch() -> None:
    done = run_python(
        "train(['run', '--help'], standalone_mode=False); "
        "sys.exit('torch' in sys.modules or 'pydantic' in sys.modules)"
    )
    assert done.returncode == 0, done.stderr
    assert "--groups-per-step" in done.stdout


def test_it_trains_serves_and_says_so(
    places: list[str], store: SqliteStore, policy: Policy, engine_url: str, tmp_path: Path
) -> None:
    for index in range(2):
        play(store, policy, f"g{index}", 4)
    given = ["--engine", engine_url, "--run", "quick", "--steps", 1, "--groups-per-step", 2]
    done = run_trainer("run", *places, *given, "--json-progress", "--set", "max_sequence=128", "--wait", 5)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["step"] for line in lines if line["event"] == "step"] == [1]
    assert lines[-1]["version"] == "quick-00001"
    assert (tmp_path / "out" / "versions" / "quick-00001" / "model.safetensors").is_file()


def test_an_engine_that_starts_a_moment_later_is_waited_for(places: list[str], first_policy: Path) -> None:
    """`crosswind policy serve … &` and `crosswind train run … &`, one after the other."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    given = ["--engine", f"http://127.0.0.1:{port}", "--curriculum", "off", "--wait", 0.1]
    with start_trainer(*places, *given) as training:
        assert training.stderr is not None
        assert f"for the engine at http://127.0.0.1:{port}" in training.stderr.readline()
        with serving(first_policy, port):
            _, errors = training.communicate()
    assert training.returncode == 1
    assert "no group completed for 0.1 s" in errors


def test_sigterm_ends_it_cleanly(places: list[str]) -> None:
    with start_trainer(*places, "--json-progress", "--fresh", "--curriculum", "off") as waiting:
        assert waiting.stdout is not None
        assert "waiting for groups" in waiting.stdout.readline()
        waiting.send_signal(signal.SIGTERM)
        out, errors = waiting.communicate()
    assert waiting.returncode == 0, errors
    assert json.loads(out.splitlines()[-1])["message"] == "done: step 0, version first"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--preset", "dmeo"], "--preset: there is no 'dmeo'; did you mean 'demo'?"),
        (["--set", "seed"], "--set: 'seed' isn't NAME=VALUE; write it so"),
        (["--set", "loss.clip=1"], "loss.clip: there is no such setting; did you mean 'loss.clip_low'?"),
        (["--label", "run"], "--label: 'run' isn't NAME=VALUE; write it so"),
        (["--label", "purpose=eval"], "--label: sessions of purpose=eval are evaluations, which never train"),
        (["--label", "a=1", "--label", "a=2"], "--label: no session carries a=1 and a=2 at once; name one"),
        (["--evaluate-with", "--tasks 3"], "--evaluate-with: nothing is evaluated: say every how many steps"),
        (
            ["--evaluate-every", "1", "--evaluate-with", "--environment '"],
            "--evaluate-with: \"--environment '\" can't be read as a command line (No closing quotation)",
        ),
        (
            ["--evaluate-every", "1", "--evaluate-with", "--environment shop"],
            "--evaluate-with: `crosswind bench` can't be run so: --environment",
        ),
        (
            ["--evaluate-every", "1", "--evaluate-with", "--tusks 3"],
            "--evaluate-with: `crosswind bench` can't be run so: No such option",
        ),
        (["--store", "mysql://x"], "--store: store URL 'mysql://x' has no scheme of sqlite"),
        (["--engine", NOWHERE, "--start-within", "0"], f"--engine: {NOWHERE}"),
        (
            ["--control", NOWHERE, "--start-within", "0"],
            f"--control: no control plane answers at {NOWHERE}",
        ),
        (["--policy", "nowhere"], "nowhere/crosswind.json: can't be read"),
        (["--objective", "gsop"], "objective: no 'gsop'; the nearest is 'gspo'"),
        (["--set", "curriculum.profile=noisyagnet"], "noisyagnet"),
        (["--set", "curriculum.profile=none.yaml"], "curriculum.profile: none.yaml can't be read"),
        (["--set", "curriculum.gap.start_level=9"], "curriculum.gap.start_level: profile 'noisyagent' has"),
        (["--run", "a/b"], "--run: its versions couldn't be exported; version 'a/b-00001': use letters"),
        (["--set", "device=quantum"], "device: 'quantum' can't be used: "),
    ],
)
def test_a_wrong_flag_is_one_line_and_exit_code_2(arguments: list[str], message: str, run: Run) -> None:
    done = run(*arguments)
    assert done.exit_code == 2, done.output
    (line,) = done.stderr.splitlines()
    assert message in line


def test_a_policy_that_is_not_there_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(train, ["run", "--policy", "retial", "--out", "runs/first"])
    assert done.exit_code == 2 and "--policy: retial/crosswind.json: can't be read" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_evaluation_that_can_be_run_is_not_refused(run: Run) -> None:
    """Nothing of it is played before its step comes."""
    bench = f"--control {NOWHERE} --noise tool.timeout@3 --tasks 4"
    done = run("--evaluate-every", "1", "--evaluate-with", bench)
    assert done.exit_code == 1
    assert done.stderr.startswith("crosswind: no group completed for 0.1 s (0 of 8 are there)")


@pytest.mark.parametrize(
    ("version", "arguments", "said"),
    [
        (
            "first",
            ["--label", "purpose=trian"],
            "passed over: groups whose sessions don't carry purpose=trian",
        ),
        (
            "another",
            [],
            "of the groups that came, these can't train: 2 unknown_version; they are of no version",
        ),
    ],
)
def test_groups_of_no_use_are_told_once_while_more_are_waited_for(
    run: Run, store: SqliteStore, policy: Policy, version: str, arguments: list[str], said: str
) -> None:
    """Without --wait a trainer waits for good: it says why what comes is of no use to it."""
    for index in range(2):
        play(store, policy, f"g{index}", 4, version=version)
    done = run(*arguments)
    assert done.exit_code == 1
    assert done.stdout.count(said) == 1


def test_a_folder_has_one_trainer_at_a_time(run: Run, tmp_path: Path) -> None:
    with ExitStack() as stack:
        lock_folder(stack, tmp_path / "out")
        done = run()
    assert done.exit_code == 2
    assert "--out: another trainer is at work in" in done.stderr


def test_versions_that_cannot_be_kept_are_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "out" / "versions" / "journal.jsonl").mkdir(parents=True)
    done = run()
    assert done.exit_code == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("crosswind: ") and "can't be written" in line


def test_presets_can_be_listed_and_read_without_torch() -> None:
    listed = CliRunner().invoke(train, ["presets"])
    assert "noisyagent/ours" in listed.stdout.splitlines()
    done = run_python(
        "train(['presets', 'noisyagent/ours'], standalone_mode=False); sys.exit('torch' in sys.modules)"
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["loss"]["dual_clip"] == 3.0
    assert CliRunner().invoke(train, ["presets", "noisyagent/mine"]).exit_code == 2
