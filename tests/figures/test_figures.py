"""Figures of small sets of attempts, worked out by hand."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from crosswind.figures.attempts import Attempt, ErrorMode, Reaction, Void, Withheld
from crosswind.figures.breakdown import By, DropRow
from crosswind.figures.figures import Figures, measure
from crosswind.figures.success import measure_success, pass_at_k, pass_hat_k
from tests.figures.attempts import calm, kind_of, noisy


def find(figures: Figures, by: By, name: str) -> DropRow:
    return next(row for row in figures.rows if (row.by, row.name) == (by, name))


def test_pass_at_k_and_pass_hat_k_of_four_attempts_with_one_success() -> None:
    """Drawn without replacement: of the 6 pairs, 3 hold the success, and none holds two."""
    assert [pass_at_k(4, 1, k) for k in (1, 2, 4)] == [0.25, 0.5, 1.0]
    assert [pass_hat_k(4, 1, k) for k in (1, 2, 4)] == [0.25, 0.0, 0.0]
    assert pass_hat_k(4, 3, 2) == 0.5


def test_success_over_samples() -> None:
    """Task a solved in 2 of 2, task b in 1 of 2: Avg 0.75, Pass@2 1, pass^2 0.5."""
    found = measure_success([calm("a", 1.0, 0), calm("a", 1.0, 1), calm("b", 1.0, 0), calm("b", 0.0, 1)])
    assert (found.success, found.tasks) == (0.75, 2)
    assert [(one.k, one.avg, one.any, one.all) for one in found.samples] == [
        (1, 0.75, 0.75, 0.75),
        (2, 0.75, 1.0, 0.5),
    ]


def test_void_attempts_and_those_without_an_outcome_count_nowhere() -> None:
    found = measure_success([calm("a", 1.0), calm("b", None, void=Void.UPSTREAM), calm("c", None)])
    assert (found.attempts, found.counted, found.pending, found.success) == (3, 1, 1, 1.0)
    assert found.void == {"upstream": 1}
    # A void attempt's success isn't read, whatever stands there.
    assert measure_success([calm("a", 0.0, void=Void.GATEWAY)]).success is None


def test_the_drop_by_operator_kind_and_component() -> None:
    """Four tasks, solved in calm. The timeouts cost a and b, the typos nobody: 50 points in all, 100 under
    the timeouts, 0 under the typos."""
    attempts = [calm(task, 1.0) for task in "abcd"]
    attempts += [noisy(task, 0.0, "tool.timeout") for task in "ab"]
    attempts += [noisy(task, 1.0, "user.typos") for task in "cd"]
    found = measure(attempts, kind_of)
    assert found.drop.paired is not None
    assert (found.drop.paired.before, found.drop.paired.after, found.drop.paired.difference) == (
        1.0,
        0.5,
        -0.5,
    )
    assert (found.drop.retention.value, found.drop.relative) == (0.5, -0.5)
    for by, name, lost in (
        (By.OPERATOR, "tool.timeout", -1.0),
        (By.KIND, "tool", -1.0),
        (By.COMPONENT, "transition", -1.0),
        (By.OPERATOR, "user.typos", 0.0),
        (By.COMPONENT, "observation", 0.0),
        (By.PROFILE, "p", -0.5),
    ):
        row = find(found, by, name)
        assert row.as_assigned is not None and row.as_exposed is not None
        assert (row.as_assigned.difference, row.as_exposed.difference) == (lost, lost)
    stage = find(found, By.STAGE, "middle")
    assert (stage.assigned, stage.exposed, stage.as_assigned) == (None, 4, None)
    assert stage.as_exposed is not None and stage.as_exposed.difference == -0.5
    assert find(found, By.TURN, "2").exposed == 4
    assert find(found, By.TOOL, "search").injected == 4
    assert [(flip.task, flip.operators) for flip in found.flips] == [
        ("a", ("tool.timeout",)),
        ("b", ("tool.timeout",)),
    ]


def test_assigned_and_exposed_are_told_apart() -> None:
    """Half of those that were assigned it met it and failed: 50 points as assigned, 100 as exposed."""
    attempts = [calm(task, 1.0) for task in "abcd"]
    attempts += [noisy(task, 0.0, "tool.timeout") for task in "ab"]
    attempts += [noisy(task, 1.0, assigned=("tool.timeout",)) for task in "cd"]
    found = measure(attempts, kind_of)
    row = find(found, By.OPERATOR, "tool.timeout")
    assert (row.assigned, row.exposed) == (4, 2)
    assert row.as_assigned is not None and row.as_assigned.difference == -0.5
    assert row.as_exposed is not None and row.as_exposed.difference == -1.0
    assert found.drop.cost is not None
    assert (found.drop.cost.exposure_rate, found.drop.cost.gap) == (0.5, 1.0)


def test_robustbenchs_retention_averages_three_components() -> None:
    """Clean 1; drops 1, 0 and 0.5: 1 − 0.5 / 1."""
    attempts = [calm(task, 1.0) for task in "abcd"]
    attempts += [noisy("a", 0.0, "user.typos"), noisy("b", 1.0, "schema.redundant_tool")]
    attempts += [noisy("c", 1.0, "user.cost_cue"), noisy("d", 0.0, "user.cost_cue")]
    assert measure(attempts, kind_of).drop.component_retention == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("given", "because"),
    [
        (
            {"withheld": (Withheld("tool.timeout", "The tool isn't known to be repeatable.", 3),)},
            "nothing could be injected, because the tool isn't known to be repeatable (3 times)",
        ),
        (
            {"turns": 0},
            "nothing could be injected, because no request of these tasks came through the gateway",
        ),
        (
            {"eligible": {"tool.timeout": 0}},
            "nothing could be injected, because there was no place that it acts at",
        ),
        (
            {"eligible": {"tool.timeout": 0}, "tool_calls": 0},
            "nothing could be injected, because no attempt called a tool",
        ),
        ({"assigned": ()}, "nothing could be injected, because the sessions had a profile without rules"),
        ({}, "nothing was injected: no draw fell on any of these attempts"),
    ],
)
def test_noise_that_did_not_act_has_no_success(given: dict[str, object], because: str) -> None:
    attempts = [calm("a", 1.0), noisy("a", 1.0, **{"assigned": ("tool.timeout",), **given})]
    found = measure(attempts, kind_of)
    assert (found.drop.paired, found.drop.because) == (None, because)
    assert all(row.as_assigned is None and row.because for row in found.rows)


def test_recovery_and_error_modes() -> None:
    fault = noisy("a", 1.0, "tool.timeout").faults[0]
    got_past = replace(fault, reaction=Reaction.RETRIED, recovered=True, turns_to_recover=1)
    gave_up = replace(fault, reaction=Reaction.GAVE_UP, recovered=False)
    attempts: list[Attempt] = [
        noisy("a", 1.0, faults=(got_past,)),
        noisy("b", 0.0, faults=(gave_up, got_past), error_mode=ErrorMode.OMITTED),
        noisy("c", 0.0, faults=(fault,)),
        calm("a", 0.0, error_mode=ErrorMode.EMPTY),
    ]
    found = measure(attempts, kind_of)
    everything = found.recovery[0]
    assert (everything.faults, everything.read, everything.lost, everything.recovered) == (4, 3, 3, 2)
    assert everything.reactions == {"retried": 2, "gave_up": 1}
    assert (everything.turns, everything.solved_after, everything.solved_without) == (1, 1.0, 0.0)
    assert found.error_modes == {"clean": {"empty": 1}, "noisy": {"omitted": 1, "not read": 1}}


def test_all_faults_are_those_of_the_operators_that_have_a_reaction() -> None:
    """Typing errors ask for none: their faults would stand in the sum without a row that adds to it."""
    (fault,) = noisy("a", 1.0, "tool.timeout").faults
    met = replace(fault, reaction=Reaction.RETRIED, recovered=True, turns_to_recover=1)
    typos = noisy("a", 1.0, "user.typos", "user.typos").faults
    everything, *rows = measure([noisy("a", 1.0, faults=(met, *typos))], kind_of).recovery
    assert everything.faults == sum(row.faults for row in rows if row.read) == 1
    assert [(row.name, row.faults, row.read) for row in rows] == [
        ("tool.timeout", 1, 1),
        ("user.typos", 2, 0),
    ]


def test_the_order_of_attempts_changes_nothing() -> None:
    attempts = [calm(task, float(task in "abc"), sample) for task in "abcdef" for sample in range(3)]
    attempts += [
        noisy(task, float(task in "ab"), "tool.timeout", sample=sample)
        for task in "abcdef"
        for sample in range(3)
    ]
    assert measure(attempts, kind_of).to_json() == measure(attempts[::-1], kind_of).to_json()


def test_a_profile_that_never_acted_counts_in_no_drop() -> None:
    """Under p all is lost. Under q no noise acted, and all is solved as in calm."""
    attempts = [calm(task, 1.0) for task in "ab"]
    attempts += [noisy(task, 0.0, "tool.timeout") for task in "ab"]
    attempts += [noisy(task, 1.0, profile="q", assigned=("user.typos",)) for task in "ab"]
    found = measure(attempts, kind_of)
    assert found.drop.paired is not None and found.drop.paired.after == 0.0
    assert (found.arms["noisy"].success, found.arms["noisy"].attempts) == (0.0, 4)
    assert find(found, By.PROFILE, "q").because


def test_arms_without_a_common_task_are_told_unpaired() -> None:
    """As in live traffic. Success 1 clean, 0.5 noisy: −50 points, for the operator that was met −100."""
    attempts = [calm(f"c{number}", 1.0) for number in range(4)]
    attempts += [noisy(f"n{number}", 0.0, "tool.timeout") for number in range(2)]
    attempts += [noisy(f"m{number}", 1.0, assigned=("tool.timeout",)) for number in range(2)]
    found = measure(attempts, kind_of)
    assert found.drop.paired is None and found.drop.unpaired is not None
    assert found.drop.unpaired.difference == -0.5
    row = find(found, By.OPERATOR, "tool.timeout")
    assert row.as_exposed is None and row.unpaired is not None
    assert (row.unpaired.difference, row.unpaired.low, row.unpaired.high) == (-1.0, -1.0, -1.0)


def test_flips_stand_in_the_order_of_the_numbers_in_their_names() -> None:
    tasks = ["t10", "t9", "t2", "other", "t2b"]
    attempts = [calm(task, 1.0) for task in tasks] + [noisy(task, 0.0, "tool.timeout") for task in tasks]
    assert [flip.task for flip in measure(attempts).flips] == ["other", "t2", "t2b", "t9", "t10"]


def test_a_tools_name_at_the_beginning_of_a_reason_stays_as_it_is() -> None:
    withheld = (Withheld("tool.incomplete", "Withheld: Bash is of class unknown.", 1),)
    asleep = [noisy("a", 1.0, assigned=("tool.incomplete",), withheld=withheld)]
    assert "because Bash is of class unknown" in measure([calm("a", 1.0), *asleep]).drop.because
