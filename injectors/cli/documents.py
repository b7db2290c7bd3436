"""Read conversations from JSON files: the messages alone, or a request's body with its tools, in the form of
OpenAI's Chat Completions or Responses, or of Anthropic's Messages."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from crosswind.injectors.cli.api_formats import to_chat
from crosswind.injectors.conversation import (
    Conversation,
    InstructionText,
    Ref,
    Site,
    ToolCall,
    ToolList,
    ToolResult,
    ToolSchema,
    UserText,
)
from crosswind.injectors.identity import call_anchor, logical_call, text_anchor

Message = Mapping[str, Any]


class DocumentError(ValueError):
    """The file is no list of chat messages; the message names the place and the fix."""


def read_document(document: Any) -> tuple[list[Message], list[Mapping[str, Any]]]:
    """The chat messages and tools of a JSON document: a list of messages, or a request's body."""
    document = to_chat(document)
    body = document if isinstance(document, Mapping) else {"messages": document}
    messages, tools = body.get("messages"), body.get("tools") or []
    if not isinstance(messages, list):
        raise DocumentError("expected a list of chat messages, or an object with a list `messages`")
    for at, message in enumerate(messages):
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            fix = "write {'role': 'user', ...}, say"
            raise DocumentError(f"messages[{at}] is no object with a `role`: {fix}")
    if not isinstance(tools, list):
        kind = type(tools).__name__
        raise DocumentError(f"`tools` is no list, but {kind}: write [{{'type': 'function', ...}}]")
    return messages, tools


def conversation(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> Conversation:
    """The view that operators see of OpenAI chat messages: the same items, with the same anchors, as a
    gateway reads in a request's body."""
    reading = _Reader()
    items = [item for at, message in enumerate(messages) for item in reading.items(at, message)]
    schemas = ToolList(_schemas(tools))
    others = [tool for tool in tools if isinstance(tool, Mapping) and not _is_function(tool)]
    return Conversation(tuple(items), schemas, taken=other_names(others))


@dataclass(slots=True)
class _Reader:
    """Reads messages one by one, with what the earlier ones tell of the next."""

    _calls: defaultdict[str, list[ToolCall]] = field(default_factory=lambda: defaultdict(list))
    _unnamed: deque[ToolCall] = field(default_factory=deque)
    """Calls without an id, in order."""
    _seen: Counter[str] = field(default_factory=Counter)
    """Texts and results, by anchor."""
    _ordinals: Counter[str] = field(default_factory=Counter)

    def items(self, at: int, message: Message) -> Iterator[UserText | ToolResult]:
        role = message["role"]
        if role == "assistant":
            for call in _calls(message):
                (self._calls[call.call_id] if call.call_id else self._unnamed).append(call)
        if role not in ("user", "tool"):
            return
        texts, ordinal = _texts(at, message.get("content")), self._ordinals[role]
        self._ordinals[role] += 1
        if role == "tool":
            yield from self._results(texts, ordinal, message)
            return
        for ref, text in texts:
            yield UserText(ref, text, self._anchor(Site.USER_TEXT, text), ordinal)

    def _results(
        self, texts: Iterable[tuple[Ref, str]], ordinal: int, message: Message
    ) -> Iterator[ToolResult]:
        call, occurrence = self._answered_call(message)
        logical = logical_call(call.name, call.arguments)
        for order, (ref, text) in enumerate(texts):
            if call.call_id:
                anchor = call_anchor(call.call_id, occurrence) + (f".{order}" if order else "")
                self._seen[anchor] += 1
            else:
                anchor = self._anchor(Site.TOOL_RESULT, text)
            yield ToolResult(ref, text, anchor, ordinal, call, logical)

    def _answered_call(self, message: Message) -> tuple[ToolCall, int]:
        """The call that a result answers, and the result's occurrence among those of that id. Endpoints
        repeat ids and leave them out."""
        call_id = _text(message.get("tool_call_id"))
        if not call_id:
            return (self._unnamed.popleft() if self._unnamed else ToolCall("", "", "{}")), 0
        occurrence = 0
        while self._seen[call_anchor(call_id, occurrence)]:
            occurrence += 1
        calls = self._calls.get(call_id)
        if not calls:
            return ToolCall(call_id, _text(message.get("name")), "{}"), occurrence
        return calls[min(occurrence, len(calls) - 1)], occurrence

    def _anchor(self, site: Site, text: str) -> str:
        first = text_anchor(site, text, 0)
        occurrence = self._seen[first]
        self._seen[first] += 1
        return text_anchor(site, text, occurrence)


def other_names(tools: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """The names of tools that are no functions, whose kind may hold the name in an object of its own."""
    holders = [(tool, tool.get(str(tool.get("type")))) for tool in tools]
    names = (one.get("name") for pair in holders for one in pair if isinstance(one, Mapping))
    return frozenset(name for name in names if isinstance(name, str))


def find_instructions(messages: Sequence[Message]) -> InstructionText | None:
    """The system prompt, if the messages begin with one."""
    first = messages[0] if messages else {}
    if first.get("role") not in ("system", "developer"):
        return None
    for ref, text in _texts(0, first.get("content")):
        if text.strip():
            return InstructionText(ref, text, text_anchor(Site.INSTRUCTIONS, text, 0), 0)
    return None


def apply_replacements(messages: Sequence[Message], replacements: Mapping[Ref, str]) -> list[dict[str, Any]]:
    """A copy of the messages with the texts of `Perturbed.replacements` in their places."""
    out: list[dict[str, Any]] = [deepcopy(dict(message)) for message in messages]
    for ref, text in replacements.items():
        message = out[ref.message]
        holder, key = (message, "content") if ref.part is None else (message["content"][ref.part], "text")
        holder[key] = text
    return out


def _calls(message: Message) -> Iterator[ToolCall]:
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            arguments = function.get("arguments")
            told = arguments if isinstance(arguments, str) else "{}"
            yield ToolCall(_text(call.get("id")), _text(function.get("name")), told)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _texts(at: int, content: Any) -> Iterator[tuple[Ref, str]]:
    if isinstance(content, str):
        yield Ref(at), content
    elif isinstance(content, list):
        for number, part in enumerate(content):
            if isinstance(part, Mapping) and part.get("type") == "text" and isinstance(part.get("text"), str):
                yield Ref(at, number), part["text"]


def _schemas(tools: Sequence[Mapping[str, Any]]) -> Iterator[ToolSchema]:
    for tool in tools:
        if isinstance(tool, Mapping) and _is_function(tool):
            function = tool["function"]
            parameters = function.get("parameters")
            yield ToolSchema(
                function["name"],
                str(function.get("description") or ""),
                parameters if isinstance(parameters, Mapping) else {},
            )


def _is_function(tool: Mapping[str, Any]) -> bool:
    function = tool.get("function")
    return isinstance(function, Mapping) and isinstance(function.get("name"), str)
