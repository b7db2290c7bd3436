"""`crosswind train` as people run it: a process of its own, its exit code and what it says."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from click.testing import CliRunner

from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.trainer.commands.resources import lock_folder
from crosswind.trainer.commands.train import train
from crosswind.trainer.learning import model
from tests import ROOT
from tests.trainer.conftest import serving
from tests.trainer.practice import play

TRAIN = [
    sys.executable,
    "-c",
    "from crosswind.trainer.commands.train import train; train(prog_name='crosswind train')",
]
NOWHERE = "http://127.0.0.1:9"


def crosswind(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [*TRAIN, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_its_help_needs_no_torch() -> None:
    code = "import sys; from crosswind.trainer.commands.train import train; "
    code += "train(['run', '--help'], standalone_mode=False); "
    code += "sys.exit('torch' in sys.modules or 'pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "--groups-per-step" in done.stdout


def test_it_trains_serves_and_says_so(first_policy: Path, engine_url: str, tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    policy = model.load(first_policy)
    for index in range(2):
        play(store, policy, f"g{index}", 4, reward=lambda done: done[0].token_ids[0] % 5 / 4)
    store.close()
    given = ["--store", f"sqlite:///{store.path}", "--policy", first_policy, "--engine", engine_url]
    given += ["--out", tmp_path / "quick", "--steps", 1, "--groups-per-step", 2, "--json-progress"]
    done = crosswind("run", *given, "--set", "max_sequence=128", "--wait", 5)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["step"] for line in lines if line["event"] == "step"] == [1]
    assert lines[-1]["version"] == "quick-00001"
    assert (tmp_path / "quick" / "versions" / "quick-00001" / "model.safetensors").is_file()


def test_an_engine_that_starts_a_moment_later_is_waited_for(first_policy: Path, tmp_path: Path) -> None:
    """`crosswind policy serve … &` and `crosswind train run … &`, one after the other."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    given = ["--store", f"sqlite:///{tmp_path}/store.db", "--policy", first_policy, "--out", tmp_path / "out"]
    given += ["--engine", f"http://127.0.0.1:{port}", "--curriculum", "off", "--wait", 0.1]
    with subprocess.Popen(
        [*TRAIN, "run", *map(str, given)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as training:
        assert training.stderr is not None
        assert f"for the engine at http://127.0.0.1:{port}" in training.stderr.readline()
        with serving(first_policy, port):
            _, errors = training.communicate()
    assert training.returncode == 1
    assert "no group completed for 0.1 s" in errors


def test_sigterm_ends_it_cleanly(first_policy: Path, tmp_path: Path) -> None:
    arguments = [
        "run",
        "--store",
        f"sqlite:///{tmp_path}/store.db",
        "--policy",
        first_policy,
        "--out",
        tmp_path / "out",
    ]
    arguments += ["--json-progress", "--fresh", "--curriculum", "off"]
    with subprocess.Popen(
        [*TRAIN, *map(str, arguments)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as waiting:
        assert waiting.stdout is not None
        assert "waiting for groups" in waiting.stdout.readline()
        waiting.send_signal(signal.SIGTERM)
        out, errors = waiting.communicate()
    assert waiting.returncode == 0, errors
    assert json.loads(out.splitlines()[-1])["message"] == "done: step 0, version first"


@pytest.fixture
def own_signals() -> Iterator[None]:
    """The command sets handlers for the process that it runs in; here that is pytest's."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("own_signals")
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
        (["--run", "a/b"], "--run: its versions couldn't be exported; version 'a/b-00001': use letters"),
        (["--set", "device=quantum"], "device: 'quantum' can't be used: "),
    ],
)
def test_a_wrong_flag_is_one_line_and_exit_code_2(
    arguments: list[str], message: str, first_policy: Path, tmp_path: Path
) -> None:
    given = [
        "run",
        "--policy",
        str(first_policy),
        "--out",
        str(tmp_path),
        "--store",
        f"sqlite:///{tmp_path}/s.db",
    ]
    done = CliRunner().invoke(train, [*given, "--wait", "0.1", *arguments])
    assert done.exit_code == 2, done.output
    (line,) = done.stderr.splitlines()
    assert message in line


@pytest.mark.usefixtures("own_signals")
def test_an_evaluation_that_can_be_run_is_not_refused(first_policy: Path, tmp_path: Path) -> None:
    """Nothing of it is played before its step comes."""
    given = ["run", "--policy", str(first_policy), "--out", str(tmp_path), "--wait", "0.1"]
    given += ["--store", f"sqlite:///{tmp_path}/s.db", "--evaluate-every", "1"]
    given += ["--evaluate-with", f"--control {NOWHERE} --noise tool.timeout@3 --tasks 4"]
    done = CliRunner().invoke(train, given)
    assert done.exit_code == 1
    assert done.stderr.startswith("train: no group completed for 0.1 s")


@pytest.mark.usefixtures("own_signals")
def test_groups_without_the_label_are_told_once(first_policy: Path, tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")
    for index in range(2):
        play(store, model.load(first_policy), f"g{index}", 4, reward=lambda done: 1.0)
    store.close()
    given = ["run", "--policy", str(first_policy), "--out", str(tmp_path / "out"), "--wait", "0.1"]
    given += ["--store", f"sqlite:///{store.path}", "--label", "purpose=trian"]
    done = CliRunner().invoke(train, given)
    assert done.exit_code == 1
    assert done.output.count("passed over: groups whose sessions don't carry purpose=trian") == 1


@pytest.mark.usefixtures("own_signals")
def test_a_folder_has_one_trainer_at_a_time(first_policy: Path, tmp_path: Path) -> None:
    given = [
        "run",
        "--policy",
        str(first_policy),
        "--out",
        str(tmp_path),
        "--store",
        f"sqlite:///{tmp_path}/s.db",
    ]
    with ExitStack() as stack:
        lock_folder(stack, tmp_path)
        done = CliRunner().invoke(train, given)
    assert done.exit_code == 2
    assert "--out: another trainer is at work in" in done.stderr


@pytest.mark.usefixtures("own_signals")
def test_no_group_in_time_is_a_failure(first_policy: Path, tmp_path: Path) -> None:
    given = [
        "run",
        "--policy",
        str(first_policy),
        "--out",
        str(tmp_path),
        "--store",
        f"sqlite:///{tmp_path}/s.db",
    ]
    done = CliRunner().invoke(train, [*given, "--wait", "0.1"])
    assert done.exit_code == 1
    assert done.stderr.startswith("train: no group completed for 0.1 s (0 of 8 are there)")


@pytest.mark.usefixtures("own_signals")
def test_groups_that_cannot_train_are_told_while_more_are_waited_for(
    first_policy: Path, tmp_path: Path
) -> None:
    """Without --wait a trainer waits for good: it says why what comes is of no use to it."""
    store = SqliteStore(tmp_path / "s.db")
    play(store, model.load(first_policy), "g0", 4, reward=lambda done: 1.0, version="another")
    store.close()
    given = ["run", "--policy", str(first_policy), "--out", str(tmp_path / "out")]
    given += ["--store", f"sqlite:///{store.path}"]
    done = CliRunner().invoke(train, [*given, "--wait", "0.1"])
    assert done.exit_code == 1
    told = "of the groups that came, these can't train: 1 unknown_version; they are of no version of this run"
    assert told in done.output


@pytest.mark.usefixtures("own_signals")
def test_versions_that_cannot_be_kept_are_one_line(first_policy: Path, tmp_path: Path) -> None:
    (tmp_path / "versions").mkdir()
    (tmp_path / "versions" / "journal.jsonl").mkdir()
    given = ["run", "--policy", str(first_policy), "--out", str(tmp_path)]
    given += ["--store", f"sqlite:///{tmp_path}/s.db", "--wait", "0.1"]
    done = CliRunner().invoke(train, given)
    assert done.exit_code == 1
    assert done.stderr.startswith("train: ") and "can't be written" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_presets_can_be_listed_and_read_without_torch() -> None:
    listed = CliRunner().invoke(train, ["presets"])
    assert "noisyagent/ours" in listed.stdout.splitlines()
    code = "import sys; from crosswind.trainer.commands.train import train; "
    code += "train(['presets', 'noisyagent/ours'], standalone_mode=False); sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["loss"]["dual_clip"] == 3.0
    assert CliRunner().invoke(train, ["presets", "noisyagent/mine"]).exit_code == 2
