"""Which noise is measured: profiles as they are and at each severity and stage, and each operator alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crosswind.studies.proof.catalogue import Catalogue

SEVERITIES = (0.2, 0.4, 0.6, 0.8, 1.0)
STAGES = ("early", "middle", "late")
TURNS = 6
"""Expected turns of an episode, of which the stages are thirds."""

OWN = "proof"
"""What the names of profiles begin with that are made for a measurement."""


@dataclass(frozen=True, slots=True)
class Case:
    """The noise of one measurement. `profile` is what the gateway knows it by."""

    subject: str
    """The built-in profile, or the operator."""
    profile: str
    level: int | None = None
    severity: float | None = None
    """None: as the profile has it."""
    stage: str | None = None
    """None: as the profile has it."""
    kinds: tuple[str, ...] = ()
    """The kinds of task in which the noise applies; none named: all."""
    stream: bool | None = None
    """Whether answers are to be streamed; None: every other episode's."""
    yaml: str | None = field(default=None, repr=False)
    """The profile's text, where it is made for the measurement."""


@dataclass(frozen=True, slots=True)
class Fitting:
    """How an operator is fitted to the practice domain, where it doesn't apply to all of it alike."""

    kinds: tuple[str, ...] = ()
    severities: tuple[float, ...] = SEVERITIES
    options: Mapping[str, Any] = field(default_factory=dict)
    stream: bool | None = None
    distance: bool = False
    """Whether a distance is its response, although its recovery is one without which agents fail."""
    why: str = ""


FITTINGS: Mapping[str, Fitting] = {
    "model.duplicated_call_id": Fitting(("spending",), why="only there an answer has several calls"),
    "tool.misread": Fitting(
        ("status", "track", "payment"), why="only there the answer is a word that can be misread"
    ),
    "tool.numeric_noise": Fitting(
        ("amount", "price", "stock", "spending"),
        (0.01, 0.02, 0.04, 0.08, 0.16),
        why="only there the answer is a number; a fifth more or less changes any of them",
    ),
    "transport.sse_cut": Fitting(stream=True, why="it leaves plain answers alone"),
    "transport.truncated_body": Fitting(stream=False, why="it leaves streams alone"),
    "model.stream_cut": Fitting(stream=True, why="it leaves plain answers alone"),
    "user.interaction_pattern": Fitting(
        distance=True, why="it rewrites what a model that plays the user is told; here the user is a script"
    ),
    "schema.bloat": Fitting(
        options={"per_tool": 2}, why="the operator's 32 tools are used up soon by a list of 14"
    ),
}


def as_written(catalogue: Catalogue, globs: Sequence[str]) -> Iterator[Case]:
    """Each profile that one of the globs matches, at each of its levels where it has any."""
    for name, profile in catalogue.matching(globs):
        levels: Sequence[int | None] = range(len(profile.get("levels") or ())) or [None]
        for level in levels:
            yield Case(name, name, level)


def varied(catalogue: Catalogue, globs: Sequence[str]) -> Iterator[Case]:
    """Each profile that one of the globs matches, all of its rules at one severity and in one stage."""
    for name, profile in catalogue.matching(globs):
        for severity in SEVERITIES if profile["rules"] else ():
            for stage in STAGES:
                named = f"{OWN}/{name}/{severity:g}/{stage}"
                text = _varied(profile, named, severity, stage)
                yield Case(name, named, None, severity, stage, yaml=text)


def alone(
    catalogue: Catalogue, globs: Sequence[str], repeatable: Sequence[str], *, faults_per_call: int = 1
) -> Iterator[Case]:
    """Each operator that one of the globs matches, alone, at each severity; repeatable tools are declared."""
    for operator in catalogue.operators_matching(globs):
        fitting = FITTINGS.get(operator.name, Fitting())
        for severity in fitting.severities:
            named = f"{OWN}/{operator.name}/{severity:g}"
            rule = {"operator": operator.name, "severity": severity, "options": dict(fitting.options)}
            profile = {
                "name": named,
                "expected_turns": TURNS,
                "tool_classes": dict.fromkeys(repeatable, "idempotent"),
                "bounds": {
                    "faults_per_call": faults_per_call,
                    "faults_per_session": 100,
                    "events_per_session": 1000,
                },
                "rules": [rule],
            }
            yield Case(
                operator.name,
                named,
                None,
                severity,
                kinds=fitting.kinds,
                stream=fitting.stream,
                yaml=json.dumps(profile),
            )


def _varied(profile: Mapping[str, Any], name: str, severity: float, stage: str) -> str:
    def rule(one: Mapping[str, Any]) -> dict[str, Any]:
        when = {key: value for key, value in one.get("when", {}).items() if key != "during"}
        changed = {**one, "severity": severity, "when": {**when, "stage": stage}}
        if "with" in one:
            changed["with"] = [rule(companion) for companion in one["with"]]
        return changed

    kept = {key: value for key, value in profile.items() if key not in ("levels", "level")}
    rules = [rule(one) for one in profile["rules"]]
    return json.dumps({**kept, "name": name, "expected_turns": TURNS, "rules": rules})
