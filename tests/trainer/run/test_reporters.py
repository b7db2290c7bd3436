"""Where a run's figures go: a file, TensorBoard's own reader, a scrape, and a drawn table."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path

import httpx
import orjson
import pytest
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console

from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.trainer.errors import RunRefused
from crosswind.trainer.learning.model import Policy
from crosswind.trainer.run.loop import train
from crosswind.trainer.run.progress import Progress
from crosswind.trainer.run.reporters import JsonLines, Prometheus, TensorBoard
from crosswind.trainer.run.watch import Watch, draw_line
from tests.trainer.practice import make_run, play, settings


@pytest.fixture
def groups(store: SqliteStore, policy: Policy) -> SqliteStore:
    for number in range(4):
        play(store, policy, f"g{number}", 4, noisy=2)
    return store


def test_every_reporter_tells_the_same_of_a_run(
    groups: SqliteStore, first_policy: Path, tmp_path: Path
) -> None:
    lines, board = JsonLines(tmp_path / "figures" / "run.jsonl"), TensorBoard(tmp_path / "board")
    metrics = Prometheus(0, "127.0.0.1")
    told = StringIO()
    watch = Watch(Console(file=told, width=80, force_terminal=True), 2)
    progress = Progress(as_json=False, reporters=[lines, board, metrics], watch=watch)
    train(make_run(tmp_path / "out", first_policy, groups, settings(steps=2), progress=progress))
    scraped = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(
            httpx.get(f"http://127.0.0.1:{metrics.port}/metrics").text
        )
        for sample in family.samples
    }
    for each in (lines, board, metrics, watch):
        each.close()

    first, last = map(orjson.loads, (tmp_path / "figures" / "run.jsonl").read_bytes().splitlines())
    assert (first["step"], last["step"]) == (1, 2) and last["tokens_per_second"] > 0
    assert scraped["crosswind_train_step",] == 2
    assert scraped["crosswind_train_version", "run-00002"] == 1
    assert ("crosswind_train_version", "run-00001") not in scraped
    for arm in ("clean", "noisy"):
        assert scraped["crosswind_train_reward", arm] == last["rewards"][arm]
    for kind, rate in last["exposure_rates"].items():
        assert scraped.get(("crosswind_train_exposure_rate", kind)) == rate
        assert scraped["crosswind_train_level", kind] == last["levels"][kind]
    scalars = read_board(tmp_path / "board")
    assert scalars["loss"] == pytest.approx([first["loss"], last["loss"]])
    assert scalars["rewards/noisy"] == pytest.approx([first["rewards"]["noisy"], last["rewards"]["noisy"]])
    shown = told.getvalue()
    assert "2 of 2" in shown and "user.typos" in shown and "a second" in shown
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|.*\r", "", shown)
    assert max(map(len, plain.splitlines())) <= 80


def read_board(folder: Path) -> dict[str, list[float]]:
    """By TensorBoard's own reader, in a process of its own: it warns of its dependencies."""
    code = (
        "import sys, json\n"
        "from tensorboard.backend.event_processing.event_accumulator import EventAccumulator\n"
        "board = EventAccumulator(sys.argv[1]); board.Reload()\n"
        "print(json.dumps({n: [s.value for s in board.Scalars(n)] for n in board.Tags()['scalars']}))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, check=True)
    found: dict[str, list[float]] = orjson.loads(done.stdout.splitlines()[-1])
    return found


def test_what_cannot_be_written_or_listened_on_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunRefused, match=r"--metrics-file: .*file/run.jsonl can't be written"):
        JsonLines(tmp_path / "file" / "run.jsonl")
    taken = Prometheus(0, "127.0.0.1")
    with pytest.raises(RunRefused, match=f"--metrics-port: 127.0.0.1:{taken.port} can't be listened on"):
        Prometheus(taken.port, "127.0.0.1")
    taken.close()


def test_a_run_that_moves_nothing_says_so(
    store: SqliteStore, policy: Policy, first_policy: Path, tmp_path: Path
) -> None:
    for number in range(20):
        play(store, policy, f"g{number}", 2, reward=lambda done: 1.0, turns=1)
    said = StringIO()
    config = settings(steps=20, groups_per_step=1, group_size=2)
    progress = Progress(as_json=False, stream=said)
    train(make_run(tmp_path / "out", first_policy, store, config, progress=progress))
    assert said.getvalue().count("the last 20 steps moved no weight: 1 of 1 groups of this one") == 1


def test_a_row_of_bars_goes_from_the_lowest_to_the_highest() -> None:
    assert draw_line([0.0, 0.5, 1.0]) == "▁▅█" and draw_line([0.3, 0.3]) == "▁▁" and draw_line([]) == ""


def test_watching_needs_a_terminal(first_policy: Path, tmp_path: Path) -> None:
    given = ["train", "run", "--policy", str(first_policy), "--out", str(tmp_path / "out"), "--wait", "0.1"]
    given += ["--store", str(tmp_path / "s.db")]
    command = [sys.executable, "-m", "crosswind.gateway.cli", *given, "--watch"]
    piped = subprocess.run(command, capture_output=True, text=True, check=False)
    assert piped.returncode == 2 and "--watch: it draws in a terminal" in piped.stderr
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.PIPE) as drawn:
        os.close(theirs)
        shown = b""
        try:
            while read := os.read(ours, 4096):
                shown += read
        except OSError:  # The other end is closed.
            pass
        assert drawn.wait() == 1
    os.close(ours)
    assert b"waiting for the first step" in shown
