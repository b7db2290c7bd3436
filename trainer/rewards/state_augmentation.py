"""The reward of state augmentation: success, less what invalid actions cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from crosswind.gateway.trajectory.prefixes import read_answer_message, read_calls
from crosswind.gateway.trajectory.record import Trajectory, Turn
from crosswind.trainer.rewards.reward import reward

SUCCESS = 10.0
INVALID_ACTION = -0.1


@reward("state_augmentation")
def state_augmentation(trajectory: Trajectory) -> float | None:
    """10 for success and 0 for failure, less 0.1 an invalid action ("Generalization Tax", appendix C).

    A session succeeded if its reward is at least 1. An action is a tool call; it is invalid where no such
    tool is declared, its arguments are no JSON object, or a required one is missing.
    """
    given = trajectory.session.reward
    if given is None:
        return None
    return (SUCCESS if given >= 1.0 else 0.0) + INVALID_ACTION * sum(map(_count_invalid, trajectory.turns))


def _count_invalid(turn: Turn) -> int:
    message = read_answer_message(turn)
    if message is None or turn.sent is None:
        return 0
    required = dict(_read_required(turn.sent.bytes()))
    return sum(not _is_valid(text, required.get(name)) for name, text in read_calls(message))


def _read_required(body: bytes) -> list[tuple[str, list[str]]]:
    """Of each declared tool, its name and the names of its required parameters."""
    try:
        tools = msgspec.json.decode(body).get("tools") or []
        functions = [tool["function"] for tool in tools if "function" in tool]
        return [(one["name"], (one.get("parameters") or {}).get("required") or []) for one in functions]
    except (msgspec.DecodeError, AttributeError, KeyError, TypeError):
        return []


def _is_valid(arguments: str, required: list[str] | None) -> bool:
    try:
        given: Any = msgspec.json.decode(arguments)
    except msgspec.DecodeError:
        return False
    return required is not None and isinstance(given, Mapping) and all(name in given for name in required)
