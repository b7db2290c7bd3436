"""Read outcomes: columns only, no bodies, in a few statements for the whole store."""

from __future__ import annotations

import sqlite3
from functools import lru_cache
from typing import Any

import msgspec

from crosswind.gateway.trajectory.json_text import from_json, text
from crosswind.gateway.trajectory.outcomes import NoiseEvent, SessionOutcome, Withholding

_FAILED = """error_source IN ('ours', 'upstream') AND coalesce(upstream_status, 0) NOT IN (400, 413, 422)"""
"""A failure of the infrastructure. These are the statuses by which an upstream refuses the conversation."""
_SESSIONS = """
SELECT number, id, arm, task_id, rollout_index, labels_json, plan_json, reward_state, reward,
  reward_components_json, noise_stopped, created_us
FROM session ORDER BY number
"""
_TURNS = f"""
SELECT session, sum(attempt = 0), coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0),
  max(created_us + coalesce(total_us, 0)), max({_FAILED})
FROM turn GROUP BY session
"""
_LAST_FAILURE = f"""
SELECT error_source FROM turn AS one WHERE session = ? AND {_FAILED} AND attempt =
  (SELECT max(attempt) FROM turn WHERE session = one.session AND turn_index = one.turn_index)
ORDER BY turn_index DESC LIMIT 1
"""
_INJECTED = """
SELECT session, operator, tool, turn_index,
  CASE WHEN turn_index < 0 THEN json_extract(draw_json, '$.link') END, created_us
FROM event WHERE slot <> '' AND after IS NOT NULL ORDER BY session, turn_index, attempt, ordinal
"""
_NOT_INJECTED = """
SELECT session, CASE WHEN slot = '' THEN '' ELSE operator END AS named, note, count(*)
FROM event WHERE after IS NULL AND (slot <> '' OR turn_index >= 0) GROUP BY session, named, note
"""


class _Rule(msgspec.Struct, gc=False):
    operator: str = ""


_NO_RULES = msgspec.Raw(b"[]")


class _Plan(msgspec.Struct, gc=False):
    """What is read of a plan, of whatever version."""

    profile: str | None = None
    rules: msgspec.Raw = _NO_RULES


_read_plan = msgspec.json.Decoder(_Plan).decode
_read_rules = msgspec.json.Decoder(list[_Rule]).decode


@lru_cache(maxsize=1024)
def _read_operators(rules: bytes) -> tuple[str, ...]:
    """The operators of a plan's rules. Sessions of a profile share them."""
    return tuple(dict.fromkeys([rule.operator for rule in _read_rules(rules)]))


_read_quickly = msgspec.json.Decoder(dict[str, Any]).decode


def _read_object(value: str | bytes) -> dict[str, Any]:
    try:
        return _read_quickly(value)
    except (msgspec.MsgspecError, UnicodeError):
        found: dict[str, Any] = from_json(value)  # This one reads infinities and lone surrogates, too.
        return found


def outcomes(connection: sqlite3.Connection) -> list[SessionOutcome]:
    """All sessions, by number."""
    totals = _add_turns(connection)
    return [_outcome(row, totals.get(row[0], _NONE)) for row in connection.execute(_SESSIONS)]


_NO_PLAN = _Plan()
_NONE = (0, 0, 0, None, None)


def _outcome(row: tuple[Any, ...], total: tuple[Any, ...]) -> SessionOutcome:
    plan = _read_plan(row[6]) if row[6] else _NO_PLAN
    return SessionOutcome(
        row[0],
        row[1],
        row[2] or "clean",
        text(row[3]),
        row[4],
        _read_object(row[5]) if row[5] else {},
        plan.profile,
        () if plan.rules is _NO_RULES else _read_operators(bytes(plan.rules)),
        row[7] or "pending",
        row[8],
        _read_object(row[9]) if row[9] and row[9] != "{}" else {},
        bool(row[10]),
        row[11],
        *total,
    )


def _add_turns(connection: sqlite3.Connection) -> dict[int, tuple[Any, ...]]:
    """Of each session its turns, tokens, end, and whose failure one of them ended in."""
    found: dict[int, tuple[Any, ...]] = {}
    failed = []
    for session, turns, prompt, completion, ended, fails in connection.execute(_TURNS):
        found[session] = (turns, prompt, completion, ended, None)
        if fails:
            failed.append(session)
    for session in failed:
        row = connection.execute(_LAST_FAILURE, (session,)).fetchone()
        found[session] = (*found[session][:4], row and row[0])
    return found


def noise_events(connection: sqlite3.Connection) -> list[NoiseEvent]:
    """All noise that acted, by session and turn."""
    return [NoiseEvent(*row) for row in connection.execute(_INJECTED)]


def withholdings(connection: sqlite3.Connection) -> list[Withholding]:
    """All noise that did not act, counted by session, operator and reason."""
    return [
        Withholding(session, operator, str(text(note)), count)
        for session, operator, note, count in connection.execute(_NOT_INJECTED)
    ]
