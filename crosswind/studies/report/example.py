"""One session laid out for a reader: what the agent sent beside what the policy saw, turn by turn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crosswind.gateway.trajectory.content import View
from crosswind.gateway.trajectory.record import Event, Trajectory, Turn
from crosswind.gateway.trajectory.timeline import describe_on_wire, order_by_time


@dataclass(frozen=True, slots=True)
class ExampleMessage:
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
    messages: Sequence[ExampleMessage]
    answer: str
    versions: str
    events: Sequence[Event]
    on_wire: Sequence[Mapping[str, Any]] = ()
    """What tool legs did between the turn before and this one."""


@dataclass(frozen=True, slots=True)
class ReportExample:
    """A session as the report shows it."""

    id: str
    task: str
    noise: str
    reward: str
    turns: Sequence[ExampleTurn]


def lay_out(trajectory: Trajectory) -> ReportExample:
    """Lay a session out. Bodies that are no chat JSON are shown as they are."""
    session = trajectory.session
    turns: list[ExampleTurn] = []
    shown = 0
    on_wire: list[Mapping[str, Any]] = []
    for turn in order_by_time(trajectory):
        if isinstance(turn, Event):
            on_wire.append(describe_on_wire(turn))
            continue
        received, sent = _messages(turn.received), _messages(turn.sent)
        shown = min(shown, len(received) - 1) if received else 0
        new = [
            ExampleMessage(str(before.get("role") or before.get("type", "")), _text(before), _text(after))
            for before, after in list(zip(received, sent, strict=False))[shown:]
            if before.get("role") != "assistant" and before.get("type") != "function_call"
        ]
        shown = len(received)
        events = [event for event in trajectory.events if event.turn_index == turn.index]
        turns.append(ExampleTurn(turn.index, new, _answer(turn), _versions(turn), events, on_wire))
        on_wire = []
    reward = "pending" if session.reward is None else f"{session.reward:g}"
    return ReportExample(
        session.id, session.task_id or "–", str(session.plan.get("noise_type") or "–"), reward, turns
    )


def _messages(view: View | None) -> list[Mapping[str, Any]]:
    """The history of a request: `messages`, `input` or `prompt`, as its protocol has it."""
    try:
        body = json.loads(view.bytes()) if view else {}
    except ValueError:
        return []
    if not isinstance(body, dict):
        return []
    history: Any = next((body[name] for name in ("messages", "input", "prompt") if name in body), [])
    if isinstance(history, str):
        return [{"role": "user", "content": history}]
    return [each for each in history if isinstance(each, dict)] if isinstance(history, list) else []


def _text(message: Mapping[str, Any]) -> str:
    """What a message says: its texts, its calls and the results that it brings, in order."""
    parts = _parts(message.get("content"))
    for call in message.get("tool_calls") or []:
        function = call.get("function", {})
        parts.append(f"{function.get('name')}({function.get('arguments')})")
    if message.get("type") == "function_call":
        parts.append(f"{message.get('name')}({message.get('arguments')})")
    return "\n".join([*parts, *_parts(message.get("output"))])


def _parts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    found: list[str] = []
    for part in content if isinstance(content, list) else ():
        if not isinstance(part, dict):
            continue
        if part.get("type") == "tool_use":
            found.append(f"{part.get('name')}({json.dumps(part.get('input'))})")
        elif part.get("type") == "tool_result":
            found += _parts(part.get("content"))
        else:
            found.append(str(part.get("text", f"[{part.get('type')}]")))
    return found


def _answer(turn: Turn) -> str:
    """What the policy said, in any protocol; the body as it is where that isn't known."""
    raw = turn.produced.bytes() if turn.produced else b""
    try:
        body = json.loads(raw) if raw else {}
        if "choices" in body:
            choice = body["choices"][0]
            return _text(choice["message"]) if "message" in choice else str(choice["text"])
        if isinstance(body.get("output"), list):
            return "\n".join(filter(None, (_text(item) for item in body["output"])))
        if isinstance(body.get("content"), list):
            return _text(body)
    except (ValueError, LookupError, TypeError, AttributeError):
        pass
    return raw.decode(errors="replace")


def _versions(turn: Turn) -> str:
    if turn.policy_first == turn.policy_last:
        return turn.policy_first or ""
    return f"{turn.policy_first} and, from a swap on, {turn.policy_last}"
