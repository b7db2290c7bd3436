"""Decide the faults of one exchange on a link, or of one answer of the model behind it.

At most one fault destroys the answer to a request, and the bounds let every request through in the end: after
`faults_per_call` attempts or turns in a row, and `faults_per_session` in all. A schedule's probability is
what tools for network faults call toxicity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, NamedTuple

from crosswind.injectors.conversation import Site
from crosswind.injectors.engine.decision import Decision
from crosswind.injectors.engine.plan import NO_RULES, ActiveRule, Plan
from crosswind.injectors.engine.rule import apply_rule
from crosswind.injectors.faults import Fault, fault_from
from crosswind.injectors.guard.solvability import FULL
from crosswind.injectors.identity import slot_on
from crosswind.injectors.profiles.schedule import Occasion, due
from crosswind.injectors.targets import MODEL_LINK, ModelTarget, Result, TransportTarget

MOST_ACTS = 64

Counted = tuple[int, int | None]
"""A rule's injections before a turn, and the last one's turn."""


class LinkDecision(NamedTuple):
    """What one operator does to an exchange. Without a fault it does nothing, and the note says why."""

    decision: Decision
    fault: Fault | None
    note: str


@dataclass(slots=True)
class LinkMemory:
    """What the rules for one site did on earlier turns of one link: a cache, which changes no decision."""

    acts: dict[tuple[str, int], bool] = field(default_factory=dict)
    """Whether a rule acts on the first attempt at a turn: the latest answers."""
    counted: dict[str, tuple[int, Counted]] = field(default_factory=dict)
    """Per rule the last turn asked for, and what the rule did before it."""
    run: tuple[int, int] = (0, 0)
    """The last turn asked for, and the turn at which the run of destroyed answers before it begins."""
    exposed: dict[str, tuple[int, int | None]] = field(default_factory=dict)
    """Per rule that must act once: the turns before which its first injection was looked for, and that
    injection's turn."""


FaultMemory = dict[tuple[Site, str, bool, bool], LinkMemory]
"""The memory of one session, by site, link, whether answers are streamed, and whether a tool's exchanges may
take place again. Given to each decision, it spares them playing all earlier turns over: a session would cost
the square of its length.
"""


def decide_faults(
    plan: Plan,
    *,
    link: str = MODEL_LINK,
    turn: int,
    attempt: int,
    streaming: bool,
    spent: int = 0,
    met: int = 0,
    memory: FaultMemory | None = None,
    of_provider: bool = True,
    opted_in: bool = False,
) -> list[LinkDecision]:
    """The faults of one exchange: those of the link, one for each operator that acts, in the plan's order;
    then that of the model's provider behind it, of the first operator that acts.

    `turn` counts the session's exchanges on this link from 0. A repeated attempt at a turn has draws of its
    own. `spent` answers of the session were destroyed so far, and `met` injections were made on its
    exchanges. Never raises. The result follows from these alone: `memory` only makes it quick.
    """
    if plan.rules_by_site.keys().isdisjoint((Site.TRANSPORT, Site.MODEL_RESPONSE)):
        return []
    memory = {} if memory is None else memory
    at = link, streaming, memory, met == 0, opted_in
    decided = LinkRules(plan, Site.TRANSPORT, *at).decide(turn, attempt, spent, met)
    if link == MODEL_LINK and of_provider:
        met += sum(one.fault is not None for one in decided)
        provider = LinkRules(plan, Site.MODEL_RESPONSE, *at)
        decided += provider.decide(turn, attempt, spent, met)
    return decided


