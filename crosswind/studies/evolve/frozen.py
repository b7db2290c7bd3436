"""What a search found, frozen: a profile like any other, with its lineage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import yaml

from crosswind.injectors.profiles.load import Profile, parse
from crosswind.studies.evolve.candidates import Candidate
from crosswind.studies.evolve.detectability import Detectability
from crosswind.studies.evolve.equal_dose import Comparison, Interval
from crosswind.studies.evolve.fitness import Baseline, CandidateFitness
from crosswind.studies.evolve.journal import Entry
from crosswind.studies.evolve.search import Scored
from crosswind.studies.evolve.settings import SearchSettings

SOURCE = (
    "AgentNoiseBench, section 2.2.2 (eq. 1): parameters, pack entries and prompts, searched so that an agent "
    "fails as often as can be at a given dose. The guard keeps every task solvable, as under any profile."
)
WIDTH = 118


def write_profile(
    name: str,
    version: int,
    candidate: Candidate,
    against: Profile,
    summary: str,
    lineage: Mapping[str, Any] | None = None,
    coverage: float = 1.0,
) -> str:
    """The profile's YAML. Its bounds, what it assumes of tools and its half of the phrase packs are those of
    the profile that it is held against."""
    bounds = against.model_dump(mode="json", include={"bounds"}, exclude_defaults=True)
    assumed = against.model_dump(
        mode="json",
        include={"assume_tools", "tool_classes", "expected_turns", "phrases"},
        exclude_defaults=True,
    )
    body = candidate.body()
    document = {
        "name": name,
        "version": version,
        "summary": summary,
        "source": SOURCE,
        "compose": body["compose"],
        **({"coverage": coverage} if coverage < 1 else {}),
        **assumed,
        **bounds,
        "rules": body["rules"],
        **({"lineage": dict(lineage)} if lineage else {}),
    }
    written: str = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=WIDTH)
    parse(written, name)
    return written


METHOD = (
    "screening of single operators, then a (6 + 8) evolution of severities, schedules, options, pack entries "
    "and prompts, by success at the hand-made dose; what detectors tell is refused"
)


def describe_lineage(
    settings: SearchSettings,
    entries: Iterable[Entry],
    winner: Scored,
    baseline: Baseline,
    held_out: Mapping[str, Sequence[Mapping[str, Any]]],
) -> dict[str, Any]:
    """The lineage as the frozen profile's YAML has it. The baseline and the winner's fitness are over the
    tasks of the search and those that confirmed the choice."""
    searched = [entry for entry in entries if entry["key"].startswith(f"{settings.searched.name} ")]
    candidates = {entry["id"]: entry for entry in searched if "id" in entry}
    return {
        "method": METHOD,
        "against": settings.against,
        "environment": settings.environment,
        "seed": settings.seed,
        "evaluations": sum(entry["fitness"]["sessions"] > 0 for entry in candidates.values()),
        "refused": sum(entry["fitness"]["sessions"] == 0 for entry in candidates.values()),
        "tasks": {one.name: one.count for one in (settings.searched, settings.confirmed, *settings.apart)},
        "candidate": winner.individual.id,
        "ancestors": trace_ancestors(winner.individual.id, candidates),
        "chosen_by": {
            "evolved": _round_fitness(winner.fitness),
            "hand_made": _round_fitness(baseline.hand_made),
            "calm": round(baseline.calm, 4),
        },
        "detectability": _describe_detectability(winner.fitness.detected, settings.limits),
        **{role: [_describe_agent(one) for one in found] for role, found in held_out.items()},
    }


def _describe_detectability(found: Detectability | None, limits: Detectability) -> dict[str, Any]:
    """The recalls of the detectors, and the highest at which a candidate is played."""
    recalls = {} if found is None else {name: round(one, 4) for name, one in found.to_json().items()}
    return {**recalls, "limits": {"phrases": limits.phrases, "regression": limits.regression}}


def trace_ancestors(candidate: str, candidates: Mapping[str, Entry]) -> list[dict[str, Any]]:
    """The candidate and all that it descends from, the oldest first."""
    found: dict[str, Entry] = {}
    waiting = [candidate]
    while waiting:
        entry = candidates[waiting.pop()]
        if entry["id"] not in found:
            found[entry["id"]] = entry
            waiting += entry["parents"]
    ordered = sorted(found.values(), key=lambda entry: (entry["generation"], entry["id"]))
    return [
        {
            "id": entry["id"],
            "generation": entry["generation"],
            "by": entry["origin"],
            "parents": entry["parents"],
            "success": round(entry["fitness"]["success"], 4),
            "rules": [_describe_rule(rule) for rule in entry["rules"]],
        }
        for entry in ordered
    ]


def _describe_rule(rule: Mapping[str, Any]) -> str:
    told = f"{rule['operator']}@{rule['severity']:g}"
    return f"{told}: {rule['prompt']}" if "prompt" in rule else told


def _describe_agent(found: Mapping[str, Any]) -> dict[str, Any]:
    """One agent's figures on one set of held-out tasks."""
    comparison = Comparison.from_json(found["comparison"])
    return {
        "agent": found["agent"],
        "seed": found["seed"],
        "tasks": comparison.tasks,
        "calm": round(found["calm"], 4),
        "hand_made": _round_fitness(CandidateFitness.from_json(found["hand_made"])),
        "evolved": _round_fitness(CandidateFitness.from_json(found["evolved"])),
        "detectability": {
            name: round(one, 4) for name, one in Detectability.from_json(found["detected"]).to_json().items()
        },
        "dose_ratio": round(comparison.ratio, 3),
        "as_played": _round_interval(comparison.as_played),
        "at_equal_dose": _round_interval(comparison.at_equal_dose),
    }


def _round_interval(found: Interval) -> dict[str, float]:
    return {name: round(value, 4) for name, value in asdict(found).items()}


def _round_fitness(fitness: CandidateFitness) -> dict[str, Any]:
    """The success, and the dose a session."""
    dose = fitness.dose
    return {
        "success": round(fitness.success, 4),
        "exposed": round(dose.exposed, 3),
        "injections": round(dose.injections, 3),
        "severity": round(dose.severity, 3),
        "added": round(dose.added, 1),
    }
