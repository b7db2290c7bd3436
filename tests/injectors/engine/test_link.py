"""Noise on a link."""

from __future__ import annotations

from statistics import mean, median

import pytest

from crosswind.injectors.engine.link import decide_transport
from crosswind.injectors.engine.plan import Plan, Seed, make_plan
from crosswind.injectors.profiles.load import parse


def plan_of(severity: float = 0.5, when: str = "{}", seed: int = 0) -> Plan:
    text = f"name: t\nrules: [{{operator: transport.latency, severity: {severity}, when: {when}}}]"
    return make_plan(parse(text, "t"), Seed(seed, "s"))


def delay(plan: Plan, turn: int, attempt: int = 0, link: str = "model") -> float | None:
    decided = decide_transport(plan, link=link, turn=turn, attempt=attempt, streaming=False)
    return decided[0][1]["delay_ms"] if decided else None


def test_an_exchange_is_decided_once_and_an_attempt_or_a_link_of_its_own_anew() -> None:
    plan = plan_of()
    assert delay(plan, 3) == delay(plan, 3)
    assert len({delay(plan, 3), delay(plan, 4), delay(plan, 3, attempt=1), delay(plan, 3, link="tool")}) == 4


@pytest.mark.parametrize("severity", [0.1, 0.5, 1.0])
def test_the_mean_delay_is_the_severity_in_seconds_with_a_long_tail(severity: float) -> None:
    plan = plan_of(severity)
    delays = [delay(plan, turn) or 0.0 for turn in range(3000)]
    assert mean(delays) == pytest.approx(1000 * severity, rel=0.06)
    assert min(delays) >= 500 * severity
    assert median(delays) < mean(delays)
    assert max(delays) > 4000 * severity


def test_schedules_with_a_memory_are_replayed_from_the_first_turn() -> None:
    assert [turn for turn in range(8) if delay(plan_of(when="{at_most: 2, min_interval: 3}"), turn)] == [0, 3]


def test_a_decision_has_all_that_the_record_wants() -> None:
    decision, settings, note = decide_transport(plan_of(), link="model", turn=2, attempt=1, streaming=True)[0]
    assert (decision.site, decision.anchor, decision.logical_call) == ("transport", "model:2#1", None)
    assert dict(settings) == {"kind": "delay", "where": "response", "delay_ms": decision.draw["delay_ms"]}
    assert note.endswith("Solvable: no content is changed.")


def test_content_rules_leave_the_link_alone() -> None:
    known = parse("name: t\nrules: [{operator: tool.timeout, severity: 1}]", "t")
    plan = make_plan(known, Seed(0, "s"))
    assert decide_transport(plan, link="model", turn=0, attempt=0, streaming=False) == []
