"""One session laid out for a reader: what the agent sent beside what the policy saw, turn by turn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gateway.trajectory.content import View
from gateway.trajectory.record import Event, Trajectory, Turn


@dataclass(frozen=True, slots=True)
class Message:
    """One new message of a turn in both views."""

    role: str
    received: str
    sent: str

    @property
    def changed(self) -> bool:
        return self.received != self.sent


@dataclass(frozen=True, slots=True)
class ExampleTurn:
    """A turn's new messages, its answer, and what was injected in it."""

    index: int
    messages: Sequence[Message]
    answer: str
    versions: str
    events: Sequence[Event]


@dataclass(frozen=True, slots=True)
class Example:
    """A session as the report shows it."""

    id: str
    task: str
    noise: str
    reward: str
    turns: Sequence[ExampleTurn]


def example(trajectory: Trajectory) -> Example:
    """Lay a session out. Bodies that are no chat JSON are shown as they are."""
    session = trajectory.session
    turns: list[ExampleTurn] = []
    shown = 0
    for turn in trajectory.turns:
        received, sent = _messages(turn.received), _messages(turn.sent)
        new = [
            Message(str(before.get("role", "")), _text(before), _text(after))
            for before, after in list(zip(received, sent, strict=False))[shown:]
            if before.get("role") != "assistant"
        ]
        shown = len(received)
        events = [event for event in trajectory.events if event.turn_index == turn.index]
        turns.append(ExampleTurn(turn.index, new, _answer(turn), _versions(turn), events))
    reward = "pending" if session.reward is None else f"{session.reward:g}"
    return Example(
        session.id, session.task_id or "–", str(session.plan.get("noise_type") or "–"), reward, turns
    )


def _messages(view: View | None) -> list[Mapping[str, Any]]:
    try:
        body = json.loads(view.bytes()) if view else {}
    except ValueError:
        return []
    messages = body.get("messages") if isinstance(body, dict) else None
    return [each for each in messages if isinstance(each, dict)] if isinstance(messages, list) else []


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    parts = [content] if isinstance(content, str) else []
    if isinstance(content, list):
        parts = [str(part.get("text", f"[{part.get('type')}]")) for part in content if isinstance(part, dict)]
    for call in message.get("tool_calls") or []:
        function = call.get("function", {})
        parts.append(f"{function.get('name')}({function.get('arguments')})")
    return "\n".join(parts)


def _answer(turn: Turn) -> str:
    try:
        body = json.loads(turn.produced.bytes()) if turn.produced else {}
        return _text(body["choices"][0]["message"])
    except (ValueError, LookupError, TypeError):
        return turn.produced.bytes().decode(errors="replace") if turn.produced else ""


def _versions(turn: Turn) -> str:
    if turn.policy_first == turn.policy_last:
        return turn.policy_first or ""
    return f"{turn.policy_first} and, from a swap on, {turn.policy_last}"
