"""A conversation as people keep it in a file: the messages alone, or a request's body with its tools, in the
shape of OpenAI's Chat Completions or Responses, or of Anthropic's Messages."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

from crosswind.injectors.cli.api_formats import chat_document
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
    """The file is no list of chat messages; the message names the place and the mend."""


def messages_and_tools(document: Any) -> tuple[list[Message], list[Mapping[str, Any]]]:
    """The messages and tools of a JSON document: a list of messages, or a request's body. Those of Responses
    and of Anthropic's Messages become chat messages."""
    tools: Any = []
    document = chat_document(document)
    messages = document
    if isinstance(document, Mapping):
        messages, tools = document.get("messages"), document.get("tools") or []
    if not isinstance(messages, list):
        raise DocumentError("expected a list of chat messages, or an object with a list `messages`")
    for at, message in enumerate(messages):
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise DocumentError(
                f"messages[{at}] is no object with a `role`: write {{'role': 'user', ...}}, say"
            )
    if not isinstance(tools, list):
        raise DocumentError(
            f"`tools` is no list, but {type(tools).__name__}: write [{{'type': 'function', ...}}]"
        )
    return messages, tools


def conversation(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> Conversation:
    """The view that operators see of OpenAI chat messages: the same items, with the same anchors, as a
    gateway reads in a request's body."""
    reading = _Reading()
    items = [item for at, message in enumerate(messages) for item in reading.items(at, message)]
    schemas = ToolList(_schemas(tools))
    others = [tool for tool in tools if isinstance(tool, Mapping) and not _is_function(tool)]
    return Conversation(tuple(items), schemas, taken=other_names(others))


class _Reading:
    """What the messages so far tell of the next one: calls by their ids, and how many of each there were."""

    def __init__(self) -> None:
        self._calls: dict[str, list[ToolCall]] = {}
        self._unnamed: deque[ToolCall] = deque()
        self._seen: Counter[str] = Counter()
        self._ordinals: Counter[str] = Counter()

    def items(self, at: int, message: Message) -> Iterator[UserText | ToolResult]:
        role = message["role"]
        if role == "assistant":
            for call in _calls(message):
                if call.call_id:
                    self._calls.setdefault(call.call_id, []).append(call)
                else:
                    self._unnamed.append(call)
        if role not in ("user", "tool"):
            return
        texts = list(_texts(at, message.get("content")))
        yield from self._user(texts) if role == "user" else self._result(texts, message)
        self._ordinals[role] += 1

    def _user(self, texts: list[tuple[Ref, str]]) -> Iterator[UserText]:
        for ref, text in texts:
            yield UserText(ref, text, self._anchor(Site.USER_TEXT, text), self._ordinals["user"])

    def _result(self, texts: list[tuple[Ref, str]], message: Message) -> Iterator[ToolResult]:
        call, occurrence = self._answered(message)
        logical = logical_call(call.name, call.arguments)
        for order, (ref, text) in enumerate(texts):
            if call.call_id:
                anchor = call_anchor(call.call_id, occurrence) + (f".{order}" if order else "")
                self._seen[anchor] += 1
            else:
                anchor = self._anchor(Site.TOOL_RESULT, text)
            yield ToolResult(ref, text, anchor, self._ordinals["tool"], call, logical)

    def _answered(self, message: Message) -> tuple[ToolCall, int]:
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


def instructions(messages: Sequence[Message]) -> InstructionText | None:
    """The system prompt, where the messages begin with one."""
    first = messages[0] if messages else {}
    if first.get("role") not in ("system", "developer"):
        return None
    texts = ((ref, text) for ref, text in _texts(0, first.get("content")) if text.strip())
    found = next(texts, None)
    if found is None:
        return None
    ref, text = found
    return InstructionText(ref, text, text_anchor(Site.INSTRUCTIONS, text, 0), 0)


def replaced(messages: Sequence[Message], replacements: Mapping[Ref, str]) -> list[dict[str, Any]]:
    """The messages with the texts of `Perturbed.replacements` in their places. The originals aren't
    changed."""
    out: list[dict[str, Any]] = [deepcopy(dict(message)) for message in messages]
    for ref, text in replacements.items():
        if ref.part is None:
            out[ref.message]["content"] = text
        else:
            out[ref.message]["content"][ref.part]["text"] = text
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
