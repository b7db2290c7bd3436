"""DSPy: fields behind markers such as `[[ ## question ## ]]`, and the steps so far as fields with numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import zip_longest

from crosswind.gateway.transcripts.transcript import Piece, PolicyMessage, Speaker, UserMessage, make_step
from crosswind.injectors.conversation import ToolCall

_MARK = "[[ ## "
_FIELD = re.compile(r"^\[\[ ## (\w+) ## \]\][ \t]*\n?", re.MULTILINE)
_ASKED = re.compile(r"^(?:Respond with (?:the corresponding output fields|a JSON object)\b)", re.MULTILINE)
"""How the instruction begins that ends a message."""
_NUMBERED = re.compile(r"(thought|tool_name|tool_args|observation)_(\d+)\Z")
_OWN = frozenset({"trajectory", "completed"})


class Dspy:
    markers = (_MARK,)

    def read_policy(self, text: str) -> PolicyMessage | None:
        if _MARK not in text:
            return None
        said = {name: text[start:end].strip() for name, start, end in _fields(text)}
        if "next_tool_name" not in said:
            return None
        parts = (said.get(f"next_{part}", "") for part in ("thought", "tool_name"))
        return PolicyMessage(text, step=make_step(*parts, _canonical(said.get("next_tool_args", ""))))

    def read_user(self, text: str, calls: Sequence[ToolCall]) -> UserMessage | None:
        if _MARK not in text or not (fields := _fields(text)):
            return None
        steps: dict[str, dict[str, str]] = {}
        pieces: list[Piece] = []
        for name, start, end in fields:
            if (numbered := _NUMBERED.match(name)) is None:
                if name not in _OWN and start < end:
                    pieces.append(Piece(start, end, Speaker.USER))
                continue
            kind, number = numbered.groups()
            step = steps.setdefault(number, {})
            step[kind] = text[start:end]
            if kind == "observation" and start < end:
                call = ToolCall("", step.get("tool_name", ""), step.get("tool_args", "{}") or "{}")
                pieces.append(Piece(start, end, Speaker.TOOL, call))
        made = (
            make_step(one.get("thought", ""), one.get("tool_name", ""), _canonical(one.get("tool_args", "")))
            for one in steps.values()
        )
        return UserMessage(tuple(pieces), tuple(made))


def _fields(text: str) -> list[tuple[str, int, int]]:
    """Each field's name, and the span of its value without the spaces around it."""
    marks = list(_FIELD.finditer(text))
    out = []
    for mark, following in zip_longest(marks, marks[1:]):
        start, end = mark.end(), len(text) if following is None else following.start()
        if following is None and (asked := _ASKED.search(text, start)):
            end = asked.start()
        value = text[start:end]
        begin = start + len(value) - len(value.lstrip())
        out.append((mark[1], begin, max(begin, start + len(value.rstrip()))))
    return out


def _canonical(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments


FORMAT = Dspy()
