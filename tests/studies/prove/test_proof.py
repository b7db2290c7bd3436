"""Solvability, and dose and response, in small: through a real gateway over HTTP."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from crosswind.injectors.profiles.load import names, parse, source
from crosswind.simulators.environment import load
from crosswind.studies.dose.command import dose
from crosswind.studies.dose.response import DoseMeasurement, spearman, words_edited
from crosswind.studies.prove.cases import Catalogue, cases_alone, cases_as_written, cases_varied
from crosswind.studies.prove.command import prove
from crosswind.studies.prove.episodes import HeldOutTasks, run
from crosswind.studies.prove.proof import (
    BOUNDED,
    LEFT_CLEAN,
    TOOK_PLACE,
    WITHHELD,
    Proof,
    Row,
    injection_fates,
)

RETAIL = load("retail")
MANY = 40
"""Built-in profiles that inject in two tasks already; others come too seldom or late for so few."""


def proof_of(profiles: Sequence[str], operators: Sequence[str], *, recovers: bool, each: int) -> Proof:
    def plan(catalogue: Catalogue) -> Any:
        cases = [
            *cases_as_written(catalogue, profiles),
            *cases_alone(catalogue, operators, RETAIL.repeatable),
        ]
        return HeldOutTasks(RETAIL, 3).assign_next(cases, each), Proof(catalogue)

    proof, _ = run(RETAIL, plan, seed=3, recovers=recovers, concurrency=32, store=None)
    return proof


def test_the_oracle_solves_tasks_under_every_profile() -> None:
    proof = proof_of(["*"], [], recovers=True, each=2)
    assert proof.unsolved == []
    assert {name for name, _, _ in proof.profiles} == set(proof.catalogue.profiles)
    injecting = [row for row in proof.profiles.values() if row.fates[TOOK_PLACE]]
    assert len(injecting) >= MANY, "and the noise really took place"


def test_faults_that_find_no_place_in_an_answer_are_left_clean() -> None:
    """They are decided with the request: whether its answer is a stream long enough, or has a call, is
    unknown then."""
    proof = proof_of([], ["model.malformed_arguments", "transport.sse_cut"], recovers=True, each=4)
    assert [*proof.find_problems()] == []
    for name in ("model.malformed_arguments", "transport.sse_cut"):
        rows = [row for (own, _), row in proof.operators.items() if own == name]
        assert sum(row.fates[LEFT_CLEAN] for row in rows) > 0


def test_every_profile_makes_a_profile_at_each_severity_in_each_stage() -> None:
    written = {name: yaml.safe_load(source(name)) for name in names()}
    cases = list(cases_varied(Catalogue(written, {}), ["*"]))
    assert {case.subject for case in cases} == {name for name, each in written.items() if each["rules"]}
    for case in cases:
        assert case.yaml is not None
        profile = parse(case.yaml, case.profile)
        assert all((rule.severity, rule.when.stage) == (case.severity, case.stage) for rule in profile.rules)


def test_an_oracle_without_recovery_is_told_of() -> None:
    proof = proof_of(["robustbench-tc/Timeout"], ["schema.ghost_tool"], recovers=False, each=2)
    told = [*proof.find_problems()]
    assert len([one for one in told if one.startswith("unsolved: robustbench-tc/Timeout")]) == 2
    assert any(one.startswith("unsolved: proof/schema.ghost_tool/1") for one in told)


def test_the_commands_page_and_exit_code(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    calm = ("--profiles", "off", "--operators", "none.*", "--tasks", "1", "0", "0", "--out", str(page))
    assert CliRunner().invoke(prove, calm).exit_code == 0, "a profile without rules has nothing to inject"
    assert "| `off` | 1/1 | 0 |" in page.read_text()
    too_few = CliRunner().invoke(dose, ["--operators", "tool.misread", "--tasks", "2"])
    assert too_few.exit_code == 1 and "tool.misread: ρ is" in too_few.output


@pytest.mark.parametrize(
    "command,arguments,words",
    [
        (
            prove,
            ["--operators", "usr.typos"],
            "--operators: 'usr.typos' matches none; did you mean 'user.typos'?",
        ),
        (prove, ["--profiles", "chaos/brownot"], "did you mean 'chaos/brownout'?"),
        (prove, ["--out", f"{__file__}/page.md"], "test_proof.py is no folder; name another file"),
        (prove, ["--tasks", "0", "0", "0"], "--tasks: 0 0 0 proves nothing"),
        (
            dose,
            ["--operators", "user.typos", "--operators", "xyz"],
            "--operators: 'xyz' matches none; widen it",
        ),
    ],
)
def test_what_would_measure_nothing_is_refused(command: Any, arguments: list[str], words: str) -> None:
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 2 and words in done.output


def test_a_page_has_the_plots_that_there_are(tmp_path: Path) -> None:
    CliRunner().invoke(dose, ["--operators", "user.redundant", "--tasks", "2", "--out", str(tmp_path)])
    page = (tmp_path / "dose-response.md").read_text()
    assert "dose-distances.svg" in page and "dose-failures.svg" not in page
    assert (tmp_path / "dose-distances.svg").exists() and not (tmp_path / "dose-failures.svg").exists()


RISING = ("tool.timeout", "schema.ghost_tool", "user.ambiguous", "user.typos", "transport.latency")


def test_responses_rise_with_the_dose(tmp_path: Path) -> None:
    operators = [part for name in RISING for part in ("--operators", name)]
    done = CliRunner().invoke(dose, [*operators, "--tasks", "12", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "dose-response.md").read_text()
    for name in RISING:
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{name}`")]
        assert float(row.split("|")[-2]) >= 0.9
    for plot in ("dose-failures.svg", "dose-distances.svg"):
        assert (tmp_path / plot).read_text().startswith("<?xml")


def test_an_agent_that_recovers_has_no_response() -> None:
    def plan(catalogue: Catalogue) -> Any:
        assignments = HeldOutTasks(RETAIL, 0).assign_first(cases_alone(catalogue, ["tool.timeout"], ()), 3)
        return assignments, DoseMeasurement(catalogue)

    measured, _ = run(RETAIL, plan, seed=0, recovers=True, concurrency=16, store=None)
    (response,) = measured.responses()
    assert response.values == (0.0,) * 5 and not response.rises


@pytest.mark.slow
def test_the_whole_proof() -> None:
    done = CliRunner().invoke(prove, [])
    assert done.exit_code == 0, done.output


@pytest.mark.slow
def test_the_whole_of_dose_and_response() -> None:
    done = CliRunner().invoke(dose, [])
    assert done.exit_code == 0, done.output


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=8, unique=True))
def test_spearman_follows_the_order_alone(values: list[int]) -> None:
    assert spearman(values, [value**3 for value in values]) == pytest.approx(1.0)
    assert spearman(values, [-value for value in values]) == pytest.approx(-1.0)


def test_spearman_shares_ranks_among_ties() -> None:
    assert spearman([1, 2, 3, 4, 5], [0, 1, 2, 2, 2]) == pytest.approx(8 / 80**0.5)
    assert spearman([1, 2, 3, 4, 5], [1, 2, 3, 5, 4]) == pytest.approx(0.9)
    assert spearman([1, 2], [3, 3]) != spearman([1, 2], [3, 3]), "nan where nothing changes"


def test_words_edited() -> None:
    assert words_edited("a b c", "a b c") == 0
    assert words_edited("a b c", "a x c, d") == 2
    assert words_edited("", "three more words") == 3


def event(call: str | None, after: str | None, recovery: str = "retry", **draw: str) -> dict[str, Any]:
    return {"logical_call": call, "after": after, "recovery": recovery, "draw": draw}


def test_a_further_fault_on_a_call_is_bounded_and_not_withheld() -> None:
    bounds = {"faults_per_call": 1, "faults_per_session": 3}
    events = [
        event("a", None),
        event("a", "x"),
        event("a", None),
        event("b", "x", "ignore"),
        event("b", None),
    ]
    row = Row(fates=Counter(fate for _, fate in injection_fates(events, bounds)))
    assert row.fates == {TOOK_PLACE: 2, WITHHELD: 2, BOUNDED: 1}
    assert row.withheld_share == 0.5


def test_what_an_operator_itself_can_not_do_is_left_clean_and_not_withheld() -> None:
    events = [event(None, "x", "none_needed"), event(None, None, "none_needed", unable="no form")]
    row = Row(fates=Counter(fate for _, fate in injection_fates(events, {})))
    assert row.fates == {TOOK_PLACE: 1, LEFT_CLEAN: 1}
    assert row.withheld_share == 0
