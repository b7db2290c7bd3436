"""Noise on a link: which settings an exchange gets. The gateway carries them out.

An operator of site `transport` gives one mapping. `where` is the place: `request` (nothing has been sent to
the other side yet), `response` (its answer is there, and nothing of it has been passed on) or `stream` (while
an answer is passed on, event by event). `kind` says what happens, with numbers in the units of their names:

| kind         | where             | members            | what happens                                     |
|--------------|-------------------|--------------------|--------------------------------------------------|
| delay        | any               | delay_ms           | it waits; in a stream, before the first event    |
| drip         | response, stream  | bytes_per_s        | passed on no faster than that                    |
| hang         | request           | hang_ms            | nothing comes; then the connection is closed     |
| reset        | request, response |                    | the connection is closed without an answer       |
| status       | request           | status             | answered with that HTTP status, nobody is asked  |
| truncate     | response          | keep               | the body ends after that share of its bytes, its |
|              |                   |                    | Content-Length being the whole one's             |
| content_type | response          | content_type       | the answer has that Content-Type                 |
| duplicate    | request           | times              | sent so many times; the first answer counts      |
| cut          | stream            | after_events, keep | closed after so many events and that share of    |
|              |                   |                    | the next one's bytes                             |
| stall        | stream            | after_events,      | it waits after so many events, then goes on      |
|              |                   | stall_ms           |                                                  |

What was sampled is recorded whole, whatever of it is passed on. A stream that ends before `after_events` is
left alone. The probability in a rule's `when` is what network fault tools call toxicity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crosswind.injectors.conversation import Site
from crosswind.injectors.engine.link_memory import Counted, Recollection
from crosswind.injectors.engine.plan import ActiveRule, Plan
from crosswind.injectors.engine.rule import Outcome, apply_rule
from crosswind.injectors.guard.solvability import FULL
from crosswind.injectors.identity import slot_on
from crosswind.injectors.profiles.schedule import Occasion, due
from crosswind.injectors.targets import ModelTarget, Result, TransportTarget

Settings = Mapping[str, Any]
"""What the gateway does to the exchange: `{"kind": "delay", "where": "response", "delay_ms": 120.0}`."""

LinkTarget = TransportTarget | ModelTarget
MODEL_LINK = "model"
"""The link to the provider of models, on which rules for its answers act, too."""


def decide_transport(
    plan: Plan, *, link: str, turn: int, attempt: int, streaming: bool, spent: int = 0, met: int = 0
) -> list[Outcome]:
    """The transport noise of one exchange, per operator that acts, in the plan's order.

    `turn` counts the session's exchanges on this link from 0. A repeated attempt at a turn is drawn anew.
    At most one of the operators that destroy the answer acts, and as the bounds allow: `spent` are the
    destroyed answers of the session so far, and `met` what befell its exchanges in all. Pure; never raises.
    """

    beside = [exchanges(plan, Site.MODEL_RESPONSE, link, streaming)] if link == MODEL_LINK else []
    return exchanges(plan, Site.TRANSPORT, link, streaming).at(turn, attempt, spent, met, beside)


def exchanges(plan: Plan, site: Site, link: str, streaming: bool) -> Exchanges:
    """The exchanges on a link as the rules for links see them, or those for the provider of models."""

    def target(ordinal: int, number: int) -> LinkTarget:
        if site is Site.TRANSPORT:
            return TransportTarget(link, ordinal, number, streaming)
        return ModelTarget(ordinal, number, streaming)

    return Exchanges(plan, site, link, streaming, target)


@dataclass(frozen=True, slots=True)
class Exchanges:
    """The exchanges of one session on one link, as a plan's rules for one site see them."""

    plan: Plan
    site: Site
    link: str
    streaming: bool
    target: Callable[[int, int], LinkTarget]
    """The target of a turn and an attempt."""

    def at(self, turn: int, attempt: int, spent: int, met: int, beside: Sequence[Exchanges]) -> list[Outcome]:
        """What acts on one exchange, as long as no more than `events_per_session` do in the session. `beside`
        are the same exchanges as rules for another site see them: an answer is destroyed by either.

        Schedules with a memory (`at_most`, `min_interval`) go by the first attempts at all turns before; a
        run of destroyed answers is traced back to where it begins.
        """
        rules = self.plan.active_rules(self.site).values()
        out: list[Outcome] = []
        may_destroy: bool | None = None
        acting = 0
        for one in rules:
            entry = one.entry
            if entry.fault and may_destroy is None:
                may_destroy = self._may_destroy(turn, attempt, spent, beside)
            if (entry.fault and not may_destroy) or not self._due(one, turn):
                continue
            outcome = self._decide(one, turn, attempt)
            acts = outcome is not None and outcome.payload is not None
            if attempt == 0:
                self._recalled().acted(one.rule.name, turn, acts)
            if outcome is None:
                continue
            if acts and met + acting >= self.plan.bounds.events_per_session:
                out.append(outcome.withdraw(FULL))
                continue
            out.append(outcome)
            acting += acts
            may_destroy = may_destroy and not (entry.fault and acts)
        return out

    def _may_destroy(self, turn: int, attempt: int, spent: int, beside: Sequence[Exchanges]) -> bool:
        """Whether the bounds leave room: not too many attempts, turns in a row, or answers in all."""
        bounds = self.plan.bounds
        if attempt >= bounds.faults_per_call or spent >= bounds.faults_per_session:
            return False
        both = (self, *beside)
        begin = self._recalled().run_before(turn, lambda earlier: any(one._destroys(earlier) for one in both))
        # Of such a run, as many are destroyed as the bound allows, then one gets through, and so on.
        return (turn - begin) % (bounds.faults_per_call + 1) < bounds.faults_per_call

    def _destroys(self, turn: int) -> bool:
        """Whether a rule would destroy the answer to the first attempt at a turn, bounds aside."""
        rules = self.plan.active_rules(self.site).values()
        return any(one.entry.fault and self._due(one, turn) and self._acts(one, turn) for one in rules)

    def _acts(self, one: ActiveRule, turn: int) -> bool:
        """Whether a rule that is due acts on the first attempt at a turn."""

        def found() -> bool:
            outcome = self._decide(one, turn, 0)
            return outcome is not None and outcome.payload is not None

        return self._recalled().acts(one.rule.name, turn, found)

    def _due(self, one: ActiveRule, turn: int) -> bool:
        return one.always or self._is_occasion(one, turn, self._remembered(one, turn))

    def _is_occasion(self, one: ActiveRule, turn: int, counted: Counted) -> bool:
        rule, plan = one.rule, self.plan
        key = rule.key(plan, f"{self.site.value}:{self.link}") if rule.when.burst is not None else ""
        return due(rule.when, rule.window, Occasion(turn, turn, *counted, key), plan.expected_turns)

    def _remembered(self, one: ActiveRule, turn: int) -> Counted:
        if one.rule.when.at_most is None and one.rule.when.min_interval is None:
            return 0, None

        def injected(earlier: int, counted: Counted) -> bool:
            return self._is_occasion(one, earlier, counted) and self._acts(one, earlier)

        return self._recalled().counted(one.rule.name, turn, injected)

    def _recalled(self) -> Recollection:
        """What was found of earlier turns. A draw hangs on where it is made: each such place has its own."""
        kept, where = self.plan.recollections(), (self.site, self.link, self.streaming)
        if where not in kept:
            kept[where] = Recollection()
        return kept[where]

    def _decide(self, active: ActiveRule, turn: int, attempt: int) -> Outcome | None:
        plan, target = self.plan, self.target(turn, attempt)
        # The link's name is part of the slot: two links of one session draw apart.
        line = plan.slot_line(active.rule, f"{self.site.value}:{self.link}")
        slot = slot_on(line, target.ordinal, attempt=target.attempt)
        if not active.rule.when.by_chance(slot):
            return None
        anchor = f"{self.link}:{target.ordinal}#{target.attempt}"
        outcome = apply_rule(active, target, slot, anchor, _check)
        if outcome is None or outcome.payload is None:
            return outcome
        return outcome._replace(payload=dict(outcome.payload))


def _check(result: Result) -> None:
    if not isinstance(result.payload, Mapping):
        raise TypeError("no settings")
