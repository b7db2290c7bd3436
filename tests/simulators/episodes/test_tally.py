"""What a campaign's progress line says of the episodes so far."""

from __future__ import annotations

from crosswind.simulators.environment import Verdict, load
from crosswind.simulators.episodes.groups import GroupPlan, jobs
from crosswind.simulators.episodes.record import Playthrough, ProgressTally, Record

RETAIL = load("retail")


def test_a_line_has_each_arms_means_and_counts_failures_apart() -> None:
    calm, noisy, late, lost = jobs(RETAIL, GroupPlan("train", "practice", 0, 4, groups=1))
    tally = ProgressTally()
    tally.add(Record(calm, "clean", played=Playthrough(3, 2, 40), verdict=Verdict(1.0)))
    under = {"noise_type": "tool.timeout"}
    tally.add(Record(noisy, "noisy", plan=under, played=Playthrough(4, 3, 30), verdict=Verdict(1.0)))
    given_up = Verdict(0.0, {"not_executed": 1.0})
    tally.add(Record(late, "noisy", plan=under, played=Playthrough(5, 4, 35), verdict=given_up))
    tally.add(Record(lost, "noisy", plan=under, error="gateway"))
    line = tally.line("progress")
    both = {"episodes": 2, "success": 0.5, "turns": 4.5, "tool_calls": 3.5, "output_tokens": 32.5}
    one = {"episodes": 1, "success": 1.0, "turns": 3.0, "tool_calls": 2.0, "output_tokens": 40.0}
    assert line["arms"] == {"clean": one | {"not_executed": 0.0}, "noisy": both | {"not_executed": 0.5}}
    assert line["types"] == {"tool.timeout": line["arms"]["noisy"]}
    assert (line["event"], line["episodes"], line["errors"]) == ("progress", 3, 1)
    assert line["error_kinds"] == {"gateway": 1}