@dataclass(frozen=True, slots=True)
class LinkRules:
    """A plan's rules for one site, on the exchanges of one link."""

    plan: Plan
    site: Site
    link: str
    streaming: bool
    memory: FaultMemory
    unmet: bool = False
    """Whether nothing was injected on the session's exchanges before this one."""
    opted_in: bool = False
    """Whether a tool's exchange may take place again (`TransportTarget.opted_in`)."""

    def decide(self, turn: int, attempt: int, spent: int, met: int) -> list[LinkDecision]:
        """Let each rule act on one exchange in its turn."""
        out: list[LinkDecision] = []
        acting = 0
        may_destroy: bool | None = None
        for one in self._rules():
            destroys = one.entry.fault
            if destroys and may_destroy is None:
                may_destroy = self._may_destroy(turn, attempt, spent)
            if (destroys and not may_destroy) or not self._due(one, turn):
                continue
            found = self._apply(one, turn, attempt)
            acts = found is not None and found.fault is not None
            if attempt == 0:
                self._remember(one, turn, acts)
            if found is None:
                continue
            if acts and met + acting >= self.plan.bounds.events_per_session:
                out.append(LinkDecision(found.decision, None, f"Withheld: {FULL}."))
                continue
            out.append(found)
            acting += acts
            may_destroy = may_destroy and not (destroys and acts)
        return out

    def _rules(self) -> Iterable[ActiveRule]:
        return self.plan.rules_by_site.get(self.site, NO_RULES).values()

    def _may_destroy(self, turn: int, attempt: int, spent: int) -> bool:
        """Whether the bounds leave room for an answer to be destroyed."""
        bounds = self.plan.bounds
        if attempt >= bounds.faults_per_call or spent >= bounds.faults_per_session:
            return False
        # In a run of turns that rules would destroy, destroy as many as the bound allows, let one
        # through, and begin again.
        begin = self._begin_of_run(turn)
        return (turn - begin) % (bounds.faults_per_call + 1) < bounds.faults_per_call

    def _begin_of_run(self, turn: int) -> int:
        """The first of the turns in a row before this one that rules would destroy; the turn itself where
        there are none.
        """
        kept = self._memory()
        known, known_begin = kept.run
        if turn == known:
            return known_begin
        begin = turn
        both = self._of_both_sites()
        while begin > 0 and any(rules._destroys(begin - 1) for rules in both):
            begin -= 1
            if begin == known:
                begin = known_begin
                break
        kept.run = turn, begin
        return begin

    def _of_both_sites(self) -> tuple[LinkRules, ...]:
        """The rules that destroy answers to one exchange, in the order in which they act."""
        if self.link != MODEL_LINK:
            return (self,)
        sites = (Site.TRANSPORT, Site.MODEL_RESPONSE)
        at = self.link, self.streaming, self.memory, self.unmet, self.opted_in
        return tuple(LinkRules(self.plan, site, *at) for site in sites)

    def _destroys(self, turn: int, before: ActiveRule | None = None) -> bool:
        """Whether a rule, of those before this one, would destroy the answer to the first attempt at a turn,
        bounds aside.
        """
        ahead = takewhile(lambda one: one is not before, self._rules())
        return any(one.entry.fault and self._due(one, turn) and self._acts(one, turn) for one in ahead)

    def _due(self, one: ActiveRule, turn: int) -> bool:
        return one.always or self._is_occasion(one, turn, self._count(one, turn))

    def _is_occasion(self, one: ActiveRule, turn: int, counted: Counted) -> bool:
        rule, plan = one.rule, self.plan
        when = (self._must_act(one, turn) and one.until_exposed) or rule.when
        key = rule.key(plan, f"{self.site.value}:{self.link}") if when.burst is not None else ""
        return due(when, rule.window, Occasion(turn, turn, *counted, key), plan.expected_turns)

    def _must_act(self, one: ActiveRule, turn: int) -> bool:
        """Whether the rule acts on the first attempt at a turn if it can: it has to act once, and hasn't yet.
        An answer that the bounds or another rule kept from it was no place.
        """
        if one.until_exposed is None or self.unmet:
            # What the earlier exchanges were like isn't all known: they may not have been streams, say.
            return one.until_exposed is not None
        kept = self._memory().exposed
        begin, first = kept.get(one.rule.name, (0, None))
        for earlier in range(begin, turn) if first is None else ():
            kept[one.rule.name] = earlier, None
            if self._due(one, earlier) and self._is_free(one, earlier) and self._acts(one, earlier):
                first = earlier
                break
        kept[one.rule.name] = max(begin, turn), first
        return first is None or turn <= first

    def _is_free(self, one: ActiveRule, turn: int) -> bool:
        """Whether no rule ahead of this one destroys the answer that it would destroy, nor the bounds do
        without it.
        """
        if not one.entry.fault:
            return True
        sites = self._of_both_sites()
        ahead = sites[: [rules.site for rules in sites].index(self.site)]
        taken = any(rules._destroys(turn) for rules in ahead) or self._destroys(turn, before=one)
        return not taken and self._may_destroy(turn, 0, 0)

    def _count(self, one: ActiveRule, turn: int) -> Counted:
        """What a rule did on the first attempts at earlier turns, for schedules that ask for it."""
        if one.rule.when.at_most is None and one.rule.when.min_interval is None:
            return 0, None
        kept = self._memory()
        begin, counted = kept.counted.get(one.rule.name, (0, (0, None)))
        if begin > turn:
            begin, counted = 0, (0, None)
        for earlier in range(begin, turn):
            if self._is_occasion(one, earlier, counted) and self._acts(one, earlier):
                counted = counted[0] + 1, earlier
        kept.counted[one.rule.name] = turn, counted
        return counted

    def _acts(self, one: ActiveRule, turn: int) -> bool:
        """Whether a rule that is due acts on the first attempt at a turn."""
        known = self._memory().acts.get((one.rule.name, turn))
        if known is not None:
            return known
        found = self._apply(one, turn, 0)
        return self._remember(one, turn, found is not None and found.fault is not None)

    def _remember(self, one: ActiveRule, turn: int, acts: bool) -> bool:
        kept = self._memory().acts
        while len(kept) >= MOST_ACTS:
            del kept[next(iter(kept))]
        kept[one.rule.name, turn] = acts
        return acts

    def _memory(self) -> LinkMemory:
        return self.memory.setdefault((self.site, self.link, self.streaming, self.opted_in), LinkMemory())

    def _apply(self, one: ActiveRule, turn: int, attempt: int) -> LinkDecision | None:
        """What a rule does to one exchange. None where its chance or its draw leave it alone."""
        # The link's name is part of the slot: two links of one session have draws of their own.
        line = self.plan.slot_line(one.rule, f"{self.site.value}:{self.link}")
        slot = slot_on(line, turn, attempt=attempt)
        must = attempt == 0 and self._must_act(one, turn)
        if not (must or one.rule.when.by_chance(slot)):
            return None
        target: TransportTarget | ModelTarget = ModelTarget(turn, attempt, self.streaming)
        if self.site is Site.TRANSPORT:
            target = TransportTarget(self.link, turn, attempt, self.streaming, self.opted_in)
        outcome = apply_rule(one, target, slot, f"{self.link}:{turn}#{attempt}", _check, must=must)
        if outcome is None:
            return None
        # An operator may give a fault's settings in its place.
        fault = None if outcome.payload is None else fault_from(outcome.payload)
        return LinkDecision(outcome.decision, fault, outcome.note)


def _check(_: Mapping[str, Any], result: Result) -> None:
    """The bounds hold for turns and attempts, so that the guard has nothing to add."""
    fault_from(result.payload)
