"""Messages: map tools and calls. Results stand in the user's message behind the policy's, before all else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from crosswind.gateway.protocols.document import Document, JsonPath, replace_values, split_array, split_object
from crosswind.gateway.protocols.hidden_tools import CallMapping, HiddenCall, Reinsertion
from crosswind.gateway.protocols.json_values import as_list, as_mappings, as_text, decode, encode
from crosswind.gateway.protocols.messages.mapped_answer import MappedMessagesAnswer
from crosswind.gateway.protocols.messages.mapped_stream import is_call
from crosswind.gateway.protocols.messages.tool_references import find_references
from crosswind.gateway.protocols.request import Request
from crosswind.gateway.protocols.tool_mapping import ToolMapping
from crosswind.injectors.engine.tool_list import ShownTool

_MARKS = {"text": "text", "thinking": "signature", "redacted_thinking": "data"}
"""The member by which a block is recognised, by the block's type."""


class MessagesToolMapping(ToolMapping):
    """The forms of Messages. Providers refuse two tools of one name."""

    duplicates = "suffixed"
    schema_member = "input_schema"

    def function_of(self, tool: Any) -> dict[str, Any] | None:
        """The client's own tools; the provider's have another type."""
        own = isinstance(tool, dict) and tool.get("type", "custom") in (None, "custom")
        return tool if own and isinstance(tool.get("name"), str) else None

    def write_tool(self, raw: bytes | None, tool: ShownTool, changed: dict[str, Any]) -> bytes:
        members = ({} if raw is None else split_object(raw)) | changed
        if "parameters" in tool.changed:
            # Providers check the examples against the schema.
            members.pop("input_examples", None)
        return encode({"input_schema": {"type": "object", "properties": {}}} | members)

    def history_messages(self, produced: bytes) -> tuple[bytes, ...]:
        return (encode({"role": "assistant", "content": decode(produced)["content"]}),)

    def result_messages(self, results: Sequence[tuple[HiddenCall, str]]) -> tuple[bytes, ...]:
        blocks = [
            {"type": "tool_result", "tool_use_id": call.call_id, "content": text} for call, text in results
        ]
        return (encode({"role": "user", "content": blocks}),) if blocks else ()

    def read_calls(self, produced: bytes) -> list[tuple[str, str]]:
        blocks = as_mappings(decode(produced).get("content"))
        return [(as_text(block, "id"), as_text(block, "name")) for block in blocks if is_call(block)]

    def rename_calls(self, raw: bytes, names: Mapping[str, str]) -> bytes:
        content = decode(raw)["content"]
        paths = {path: names[name] for path, name in find_references(content).items() if name in names}
        calls: dict[JsonPath, str] = {
            ("content", index, "name"): names[block["name"]]
            for index, block in enumerate(content)
            if isinstance(block, dict) and is_call(block) and as_text(block, "name") in names
        }
        return replace_values(raw, paths | calls)

    def reinsert(self, raw: bytes, put: Reinsertion) -> bytes:
        # Clients give the blocks of all rounds as one message: earlier rounds' blocks go back to their
        # messages.
        earlier = [block for message in put.before for block in _recognisable_blocks(message)]
        own = (_drop_earlier(block, earlier, put.text) for block in _blocks(raw))
        blocks = [block for block in own if block is not None]
        if put.called:
            names = dict(put.called)
            blocks = [_rename_by_id(names, block) for block in blocks]
        for position, call in put.calls:
            blocks.insert(position, call.encode())
        before = [message.encode() for message in put.before]
        # A last round that said nothing leaves nothing to send: messages may not be empty.
        return b",".join([*before, _with_content(raw, blocks)] if blocks else before)

    def insert_results(self, raw: bytes, put: Reinsertion) -> bytes:
        return self.add_results(raw, [message.encode() for message in put.results])

    def add_results(self, raw: bytes, results: Sequence[bytes]) -> bytes:
        """A message has its results before all else."""
        blocks = [block for message in results for block in _blocks(message)]
        return _with_content(raw, [*blocks, *_blocks(raw)]) if blocks else raw

    def id_paths(self, message: Any) -> tuple[list[JsonPath], list[JsonPath]]:
        content = message.get("content")
        blocks = [(at, one) for at, one in enumerate(as_list(content)) if isinstance(one, dict)]
        calls: list[JsonPath] = [("content", at, "id") for at, one in blocks if is_call(one) and "id" in one]
        results: list[JsonPath] = [
            ("content", at, "tool_use_id")
            for at, one in blocks
            if one.get("type") == "tool_result" and "tool_use_id" in one
        ]
        return (calls, []) if message.get("role") == "assistant" else ([], results)

    def answer_reader(
        self, request: Request, mapping: CallMapping, *, captured: bool
    ) -> MappedMessagesAnswer:
        return MappedMessagesAnswer(mapping)


def _rename_by_id(names: Mapping[str, str], raw: bytes) -> bytes:
    """A call under the name for its id, which the policy called."""
    block = decode(raw)
    if not isinstance(block, dict) or not is_call(block) or as_text(block, "id") not in names:
        return raw
    return replace_values(raw, {("name",): names[block["id"]]})


def _blocks(message: bytes) -> list[bytes]:
    """A message's blocks as JSON; a string is one block of text."""
    document = Document.parse(message)
    raw = document.raw("content") if document else encode(decode(message).get("content"))
    value = decode(raw) if raw is not None and raw.startswith(b'"') else None
    if value is not None:
        return [encode({"type": "text", "text": value})] if value else []
    return split_array(raw)


def _with_content(message: bytes, blocks: Sequence[bytes]) -> bytes:
    content = b"[" + b",".join(blocks) + b"]"
    document = Document.parse(message)
    if document is None:
        return encode({**decode(message), "content": decode(content)})
    span = document.members["content"]
    return message[: span.start] + content + message[span.end :]


def _recognisable_blocks(message: str) -> list[dict[str, Any]]:
    """The blocks of a message of the policy's besides its calls; none of a user's."""
    made = decode(message.encode())
    blocks = made["content"] if made["role"] == "assistant" else []
    return [block for block in blocks if isinstance(block, dict) and as_text(block, "type") in _MARKS]


def _drop_earlier(raw: bytes, earlier: list[dict[str, Any]], text: str | None) -> bytes | None:
    """A block without what earlier rounds said, which is removed from `earlier`; None if nothing is left.
    `text` is the last round's own: clients join texts as they like.
    """
    block = decode(raw)
    kind = as_text(block, "type") if isinstance(block, dict) else ""
    mark = _MARKS.get(kind)
    left = block.get(mark) if mark else None
    if mark is None or not isinstance(left, str):
        return raw
    known = False
    while (at := _find_earlier(earlier, kind, left)) is not None:
        # Clients leave blocks out: those before this one won't come any more.
        said = str(earlier[at][mark])
        del earlier[: at + 1]
        if left == said:
            return None
        left, known = left[len(said) :], True
    if not known:
        return raw
    return encode({**block, mark: text if text and left.strip() == text.strip() else left})


def _find_earlier(earlier: Sequence[Mapping[str, Any]], kind: str, left: str) -> int | None:
    """The first of the earlier blocks that this one is, or begins with."""
    for at, one in enumerate(earlier):
        said = one.get(_MARKS[kind])
        if one.get("type") == kind and said and (left == said or (kind == "text" and left.startswith(said))):
            return at
    return None
