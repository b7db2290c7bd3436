"""The gate passes, fails, or says that it can't tell; what isn't the agent's never counts."""

from __future__ import annotations

import pytest

from crosswind.figures.attempts import Void, Withheld
from crosswind.figures.gate import Gate, judge, order_tasks
from crosswind.figures.sequential import Verdict
from tests.figures.attempts import calm, noisy

TASKS = [f"t{number}" for number in range(100)]


@pytest.mark.parametrize(
    ("succeeds", "verdict", "status"),
    [(1.0, Verdict.PASSED, 0), (0.0, Verdict.FAILED, 4)],
)
def test_success_below_the_least_fails(succeeds: float, verdict: Verdict, status: int) -> None:
    found = judge([noisy(task, succeeds, "tool.timeout") for task in TASKS], Gate(fail_below=0.9))
    assert (found.verdict, found.exit_status) == (verdict, status)
    assert found.goals[0].tasks < len(TASKS)


def test_few_tasks_are_inconclusive_and_the_text_says_how_many_more_it_takes() -> None:
    found = judge([noisy(task, 1.0, "tool.timeout") for task in TASKS[:10]], Gate(fail_below=0.9))
    assert (found.verdict, found.exit_status) == (Verdict.INCONCLUSIVE, 3)
    assert found.text.startswith(
        "Inconclusive: success under noise of at least 90.0%: 100.0% [70.1, 100.0] over 10 of 10 tasks"
    )
    assert f"about {found.goals[0].tasks_left} more such tasks would" in found.text


@pytest.mark.parametrize("lost", range(17))
def test_a_verdict_is_what_its_interval_says_and_a_plain_failure_of_few_tasks_fails(lost: int) -> None:
    attempts = [calm(task, 1.0) for task in TASKS[:16]]
    attempts += [noisy(task, 0.5 if at < lost else 1.0, "tool.timeout") for at, task in enumerate(TASKS[:16])]
    (goal,) = judge(attempts, Gate(max_drop=0.1)).goals
    assert goal.low is not None and goal.high is not None and goal.value is not None
    assert goal.low <= goal.value <= goal.high
    assert (goal.verdict is Verdict.FAILED) is (goal.low > 0.1)
    assert (goal.verdict is Verdict.PASSED) is (goal.high < 0.1)
    assert f"[{100 * goal.low:.1f}, {100 * goal.high:.1f}]" in goal.text
    assert (goal.verdict is Verdict.FAILED) is (lost >= 13)


def test_a_drop_is_paired_and_void_attempts_are_left_out() -> None:
    attempts = [calm(task, 1.0) for task in TASKS]
    attempts += [noisy(task, 1.0, "tool.timeout") for task in TASKS[:90]]
    attempts += [noisy(task, 0.0, "tool.timeout", void=Void.UPSTREAM) for task in TASKS[90:]]
    found = judge(attempts, Gate(max_drop=0.1))
    assert found.verdict is Verdict.PASSED
    assert found.goals[0].of == 90
    assert found.goals[0].left_out == 10
    assert judge(attempts, Gate(fail_below=0.5)).goals[0].left_out == 10
    assert "; 10 more tasks have no attempt that counts in one of both." in found.text


@pytest.mark.parametrize("gate", [Gate(fail_below=0.5), Gate(max_drop=0.1)])
def test_no_gate_passes_that_leaves_out_more_than_a_tenth_of_the_tasks_as_void(gate: Gate) -> None:
    attempts = [calm(task, 1.0) for task in TASKS]
    attempts += [noisy(task, 1.0, "tool.timeout") for task in TASKS[:89]]
    attempts += [noisy(task, None, "tool.timeout", void=Void.UPSTREAM) for task in TASKS[89:]]
    found = judge(attempts, gate)
    assert (found.verdict, found.exit_status) == (Verdict.INCONCLUSIVE, 3)
    assert found.text.endswith(", more than the 10% that a gate may leave out and pass.")


def test_an_agent_that_fails_fails_the_gate_whatever_is_void() -> None:
    attempts = [noisy(task, 0.0, "tool.timeout") for task in TASKS[:50]]
    attempts += [noisy(task, None, "tool.timeout", void=Void.UPSTREAM) for task in TASKS[50:]]
    assert judge(attempts, Gate(fail_below=0.5)).verdict is Verdict.FAILED


def test_a_task_without_a_reward_yet_is_told_of_and_holds_up_no_gate() -> None:
    attempts = [noisy(task, 1.0, "tool.timeout") for task in TASKS[:50]]
    attempts += [noisy(task, None, "tool.timeout") for task in TASKS[50:]]
    found = judge(attempts, Gate(fail_below=0.5))
    assert found.verdict is Verdict.PASSED and "; 50 more tasks have no attempt that counts." in found.text


def test_two_goals_share_the_error_rate_and_both_have_to_hold() -> None:
    attempts = [calm(task, 1.0) for task in TASKS] + [noisy(task, 1.0, "tool.timeout") for task in TASKS]
    found = judge(attempts, Gate(fail_below=0.9, max_drop=0.1))
    assert [goal.verdict for goal in found.goals] == [Verdict.PASSED, Verdict.PASSED]
    lost = judge(attempts, Gate(fail_below=0.9, max_drop=0.001))
    assert lost.verdict is Verdict.INCONCLUSIVE


def test_noise_that_never_acted_passes_nothing() -> None:
    withheld = (Withheld("tool.timeout", "The tool isn't known to be repeatable.", 1),)
    attempts = [calm(task, 1.0) for task in TASKS]
    attempts += [noisy(task, 1.0, assigned=("tool.timeout",), withheld=withheld) for task in TASKS]
    found = judge(attempts, Gate(fail_below=0.5))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "nothing could be injected, because the tool isn't known to be repeatable" in found.text


def test_tasks_are_looked_at_in_an_order_that_does_not_depend_on_who_asks() -> None:
    assert order_tasks(TASKS) == order_tasks(TASKS[::-1]) != TASKS
    attempts = [noisy(task, float(task < "t5"), "tool.timeout") for task in TASKS]
    assert judge(attempts, Gate(fail_below=0.9)) == judge(attempts[::-1], Gate(fail_below=0.9))


@pytest.mark.parametrize(
    "given", [{"fail_below": 1.5}, {"fail_below": 0.0}, {"max_drop": -0.1}, {"error_rate": 0.7}]
)
def test_goals_that_mean_nothing_are_refused(given: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(given))):
        Gate(**given)
