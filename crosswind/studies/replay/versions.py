"""What of a recorded session this version of Crosswind can't recompute: decisions of another version of an
operator, of its packs or of the random generator, and of operators that aren't installed.

They are taken from the session's ledger, so that all others can be recomputed around them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import msgspec

from crosswind.gateway.sessions.ledger import Ledger
from crosswind.gateway.trajectory.ledger_rows import Shown
from crosswind.gateway.trajectory.record import Event
from crosswind.injectors import registry
from crosswind.injectors.conversation import Site
from crosswind.injectors.engine.plan import Plan
from crosswind.injectors.engine.tool_list import ShownTools
from crosswind.injectors.packs.load import load
from crosswind.injectors.packs.model import Pack
from crosswind.injectors.packs.parts import Domain
from crosswind.injectors.profiles.schedule import When
from crosswind.injectors.seeded_random import GENERATOR
from crosswind.injectors.text.languages import Language

_NEVER = When(start=sys.maxsize)


class NotRecomputed(NamedTuple):
    """A decision that was taken from the record."""

    operator: str
    why: str
    injected: bool
    """Whether it acted; otherwise it was withheld."""


@dataclass(frozen=True, slots=True)
class Versions:
    """Why decisions of a session can't be recomputed."""

    plan: Plan
    _rules: Mapping[str, str] = field(init=False)
    """The reason for each operator of the plan all of whose decisions are concerned."""

    def __post_init__(self) -> None:
        found = ((rule.operator, self._explain_rule(rule.operator, rule.version)) for rule in self.plan.rules)
        object.__setattr__(self, "_rules", {operator: why for operator, why in found if why is not None})

    def _explain_rule(self, operator: str, version: int) -> str | None:
        if (why := _explain_operator(operator, version)) is None and self.plan.generator != GENERATOR:
            return f"drawn by version {self.plan.generator} of the random generator (this is {GENERATOR})"
        return why

    @property
    def recomputable(self) -> Plan:
        """The plan, in which the rules that can't be recomputed never act."""
        rules = (
            replace(rule, name=f"{rule.name} (recorded)", when=_NEVER)
            if rule.operator in self._rules
            else rule
            for rule in self.plan.rules
        )
        return replace(self.plan, rules=tuple(rules))

    def explain(self, operator: str, version: int, draw: Mapping[str, Any]) -> str | None:
        """Why a decision can't be recomputed; None: it can."""
        return (
            self._rules.get(operator)
            or _explain_operator(operator, version)
            or next(filter(None, map(self._explain_pack, self._find_packs(draw))), None)
        )

    def _find_packs(self, draw: Mapping[str, Any]) -> Iterator[str]:
        """The packs of a draw, as `en/travel@1`."""
        for phrase in draw.get("phrases") or ():
            yield str(phrase).partition("#")[0]

    def _explain_pack(self, pack: str) -> str | None:
        name, _, version = pack.partition("@")
        installed = _find_installed(name)
        if installed is None:
            return f"drawn from the pack {pack}, which is not installed"
        if version != str(installed.version):
            return f"drawn from the pack {pack} (version {installed.version} is installed)"
        drawn = next((one for one in self.plan.packs if one.startswith(f"{pack}:")), installed.edition)
        if drawn != installed.edition:
            return f"drawn from the pack {drawn} ({installed.edition} is installed)"
        return None

    def list_decisions(self, events: Iterable[Event]) -> Iterator[NotRecomputed]:
        """The decisions among these events that can't be recomputed."""
        for event in events:
            if event.slot and (why := self.explain(event.operator, event.version, event.draw)) is not None:
                yield NotRecomputed(event.operator, why, event.after is not None)

    def pick_rows(self, rows: Sequence[Shown], ledger: Ledger) -> list[Shown]:
        """The rows of the ledger that stand in for such decisions. `ledger` is the one that is recomputed."""
        return [row for row in rows if self._is_needed(row, ledger)]

    def _is_needed(self, row: Shown, ledger: Ledger) -> bool:
        decisions: Iterable[Mapping[str, Any]] = row.decisions
        if row.site == Site.TOOL_SCHEMA:
            tools = ShownTools.from_json(msgspec.json.decode(row.text or "{}"))
            known = ledger.shown_tools(tools.anchor)
            if known is not None and known.anchor == tools.anchor:
                return False
            decisions = [decision.to_json() for decision in tools.decisions]
        return any(
            self.explain(one["operator"], one.get("version", 1), one["draw"]) is not None for one in decisions
        )


def _explain_operator(operator: str, version: int) -> str | None:
    entry = registry.operators().get(operator)
    if entry is None:
        return f"version {version}, which is not installed"
    return None if entry.version == version else f"version {version} (version {entry.version} is installed)"


def _find_installed(name: str) -> Pack | None:
    language, _, domain = name.partition("/")
    try:
        return load(Language(language), Domain(domain))
    except ValueError:
        return None
