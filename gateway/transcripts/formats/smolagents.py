"""smolagents: calls as a Python list behind "Calling tools:", results as users' messages."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from typing import Any

from crosswind.gateway.transcripts.transcript import Piece, PolicyMessage, Speaker, UserMessage
from crosswind.injectors.conversation import ToolCall

_CALLS = "Calling tools:\n"
_TASK = "New task:\n"
_RESULT = re.compile(r"(?:Call id: \S+\n)?Observation:\n")
_ERROR = re.compile(r"(?:Call id: \S+\n)?Error:\n")
_AGAIN = "\nNow let's retry: take care not to repeat previous errors!"
_CODE_ENDS = ("</code>", "<end_code>")
"""How code ends, which the agent adds where the policy has left it out."""
_OWN = "python_interpreter"
"""The tool of agents that write code: they number its calls themselves."""
_LONGEST = 1 << 20


class Smolagents:
    markers = (_CALLS, *_CODE_ENDS, _TASK, _AGAIN, "Observation:\n")

    def read_policy(self, text: str) -> PolicyMessage | None:
        if (at := text.rfind(_CALLS)) >= 0 and (calls := _read_calls(text[at + len(_CALLS) :])):
            return PolicyMessage(_strip_end(text[:at]), calls)
        stripped = _strip_end(text)
        return None if stripped == text.rstrip() else PolicyMessage(stripped)

    def read_user(self, text: str, calls: Sequence[ToolCall]) -> UserMessage | None:
        if (failed := _ERROR.match(text)) is not None and (end := text.find(_AGAIN)) >= 0:
            return UserMessage((Piece(failed.end(), end, Speaker.TOOL),))
        if text.startswith(_TASK) and len(text) > len(_TASK):
            return UserMessage((Piece(len(_TASK), len(text), Speaker.USER),))
        if not calls or (found := _RESULT.match(text)) is None:
            return None
        # The results of several calls stand in lines of which nobody knows whose they are.
        call = calls[0] if len(calls) == 1 else None
        return UserMessage((Piece(found.end(), len(text), Speaker.TOOL, call),))


def _strip_end(text: str) -> str:
    text = text.rstrip()
    while text.endswith(_CODE_ENDS):
        text = text.removesuffix(_CODE_ENDS[0]).removesuffix(_CODE_ENDS[1]).rstrip()
    return text


def _read_calls(text: str) -> tuple[ToolCall, ...]:
    """The calls of a list as Python writes it; none where it isn't one."""
    if not text.startswith("[") or len(text) > _LONGEST:
        return ()
    try:
        listed = ast.literal_eval(text.strip())
        return tuple(_read_call(one) for one in listed)
    except (ValueError, SyntaxError, TypeError, KeyError, AttributeError, MemoryError, RecursionError):
        return ()


def _read_call(listed: Any) -> ToolCall:
    function = listed["function"]
    name, arguments = str(function["name"]), function["arguments"]
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return ToolCall("" if name == _OWN else str(listed["id"]), name, text)


FORMAT = Smolagents()
