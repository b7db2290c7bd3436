"""A provider on loopback that never gives one id twice, and looks at the bytes of each request."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

_NAME = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_REQUEST_LINE = re.compile(rb"[A-Z]+ [\x21-\x7e]+ HTTP/1\.1")
_STREAM = re.compile(rb'"stream": ?true')
RESPONSE_ID = re.compile(rb"answer-\d{8}")
COMPLETING = {
    "chat/completions": b'"finish_reason":"',
    "responses": b'"type":"response.completed"',
    "messages": b'"type":"message_delta"',
}
"""By route: what the completing event of a stream holds."""
_USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
_TOKENS = {"input_tokens": 3, "output_tokens": 2}


class Upstream:
    """Answers Chat Completions, Responses and Messages, plain and as streams.

    `ambiguous` lists why a request could be read in two ways; `seen` the values of the header `x-attack`.
    """

    def __init__(self) -> None:
        self.port = 0
        self.ambiguous: list[str] = []
        self.seen: set[str] = set()
        self.requests = 0
        self.change: Callable[[bytes], bytes] | None = None
        """Changes the answers to requests with the header x-attack."""
        self._ids = count(1)
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.requests += 1
                body = await self._read_body(head, reader)
                answer = self._answer(head, body)
                changed = self.change(answer) if self.change is not None and _is_marked(head) else answer
                writer.write(changed)
                await writer.drain()
                if len(changed) < len(answer):
                    return
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()
            self._writers.discard(writer)

    def close(self) -> None:
        for writer in self._writers:
            writer.close()

    async def _read_body(self, head: bytes, reader: asyncio.StreamReader) -> bytes:
        self.ambiguous += [f"{problem}: {head!r}" for problem in find_ambiguities(head)]
        fields = read_fields(head)
        self.seen |= {value.decode("latin-1") for name, value in fields if name == b"x-attack"}
        named = dict(fields)
        if named.get(b"transfer-encoding", b"").lower() == b"chunked":
            return await self._read_chunks(reader)
        return await reader.readexactly(int(named.get(b"content-length", b"0")))

    async def _read_chunks(self, reader: asyncio.StreamReader) -> bytes:
        body = b""
        while True:
            line = await reader.readuntil(b"\r\n")
            if not re.fullmatch(rb"[0-9a-fA-F]{1,16}\r\n", line):
                self.ambiguous.append(f"a chunk's size: {line!r}")
            if not (size := int(line.split(b";")[0], 16)):
                while await reader.readuntil(b"\r\n") != b"\r\n":
                    pass
                return body
            body += await reader.readexactly(size)
            if await reader.readexactly(2) != b"\r\n":
                self.ambiguous.append("a chunk without its end")

    def _answer(self, head: bytes, body: bytes) -> bytes:
        path = head.split(b" ", 2)[1].split(b"?")[0].decode("latin-1")
        route = next((one for one in COMPLETING if path.endswith(one)), None)
        name = f"answer-{next(self._ids):08d}"
        if route is None:
            return _plain({"object": "list", "data": []})
        if _STREAM.search(body):
            return _stream(_EVENTS[route](name))
        return _plain(_DOCUMENTS[route](name))


def _is_marked(head: bytes) -> bool:
    return b"\r\nx-attack:" in head.lower()


def read_fields(head: bytes) -> list[tuple[bytes, bytes]]:
    """The header fields, names in lower case."""
    lines = head.split(b"\r\n")[1:-2]
    pairs = [line.partition(b":") for line in lines]
    return [(name.lower(), value.strip()) for name, _, value in pairs]


def find_ambiguities(head: bytes) -> list[str]:
    """Why two servers might read this head differently."""
    found = []
    first, *lines = head[:-4].split(b"\r\n")
    if not _REQUEST_LINE.fullmatch(first):
        found.append("the request line")
    if re.search(rb"[\r\n\x00]", head.replace(b"\r\n", b"")):
        found.append("a bare CR, LF or NUL")
    if not all(b":" in line and _NAME.fullmatch(line.partition(b":")[0]) for line in lines):
        found.append("a field's name")
    fields = read_fields(head)
    lengths = [value for name, value in fields if name == b"content-length"]
    codings = [value for name, value in fields if name == b"transfer-encoding"]
    if len(lengths) + len(codings) > 1:
        found.append("two framings")
    if any(not re.fullmatch(rb"\d+", value) for value in lengths):
        found.append("a length")
    if any(value.lower() != b"chunked" for value in codings):
        found.append("a coding")
    return found


@asynccontextmanager
async def run_upstream() -> AsyncIterator[Upstream]:
    """An upstream on this loop, for as long as the block lasts."""
    upstream = Upstream()
    server = await asyncio.start_server(upstream.serve, "127.0.0.1", 0, backlog=4096, limit=1 << 24)
    upstream.port = server.sockets[0].getsockname()[1]
    try:
        yield upstream
    finally:
        server.close()
        upstream.close()


def _plain(document: Any) -> bytes:
    body = _encode(document)
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
    return head + body


def _stream(events: list[bytes]) -> bytes:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    return head + b"".join(b"%x\r\n%b\r\n" % (len(event), event) for event in events) + b"0\r\n\r\n"


def _encode(document: Any) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def _event(document: dict[str, Any], *, named: bool = True) -> bytes:
    kind = f"event: {document['type']}\n".encode() if named else b""
    return kind + b"data: " + _encode(document) + b"\n\n"


def _chat(name: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": "It is on its way."}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": name, "object": "chat.completion", "model": "m", "choices": [choice], "usage": _USAGE}


def _chat_events(name: str) -> list[bytes]:
    def chunk(delta: dict[str, str], finish: str | None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        document = {"id": name, "object": "chat.completion.chunk", "model": "m", "choices": [choice]}
        return _event(document, named=False)

    parts = [chunk({"role": "assistant", "content": "It is "}, None), chunk({"content": "on its way."}, None)]
    return [*parts, chunk({}, "stop"), b"data: [DONE]\n\n"]


def _response(name: str) -> dict[str, Any]:
    text = {"type": "output_text", "text": "It is on its way.", "annotations": []}
    item = {"type": "message", "id": f"item-{name}", "role": "assistant", "status": "completed"}
    body = {"id": name, "object": "response", "status": "completed", "model": "m", "usage": _TOKENS}
    return body | {"output": [item | {"content": [text]}]}


def _response_events(name: str) -> list[bytes]:
    begun = {"id": name, "object": "response", "status": "in_progress", "model": "m", "output": []}
    item = {"type": "message", "id": f"item-{name}", "role": "assistant", "content": []}
    place = {"output_index": 0, "content_index": 0, "item_id": item["id"]}
    whole = _response(name)
    documents: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_text.delta", **place, "delta": "It is on its way."},
        {"type": "response.output_item.done", "output_index": 0, "item": whole["output"][0]},
        {"type": "response.completed", "response": whole},
    ]
    numbered = [document | {"sequence_number": number} for number, document in enumerate(documents)]
    return [_event(document) for document in numbered]


def _message(name: str) -> dict[str, Any]:
    content = [{"type": "text", "text": "It is on its way."}]
    body = {"id": name, "type": "message", "role": "assistant", "model": "m", "content": content}
    return body | {"stop_reason": "end_turn", "stop_sequence": None, "usage": _TOKENS}


def _message_events(name: str) -> list[bytes]:
    begun = _message(name) | {"content": [], "stop_reason": None}
    documents: list[dict[str, Any]] = [
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": "It is on its way."},
        },
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": _TOKENS,
        },
        {"type": "message_stop"},
    ]
    return [_event(document) for document in documents]


_DOCUMENTS: dict[str, Callable[[str], dict[str, Any]]] = {
    "chat/completions": _chat,
    "responses": _response,
    "messages": _message,
}
_EVENTS: dict[str, Callable[[str], list[bytes]]] = {
    "chat/completions": _chat_events,
    "responses": _response_events,
    "messages": _message_events,
}
