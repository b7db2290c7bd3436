"""A rule's draw carried out and checked: in a model's words where they are at hand and pass, else by rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from crosswind.injectors.contract import OperatorFailed
from crosswind.injectors.guard.solvability import NOTHING
from crosswind.injectors.operator import Registered
from crosswind.injectors.targets import Draw, Result
from crosswind.injectors.text.languages import UNABLE
from crosswind.injectors.wording import Texts, Unusable, applied, by_rule, in_words, prompt_for

Check = Callable[[Result], str | None]
"""Why a result may not be shown, or None."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of carrying out a draw. `refused` says why it may not be shown; None: it may."""

    draw: Draw
    result: Result | None
    refused: str | None


@dataclass(frozen=True, slots=True)
class Acting:
    """Where an operator acts: on what, in which slot of the stream, with which words of the profile's own for
    a model."""

    entry: Registered
    target: Any
    slot: str
    severity: float
    direction: str = ""


def failed(error: Exception) -> str:
    """The refusal of an operator that raised."""
    if isinstance(error, OperatorFailed):
        return str(error)
    return f"the operator failed ({type(error).__name__})"


def carried_out(at: Acting, drawn: Draw, check: Check, texts: Texts | None) -> Attempt:
    """Carry out what the rule drew, in the form that it is to have. Never raises: noise must never break
    traffic, whatever an operator does wrong."""
    if texts is None:
        return _attempted(at, drawn, check)
    try:
        prompt = prompt_for(at.entry.name, at.direction, at.target, drawn, at.severity)
    except Exception as error:
        return _attempted(at, by_rule(drawn, failed(error)), check)
    given = None if prompt is None else texts.get(at.slot, prompt)
    if given is None:
        return _attempted(at, drawn, check)
    why = given.why
    if given.text is not None:
        attempt = _attempted(at, in_words(drawn, given), check)
        if attempt.refused is None:
            return attempt
        why = f"the guard refused the model's text, {attempt.refused}"
    return _attempted(at, by_rule(drawn, why), check)


def _attempted(at: Acting, draw: Draw, check: Check) -> Attempt:
    try:
        result = applied(at.entry, at.target, draw)
        refused = check(result)
        if refused == NOTHING and UNABLE in draw:
            refused = str(draw[UNABLE])
        return Attempt(draw, result, refused)
    except Unusable as error:
        return Attempt(draw, None, str(error))
    except Exception as error:
        return Attempt(draw, None, failed(error))
