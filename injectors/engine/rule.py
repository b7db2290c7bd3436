"""Apply one rule to one target: draw, guard, decision. Every walk of the engine comes through here.

Nothing in this module raises what an operator raises: noise must never break traffic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from crosswind.injectors.engine.decision import Decision
from crosswind.injectors.engine.plan import ActiveRule
from crosswind.injectors.guard.solvability import NOTHING, find_reason
from crosswind.injectors.result_validation import OperatorFailed
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Result, Withheld
from crosswind.injectors.text.languages import UNABLE
from crosswind.injectors.wording import (
    WORDING,
    StoredDraw,
    StoredDraws,
    Texts,
    UnusableText,
    apply_draw,
    describe_wording,
    prompt_for,
    use_model_text,
    use_rule,
)

PROBES = 4
"""Draws at severity 1, one of which shows that a target is a place for an operator."""
STREAMS = 256
"""Streams that a draw at a rule's own severity is looked for in; where none has one, the probe stands."""

Check = Callable[[Draw, Result], str | None]
"""Why a draw's result may not be used, or None (NOTHING: it changes nothing). TypeError: it is of no type
that fits."""


class Attempt(msgspec.Struct, frozen=True, gc=False):
    """A draw with its result. `refused` says why the result may not be used; None: it may."""

    draw: Draw
    result: Result | None = None
    refused: str | None = None


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """What came of a rule on a target: the decision, the payload (None: withheld), and the event's note."""

    decision: Decision
    payload: Any
    note: str
    withheld: Withheld | None = None
    """Why it was withheld; None: it was not."""

    def withhold(self, why: str) -> Outcome:
        """The same decision, not carried out."""
        return Outcome(self.decision, None, f"Withheld: {why}.", find_reason(why))


def apply_rule(
    active: ActiveRule,
    target: Any,
    slot: str,
    anchor: str,
    check: Check,
    *,
    logical_call: str | None = None,
    full: str | None = None,
    texts: Texts | None = None,
    must: bool = False,
) -> Outcome | None:
    """Let a rule that is due act on a target. None where its draw leaves the target alone.

    `slot` keys the random stream. `check` is the guard. `full` says why there is no room for an injection,
    if there is none. `texts` are a model's, for operators that may have one write. `must`: the rule acts
    where it can (`draw_where_possible`).
    """
    draw = draw_where_possible if must else draw_rule
    drawn = draw(active, target, slot, anchor, texts)
    if drawn is None:
        return None
    attempt = carry_out(active, target, slot, drawn, check, full=full, texts=texts)
    return conclude(active, slot, anchor, attempt, logical_call)


def draw_rule(
    active: ActiveRule, target: Any, slot: str, anchor: str, texts: Texts | None = None
) -> Draw | Attempt | None:
    """The operator's draw; None where it leaves the target alone. An attempt where it failed, or is on record
    in `texts`."""
    if texts is not None and isinstance(texts, StoredDraws):
        stored = texts.recall(slot, anchor)
        return None if stored is None else _recall(active, target, stored)
    return _draw(active, target, slot, active.rule.severity)


def draw_where_possible(
    active: ActiveRule, target: Any, slot: str, anchor: str, texts: Texts | None = None
) -> Draw | Attempt | None:
    """The draw of a rule that must act if the target is a place for it; None where it isn't one.

    The first draw that the operator makes, out of streams of the slot: so it is distributed as the
    operator's draws at this severity are, given that it acts. A target is a place where the operator draws
    anything at severity 1.
    """
    drawn = draw_rule(active, target, slot, anchor, texts)
    if drawn is not None or isinstance(texts, StoredDraws):
        return drawn
    streams = (slot, *(f"{slot}|place|{number}" for number in range(1, PROBES)))
    probes = (_draw(active, target, stream, 1.0) for stream in streams)
    if (probe := next((one for one in probes if one is not None), None)) is None:
        return None
    draws = (
        _draw(active, target, f"{slot}|must|{number}", active.rule.severity) for number in range(STREAMS)
    )
    return next((one for one in draws if one is not None), probe)


