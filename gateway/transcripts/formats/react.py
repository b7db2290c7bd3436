"""ReAct prompts: lines that begin with Thought, Action, Action Input and Observation."""

from __future__ import annotations

import re
from collections.abc import Sequence

from crosswind.gateway.transcripts.transcript import Piece, PolicyMessage, Speaker, UserMessage, make_step
from crosswind.injectors.conversation import ToolCall

_BEGIN = "\nBegin!"
"""What stands before it in a prompt explains the format."""
_LINE = re.compile(
    r"^(Question|Thought|Action Input|Action|Observation|Final Answer)[ \t]*:[ \t]*", re.MULTILINE
)


class ReAct:
    markers = ("Action", "Observation", _BEGIN)

    def read_policy(self, text: str) -> PolicyMessage | None:
        if "Action" not in text:
            return None
        step: dict[str, str] = {}
        for name, start, end in _lines(text, 0):
            if name == "Observation":
                break
            step[name] = text[start:end]
        if "Action" not in step:
            return None
        thought = step.get("Thought") or text[: _first(text)]
        call = ToolCall("", step["Action"].strip(), step.get("Action Input", "").strip() or "{}")
        return PolicyMessage(text, (call,), make_step(thought, call.name, step.get("Action Input", "")))

    def read_user(self, text: str, calls: Sequence[ToolCall]) -> UserMessage | None:
        if "Observation" not in text and _BEGIN not in text:
            return None
        if calls and not calls[0].call_id and (only := _read_observation(text, calls)) is not None:
            return only
        begin = max(text.rfind(_BEGIN), 0)
        lines = _lines(text, begin)
        names = [name for name, *_ in lines]
        explained = begin > 0 and "Question" in names
        if not explained and not {"Action", "Action Input", "Observation"} <= set(names):
            return None
        return _read_scratchpad(text, lines)


def _read_observation(text: str, calls: Sequence[ToolCall]) -> UserMessage | None:
    """A message that holds nothing but the result of the call before it."""
    lines = _lines(text, 0)
    if not lines or lines[0][0] != "Observation" or text[: _first(text)].strip():
        return None
    return UserMessage((Piece(lines[0][1], len(text.rstrip()), Speaker.TOOL, calls[-1]),))


def _read_scratchpad(text: str, lines: Sequence[tuple[str, int, int]]) -> UserMessage:
    pieces: list[Piece] = []
    steps: list[str] = []
    step: dict[str, str] = {}
    for name, start, end in lines:
        if name == "Question" and start < end:
            pieces.append(Piece(start, end, Speaker.USER))
        elif name == "Observation":
            action, given = step.get("Action", "").strip(), step.get("Action Input", "")
            steps.append(make_step(step.get("Thought", ""), action, given))
            if start < end:
                call = ToolCall("", action, given.strip() or "{}")
                pieces.append(Piece(start, end, Speaker.TOOL, call))
            step = {}
        else:
            step[name] = text[start:end]
    return UserMessage(tuple(pieces), tuple(steps))


def _lines(text: str, begin: int) -> list[tuple[str, int, int]]:
    """Each marker with the span of what follows it, up to the next one."""
    marks = list(_LINE.finditer(text, begin))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    spans = [(mark[1], mark.end(), end) for mark, end in zip(marks, ends, strict=False)]
    return [(name, start, start + len(text[start:end].rstrip())) for name, start, end in spans]


def _first(text: str) -> int:
    found = _LINE.search(text)
    return len(text) if found is None else found.start()


FORMAT = ReAct()
