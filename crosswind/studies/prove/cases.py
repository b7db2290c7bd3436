"""Which noise is measured: what a gateway offers, profiles as they are and varied, each operator alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import httpx
import yaml

from crosswind.gateway.client import authorization
from crosswind.simulators.tool_legs.leg import Leg

SITES: Mapping[Leg, frozenset[str]] = {
    Leg.MCP: frozenset(("tool_schema", "tool_result", "transport")),
    Leg.STDIO: frozenset(("tool_schema", "tool_result", "transport")),
    Leg.HTTP: frozenset(("tool_result", "transport")),
}
"""By tool leg, the sites of the operators that act there: an API lists no tools."""

NOWHERE_ON_TOOL_LEGS = frozenset({"transport.first_token_delay", "transport.sse_cut", "transport.sse_stall"})
"""Operators that act on streams only: the practice domain's tools answer with plain bodies."""


@dataclass(frozen=True, slots=True)
class ListedOperator:
    """An operator as the gateway lists it."""

    name: str
    site: str
    recovery: str
    fault: bool


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The gateway's profiles, by name, and its operators."""

    profiles: Mapping[str, Mapping[str, Any]]
    operators: Mapping[str, ListedOperator]

    def on_leg(self, leg: Leg) -> Catalogue:
        """What of it acts on that leg."""
        sites = SITES.get(leg)
        if sites is None:
            return self
        operators = {
            name: one
            for name, one in self.operators.items()
            if one.site in sites and name not in NOWHERE_ON_TOOL_LEGS
        }
        profiles = {
            name: profile
            for name, profile in self.profiles.items()
            if any(_matches(name, [rule["operator"]]) for rule in profile["rules"] for name in operators)
        }
        return Catalogue(profiles, operators)

    def match_profiles(self, globs: Sequence[str]) -> list[tuple[str, Mapping[str, Any]]]:
        """The profiles whose names match one of the globs."""
        return [(name, each) for name, each in self.profiles.items() if _matches(name, globs)]

    def match_operators(self, globs: Sequence[str]) -> Sequence[ListedOperator]:
        """The operators whose names match one of the globs."""
        return [one for name, one in sorted(self.operators.items()) if _matches(name, globs)]


def _matches(name: str, globs: Sequence[str]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)


async def fetch_catalogue(control: str) -> Catalogue:
    """Ask the gateway's control plane at this URL. httpx.HTTPError where it doesn't answer."""
    async with httpx.AsyncClient(
        base_url=control, headers=authorization(None), trust_env=False, timeout=30
    ) as http:
        names = (await _json(http, "/api/profiles"))["profiles"]
        texts = {name: (await _json(http, f"/api/profiles/{name}"))["yaml"] for name in names}
        listed = (await _json(http, "/api/operators"))["operators"]
    operators = {
        one["name"]: ListedOperator(one["name"], one["site"], one["recovery"], bool(one["fault"]))
        for one in listed
    }
    return Catalogue({name: yaml.safe_load(text) for name, text in texts.items()}, operators)


async def _json(http: httpx.AsyncClient, path: str) -> Any:
    answer = await http.get(path)
    answer.raise_for_status()
    return answer.json()


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
class Adaptation:
    """How an operator is fitted to the practice domain, where it doesn't apply to all of it alike."""

    kinds: tuple[str, ...] = ()
    severities: tuple[float, ...] = SEVERITIES
    options: Mapping[str, Any] = field(default_factory=dict)
    stream: bool | None = None
    distance: bool = False
    """Whether a distance is its response, although its recovery is one without which agents fail."""
    why: str = ""


ADAPTATIONS: Mapping[str, Adaptation] = {
    "model.duplicated_call_id": Adaptation(
        ("spending",),
        distance=True,
        why="only there an agent that reads each fact once makes several calls at once; it answers in order, "
        "and the policy gets its own ids back",
    ),
    "tool.misread": Adaptation(
        ("status", "track", "payment"), why="only there the answer is a word that can be misread"
    ),
    "tool.numeric_noise": Adaptation(
        ("amount", "price", "stock", "spending"),
        (0.01, 0.02, 0.04, 0.08, 0.16),
        why="only there the answer is a number; a fifth more or less changes any of them",
    ),
    "transport.sse_cut": Adaptation(stream=True, why="it leaves plain answers alone"),
    "transport.truncated_body": Adaptation(stream=False, why="it leaves streams alone"),
    "model.stream_cut": Adaptation(stream=True, why="it leaves plain answers alone"),
    "user.interaction_pattern": Adaptation(
        distance=True, why="it rewrites what a model that plays the user is told; here the user is a script"
    ),
    "schema.bloat": Adaptation(
        options={"per_tool": 2}, why="the operator's 32 tools are used up soon by a list of 14"
    ),
}


NOWHERE = frozenset({"tool.silent_noop"})
"""Operators that never act, since in the practice domain each call has been carried out when its result
comes."""


def cases_as_written(catalogue: Catalogue, globs: Sequence[str]) -> Iterator[Case]:
    """Each profile that one of the globs matches, at each of its levels where it has any."""
    for name, profile in catalogue.match_profiles(globs):
        levels: Sequence[int | None] = range(len(profile.get("levels") or ())) or [None]
        for level in levels:
            yield Case(name, name, level)


def cases_varied(catalogue: Catalogue, globs: Sequence[str]) -> Iterator[Case]:
    """Each profile that one of the globs matches, all of its rules at one severity and in one stage."""
    for name, profile in catalogue.match_profiles(globs):
        for severity in SEVERITIES if profile["rules"] else ():
            for stage in STAGES:
                named = f"{OWN}/{name}/{severity:g}/{stage}"
                text = _vary(profile, named, severity, stage)
                yield Case(name, named, None, severity, stage, yaml=text)


def cases_alone(
    catalogue: Catalogue, globs: Sequence[str], repeatable: Sequence[str], *, faults_per_call: int = 1
) -> Iterator[Case]:
    """Each operator that one of the globs matches, alone, at each severity; repeatable tools are declared."""
    for operator in catalogue.match_operators(globs):
        if operator.name in NOWHERE:
            continue
        adaptation = ADAPTATIONS.get(operator.name, Adaptation())
        for severity in adaptation.severities:
            named = f"{OWN}/{operator.name}/{severity:g}"
            rule = {"operator": operator.name, "severity": severity, "options": dict(adaptation.options)}
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
                kinds=adaptation.kinds,
                stream=adaptation.stream,
                yaml=json.dumps(profile),
            )


def _vary(profile: Mapping[str, Any], name: str, severity: float, stage: str) -> str:
    def rule(one: Mapping[str, Any]) -> dict[str, Any]:
        when = {key: value for key, value in one.get("when", {}).items() if key != "during"}
        changed = {**one, "severity": severity, "when": {**when, "stage": stage}}
        if "with" in one:
            changed["with"] = [rule(companion) for companion in one["with"]]
        return changed

    kept = {key: value for key, value in profile.items() if key not in ("levels", "level")}
    rules = [rule(one) for one in profile["rules"]]
    return json.dumps({**kept, "name": name, "expected_turns": TURNS, "rules": rules})