def _draw(active: ActiveRule, target: Any, stream: str, severity: float) -> Draw | Attempt | None:
    ours = active.operator
    try:
        if ours is not None:
            return ours.draw(target, SeededRandom(stream), severity)
        return active.entry.draw(active.rule.options, target, SeededRandom(stream), severity)
    except Exception as error:
        return Attempt({}, refused=describe_failure(error))


def carry_out(
    active: ActiveRule,
    target: Any,
    slot: str,
    drawn: Draw | Attempt,
    check: Check,
    *,
    full: str | None = None,
    texts: Texts | None = None,
) -> Attempt:
    """Carry a draw out, and have the guard check it."""
    if isinstance(drawn, Attempt):
        return drawn
    if full is not None:
        # Tried by rule all the same: a draw that would change nothing leaves no event.
        return _carry_out(active, target, drawn, lambda draw, result: check(draw, result) or full)
    if texts is None:
        return _carry_out(active, target, drawn, check)
    return _carry_out_in_words(active, target, slot, drawn, check, texts)


def _recall(active: ActiveRule, target: Any, stored: StoredDraw) -> Attempt:
    """Apply a draw that is on record. The guard had its say when it was drawn."""
    if stored.refused is not None:
        return Attempt(stored.draw, refused=stored.refused)
    try:
        return Attempt(stored.draw, apply_draw(active.entry, target, stored.draw))
    except Exception as error:
        return Attempt(stored.draw, refused=describe_failure(error))


def conclude(
    active: ActiveRule,
    slot: str,
    anchor: str,
    attempt: Attempt,
    logical_call: str | None = None,
    assurance: str = "",
) -> Outcome | None:
    """The decision that an attempt comes to; None where it changes nothing. `assurance` says how the task can
    still be solved, where that is not as the rule says."""
    if attempt.refused == NOTHING:
        return None
    rule = active.rule
    decision = Decision(
        rule.operator,
        rule.name,
        # An observation's rule acts on users' texts, whatever its operator's site is.
        active.site.value,
        slot,
        anchor,
        logical_call,
        rule.severity,
        attempt.draw,
        active.entry.recovery.value,
        active.entry.version,
    )
    if attempt.refused is not None or attempt.result is None:
        refused = attempt.refused or NOTHING
        return Outcome(decision, None, f"Withheld: {refused}.", find_reason(refused))
    result = attempt.result
    worded = describe_wording(attempt.draw) if WORDING in attempt.draw else ""
    note = f"{result.note} {assurance or active.assurance}{worded}"
    return Outcome(decision, result.payload, note)


def describe_failure(error: Exception) -> str:
    """The refusal of an operator that raised."""
    if isinstance(error, OperatorFailed):
        return str(error)
    return f"the operator failed ({type(error).__name__})"


def _carry_out_in_words(
    active: ActiveRule, target: Any, slot: str, draw: Draw, check: Check, texts: Texts
) -> Attempt:
    """Carry a draw out in a model's words where these are at hand and pass the guard, else by rule."""
    rule = active.rule
    try:
        prompt = prompt_for(rule.operator, rule.prompt, target, draw, rule.severity)
    except Exception as error:
        return _carry_out(active, target, use_rule(draw, describe_failure(error)), check)
    given = None if prompt is None else texts.get(slot, prompt)
    if given is None:
        return _carry_out(active, target, draw, check)
    why = given.why
    if given.text is not None:
        attempt = _carry_out(active, target, use_model_text(draw, given), check)
        if attempt.refused is None:
            return attempt
        why = f"the guard refused the model's text, {attempt.refused}"
    return _carry_out(active, target, use_rule(draw, why), check)


def _carry_out(active: ActiveRule, target: Any, draw: Draw, check: Check) -> Attempt:
    try:
        entry = active.entry
        result = apply_draw(entry, target, draw) if WORDING in draw else entry.apply(target, draw)
        refused = check(draw, result)
        if refused == NOTHING and UNABLE in draw:
            refused = str(draw[UNABLE])
        return Attempt(draw, result, refused)
    except UnusableText as error:
        return Attempt(draw, refused=str(error))
    except Exception as error:
        return Attempt(draw, refused=describe_failure(error))
