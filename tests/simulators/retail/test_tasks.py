"""Tasks are determined by their ids, and the splits share nothing that could be learnt by heart."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosswind.simulators.draws import Draws
from crosswind.simulators.environment import load
from crosswind.simulators.episodes.demonstrations import demonstrations
from crosswind.simulators.retail import tasks
from crosswind.simulators.retail.kinds import ALL, PRACTICE
from crosswind.simulators.retail.world import generate, pool

RETAIL = load("retail")
SCRIPT = """
import json
from itertools import islice
from crosswind.simulators.episodes.demonstrations import demonstrations
from crosswind.simulators.environment import load
retail = load("retail")
print(json.dumps([list(demonstrations(retail, split, "all", 39, 7)) for split in ("train", "test")]))
"""


def test_another_process_makes_the_same_demonstrations() -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    other = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, check=True, env=environment)
    here = [list(demonstrations(RETAIL, split, "all", 39, 7)) for split in ("train", "test")]
    assert json.loads(other.stdout) == json.loads(json.dumps(here))


@given(number=st.integers(0, tasks.PER_KIND * len(ALL) - 1), split=st.sampled_from(["train", "test"]))
def test_a_task_names_only_ids_of_its_split(number: int, split: str) -> None:
    task = RETAIL.task(f"retail-{split}-{number:05d}")
    case = tasks.instantiate(task.id)
    world = generate(split, Draws("retail-task", task.id))
    named = {int(found) for found in re.findall(r"#[WPU](\d{4})", repr(world) + repr(case.goal))}
    assert named and named <= set(pool(split))
    assert task.kind == ALL[number % len(ALL)]


def test_the_splits_have_disjoint_numbers_and_share_their_halves() -> None:
    train, test = set(pool("train")), set(pool("test"))
    assert not train & test and len(train | test) == 10_000
    for half in (lambda number: number // 100, lambda number: number % 100):
        assert set(map(half, train)) == set(map(half, test)) == set(range(100))


@pytest.mark.parametrize("kinds", ["practice", "all", "cancel"])
def test_a_seed_walks_through_the_kinds_in_turn_without_repeating_a_task(kinds: str) -> None:
    wanted = RETAIL.kinds[kinds]
    walked = list(islice(RETAIL.tasks("train", kinds=kinds, seed=3), 50 * len(wanted)))
    assert [task.kind for task in walked] == list(wanted) * 50
    assert len({task.id for task in walked}) == len(walked)
    assert walked == list(islice(RETAIL.tasks("train", kinds=kinds, seed=3), len(walked)))
    assert walked != list(islice(RETAIL.tasks("train", kinds=kinds, seed=4), len(walked)))


def test_there_is_something_to_practise_and_more_to_master() -> None:
    assert set(PRACTICE) < set(ALL)
    assert 6 <= len(PRACTICE) <= 7 and len(ALL) >= 10 and len(RETAIL.tools) >= 12


@pytest.mark.parametrize(
    "bad", ["retail-train-7", "retail-dev-00007", "shop-train-00007", "retail-train-999999", ""]
)
def test_a_foreign_task_id_is_refused_by_name(bad: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(bad))):
        RETAIL.task(bad)


def test_the_seed_changes_the_wording_and_nothing_else() -> None:
    task = RETAIL.task("retail-train-00003")
    openings = {RETAIL.reset(task, seed).opening for seed in range(20)}
    assert len(openings) > 1
    assert len({re.search(r"#W\d{4}", opening)[0] for opening in openings}) == 1  # type: ignore[index]
