"""Stores recorded by version 0.1.0 are carried over and verify. They replay byte for byte, with the noise of
then taken from the record."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from crosswind.gateway.cli import root
from crosswind.gateway.trajectory.dose import measure
from crosswind.gateway.trajectory.store import open_store
from crosswind.injectors import registry
from crosswind.injectors.seeded_random import GENERATOR

FOLDER = Path(__file__).with_name("recorded")
HELD = {
    "chat": {"sessions": 8, "turns": 28, "events": 51, "rewards": 1, "train_steps": 0, "operators": 30},
    "messages": {"sessions": 5, "turns": 12, "events": 19, "rewards": 0, "train_steps": 0, "operators": 17},
    "responses": {"sessions": 5, "turns": 17, "events": 23, "rewards": 0, "train_steps": 0, "operators": 17},
    "training": {"sessions": 10, "turns": 23, "events": 12, "rewards": 8, "train_steps": 2, "operators": 6},
}
"""Rows per store, and the number of operators that injected noise in it."""


EARLIER = f"drawn by version 1 of the random generator (this is {GENERATOR})"
OTHER_OPERATOR = {
    f"version 1 (version {entry.version} is installed)" for entry in registry.operators().values()
}


def run_json(*arguments: str, codes: tuple[int, ...] = (0,)) -> Any:
    """The JSON that a command prints; it must exit with one of the codes."""
    result = CliRunner().invoke(root, [*arguments, "--json"])
    assert result.exit_code in codes, result.output
    return json.loads(result.stdout)


@pytest.fixture(params=sorted(HELD))
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of a recorded store."""
    name: str = request.param
    return Path(shutil.copyfile(FOLDER / f"{name}.sqlite", tmp_path / f"{name}.db"))


def test_every_recorded_store_has_expected_counts() -> None:
    assert {file.stem for file in FOLDER.iterdir()} == HELD.keys()


def test_a_recorded_store_is_carried_over_verifies_and_replays_byte_for_byte(path: Path) -> None:
    refused = CliRunner().invoke(root, ["store", "verify", "--store", str(path)])
    assert refused.exit_code == 2 and f"crosswind store migrate {path}" in refused.stderr
    before = path.read_bytes()
    carried = run_json("store", "migrate", str(path))
    assert Path(carried["kept"]).read_bytes() == before and path.stat().st_mode & 0o777 == 0o600
    assert run_json("store", "migrate", str(path))["kept"] is None, "once"
    verdict = run_json("store", "verify", "--store", str(path))
    assert verdict["whole"] and not verdict["problems"]
    with closing(open_store(f"sqlite:///{path}", create=False)) as store:
        held = dict(store.counts())
        events = {one.id: store.events(one.id) for one in store.sessions(limit=1000)}
        steps = [step for run in store.runs() for step in store.steps(run)]
        for session in store.sessions(limit=1000):
            dose = measure(store, session)
            acted = Counter(one.operator for one in events[session.id] if one.after is not None)
            assert {name: one.injected for name, one in dose.operators.items() if one.injected} == acted
            assert dose.exposure is None or session.arm == "noisy"
    assert all(step.completed_us and step.metrics for step in steps)
    injected: Counter[str] = Counter()
    turns = 0
    for session, recorded in events.items():
        assert all(event.version == 1 for event in recorded)
        noisy = any(event.slot for event in recorded)
        told = run_json("replay", session, "--store", str(path), codes=(3,) if noisy else (0,))["turns"]
        turns += len(told)
        assert [(one["outcome"], one["sent_to_recomputed"]) for one in told] == [("same", [])] * len(told)
        for one in told:
            place = one["turn"], one["attempt"]
            of_turn = [e for e in recorded if (e.turn_index, e.attempt) == place and e.slot]
            named = [(each["operator"], each["injected"]) for each in one["not_recomputed"]]
            assert named == [(e.operator, e.after is not None) for e in of_turn], "all that was drawn then"
            assert {each["why"] for each in one["not_recomputed"]} <= {EARLIER, *OTHER_OPERATOR}
            assert not one["injected"], "nothing is drawn anew"
            injected += Counter(e.operator for e in of_turn if e.after is not None)
    found = {**held, "turns": turns, "train_steps": len(steps), "operators": len(injected)}
    assert {name: found[name] for name in HELD[path.stem]} == HELD[path.stem]
