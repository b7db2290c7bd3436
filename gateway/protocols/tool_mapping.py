"""Map tools, calls and results between what the client declared and what the policy is shown."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from crosswind.gateway.protocols.answer import AnswerReader
from crosswind.gateway.protocols.document import split_array
from crosswind.gateway.protocols.hidden_tools import CallMapping, HiddenCall, HistoryMapping, Reinsertion
from crosswind.gateway.protocols.json_values import as_list, as_mapping, as_mappings, as_text, decode, encode
from crosswind.gateway.protocols.request import Request
from crosswind.injectors.conversation import ToolHints, ToolSchema
from crosswind.injectors.engine.tool_list import ShownTool

AnsweredRound = tuple[bytes, Sequence[tuple[HiddenCall, str]]]
"""What a round produced, and the results of its hidden calls."""
AnswerAnchor = tuple[str, str | None, int]
"""How a history finds a message of the policy: by the id of its first call, by its text, and by how many
messages before it in the same answer have the same.
"""
AnchoredReinsertion = tuple[AnswerAnchor, Reinsertion]


class ToolMapping(HistoryMapping):
    """One protocol's forms of tools and calls. Messages are JSON text; all methods are pure."""

    duplicates = "allowed"
    """Whether providers take two tools of one name: `allowed`, or `suffixed`."""
    schema_member = "parameters"
    """The member of a function that holds the schema of its parameters."""
    strict_by_default = False
    """Whether providers enforce the schema of a function that doesn't say `strict`."""

    @abstractmethod
    def function_of(self, tool: Any) -> dict[str, Any] | None:
        """The function that a declared tool is, an object with a `name`; None for tools of other kinds:
        custom ones, and the provider's own.
        """

    @abstractmethod
    def write_tool(self, raw: bytes | None, tool: ShownTool, changed: dict[str, Any]) -> bytes:
        """A tool as it is shown: the declared one (None if noise made it) with the changed members of its
        function.
        """

    @abstractmethod
    def history_messages(self, produced: bytes) -> tuple[bytes, ...]:
        """A plain answer as the policy's message (or messages) in a history."""

    def read_calls(self, produced: bytes) -> list[tuple[str, str]]:
        """The calls of a plain answer that is one message, by id and name."""
        raise NotImplementedError

    @abstractmethod
    def answer_reader(self, request: Request, mapping: CallMapping, *, captured: bool) -> AnswerReader:
        """A reader for the answer of a policy that was shown other tools than the client declared."""

    def read_schemas(self, declared: Any) -> list[ToolSchema]:
        """The declared functions; other tools are left alone."""
        return [
            ToolSchema(
                function["name"],
                description if isinstance(description := function.get("description"), str) else "",
                parameters if isinstance(parameters := function.get(self.schema_member), dict) else {},
                ToolHints.of(function.get("annotations")),
            )
            for function in self._functions(declared)
        ]

    def strict_tools(self, tools: bytes) -> frozenset[str]:
        """The declared functions to whose schemas the provider holds the model."""
        return frozenset(
            function["name"]
            for function in self._functions(decode(tools))
            if (strict := function.get("strict")) is True or (self.strict_by_default and strict is not False)
        )

    def reserved_names(self, tools: bytes) -> frozenset[str]:
        """The names of declared tools that are no functions."""
        others = [tool for tool in as_mappings(decode(tools)) if self.function_of(tool) is None]
        # The kind of a tool may hold its name in an object of its own.
        holders = [*others, *(as_mapping(tool.get(str(tool.get("type")))) for tool in others)]
        return frozenset(name for holder in holders if (name := as_text(holder, "name")))

    def write_tools(self, raw: bytes, shown: Sequence[ShownTool]) -> bytes:
        """The `tools` member with its functions as they are shown. Other tools keep their places, the shown
        functions take the other places in order, and surplus ones come last.
        """
        declared = [(element, self.function_of(decode(element)) is not None) for element in split_array(raw)]
        functions = [element for element, is_function in declared if is_function]
        rest = (self._write_shown(functions, tool) for tool in shown)
        out = [next(rest, None) if is_function else element for element, is_function in declared]
        return b"[" + b",".join([*(one for one in out if one is not None), *rest]) + b"]"

    def find_reinsertions(
        self,
        answer: AnswerReader,
        mapping: CallMapping,
        before: Sequence[AnsweredRound],
        last: AnsweredRound,
    ) -> Sequence[AnchoredReinsertion]:
        """What the client's history will lack of an answer, by the messages around which it is reinserted:
        the rounds before, and the last one's hidden calls. Here for protocols whose answer is one message.
        """
        rounds = [
            message.decode()
            for produced, results in before
            for message in (*self.history_messages(produced), *self.result_messages(results))
        ]
        hidden = {call.call_id for call, _ in last[1]}
        put = Reinsertion(
            before=tuple(rounds),
            text=answer.content() if rounds else None,
            calls=tuple((call.position, encode(call.raw).decode()) for call, _ in last[1]),
            results=tuple(message.decode() for message in self.result_messages(last[1])),
            names=tuple(call.name for _, results in [*before, last] for call, _ in results),
            called=tuple(
                (call_id, name)
                for call_id, name in (self.read_calls(last[0]) if answer.finished else [])
                if call_id and call_id not in hidden and mapping.shown_name(name) != name
            ),
        )
        return [] if put == Reinsertion() else [((*answer.history_anchor(), 0), put)]

    def _functions(self, declared: Any) -> Iterator[dict[str, Any]]:
        return (function for tool in as_list(declared) if (function := self.function_of(tool)) is not None)

    def _write_shown(self, functions: Sequence[bytes], tool: ShownTool) -> bytes:
        raw = None if tool.source is None else functions[tool.source]
        if raw is not None and not tool.changed:
            return raw
        shown = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        return self.write_tool(
            raw,
            tool,
            {
                self.schema_member if name == "parameters" else name: value
                for name, value in shown.items()
                if name in tool.changed and value is not None
            },
        )


class WrittenTools:
    """A session's last `tools` member as written: agents declare the same tools turn after turn."""

    __slots__ = ("_mapping", "_raw", "_reserved", "_shown", "_strict", "_written")

    def __init__(self) -> None:
        self._mapping: ToolMapping | None = None
        self._raw = b""
        self._strict: frozenset[str] = frozenset()
        self._reserved: frozenset[str] = frozenset()
        self._shown: Sequence[ShownTool] | None = None
        self._written = b""

    def strict_tools(self, mapping: ToolMapping, raw: bytes) -> frozenset[str]:
        """See `ToolMapping.strict_tools`."""
        self._read(mapping, raw)
        return self._strict

    def reserved_names(self, mapping: ToolMapping, raw: bytes) -> frozenset[str]:
        """See `ToolMapping.reserved_names`."""
        self._read(mapping, raw)
        return self._reserved

    def write_tools(self, mapping: ToolMapping, raw: bytes, shown: Sequence[ShownTool]) -> bytes:
        """See `ToolMapping.write_tools`."""
        self._read(mapping, raw)
        if shown is not self._shown:
            self._written, self._shown = mapping.write_tools(raw, shown), shown
        return self._written

    def _read(self, mapping: ToolMapping, raw: bytes) -> None:
        if mapping is not self._mapping or raw != self._raw:
            self._strict, self._reserved = mapping.strict_tools(raw), mapping.reserved_names(raw)
            self._mapping, self._raw, self._shown = mapping, raw, None
