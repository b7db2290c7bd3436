"""The oracle solves every kind of task, in calm; `test_every_profile` has it under noise."""

from __future__ import annotations

from itertools import islice, permutations
from typing import Any

import pytest

from crosswind.simulators.environment import load
from crosswind.simulators.episodes.demonstrations import play
from crosswind.simulators.retail.toolbox import Toolbox

RETAIL = load("retail")


@pytest.mark.parametrize("split", ["train", "test"])
def test_every_task_is_solved(split: str) -> None:
    for task in islice(RETAIL.tasks(split, kinds="all", seed=0), 650):
        messages, verdict = play(RETAIL.reset(task, 0), RETAIL.oracle(), RETAIL.instructions)
        assert verdict.reward == 1.0, (task, messages)
        assert verdict.components == {"database_ok": 1.0, "told_ok": 1.0, "read_ok": 1.0, "not_executed": 0.0}


def test_a_practised_episode_is_short() -> None:
    """What a very small policy can learn: at most four answers, of few words."""
    for task in islice(RETAIL.tasks("train", kinds="practice", seed=0), 140):
        messages, _ = play(RETAIL.reset(task, 0), RETAIL.oracle(), RETAIL.instructions)
        answers = [message for message in messages if message["role"] == "assistant"]
        assert 2 <= len(answers) <= 4
        assert all(len(message["content"] or "") <= 60 for message in answers)
        assert all(len(message["content"]) <= 90 for message in messages if message["role"] == "tool")


def test_of_several_tools_under_a_short_name_the_one_that_takes_what_is_meant_is_tried() -> None:
    def listed(name: str, **takes: str) -> dict[str, Any]:
        properties = {parameter: {"type": kind} for parameter, kind in takes.items()}
        return {"type": "function", "function": {"name": name, "parameters": {"properties": properties}}}

    shown = [
        listed("get_product", product_id="string"),
        listed("get_pro", limit="integer"),
        listed("get_pro"),
        listed("get_pro", product_id="integer"),
    ]
    for tools in permutations(shown):
        ways = list(Toolbox(tools).ways("get_product", {"product_id": "#P7"}))
        assert ways == [
            ("get_product", {"product_id": "#P7"}),
            ("get_pro", {"product_id": 7}),
            ("get_pro", {"product_id": "#P7"}),
        ]
