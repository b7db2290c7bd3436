"""Conversations of every protocol, and an upstream whose answer hangs on every byte that it gets."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from hashlib import sha256
from random import Random
from typing import Any

from crosswind.testing.replies import CUT, Part, ReceivedRequest, Reply

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
COMPLETIONS, EMBEDDINGS = "/v1/completions", "/v1/embeddings"
WORDS = ["order", "W-1042", "naïve", "日本語", "🛒", "line\nbreak", '"quoted"', "\\", "\u2028", "x" * 300, ""]
HOP = {"host", "connection", "keep-alive", "transfer-encoding", "accept", "user-agent", "x-crosswind-via"}
"""Headers that belong to one hop, or that the clients of a test set for themselves."""


@dataclass(frozen=True)
class Request:
    """One request of a conversation. `leave_after` bytes of the answer the client goes away."""

    path: str
    body: bytes
    headers: dict[str, str]
    leave_after: int | None = None


def conversation(seed: int) -> list[Request]:
    """One to four requests that resend a growing history, in one protocol."""
    rng = Random(seed)
    path = rng.choice([CHAT, CHAT, CHAT, RESPONSES, MESSAGES, COMPLETIONS, EMBEDDINGS])
    history: list[Any] = []
    out = []
    for turn in range(rng.randint(1, 4)):
        history += _turn(rng, path, turn)
        body: dict[str, Any] = {"model": rng.choice(["tiny", "large"]), **_history(rng, path, history)}
        body |= {
            name: _value(rng) for name in rng.sample(["metadata", "x_unknown", "user"], rng.randint(0, 2))
        }
        if path != EMBEDDINGS and rng.random() < 0.5:
            body["stream"] = True
        if rng.random() < 0.4:
            body |= _tools(path)
        headers = {"x-behave": str(rng.randrange(1 << 30)), "x-agent": rng.choice(["a", "b"])}
        if rng.random() < 0.5:
            headers["accept-encoding"] = rng.choice(["gzip", "gzip, deflate, br", "identity", "deflate"])
        leave = rng.randint(1, 60) if rng.random() < 0.05 else None
        out.append(Request(path, _written(rng, body), headers, leave))
    return out


def _written(rng: Random, body: dict[str, Any]) -> bytes:
    """JSON as different clients spell it, and now and then something that is none."""
    if rng.random() < 0.02:
        return rng.choice([b"", b"{", b'{"model": NaN}', b'{"a":1,"a":2}', b"\xff\xfe", b"[]", b'"text"'])
    text = json.dumps(
        body,
        ensure_ascii=rng.random() < 0.5,
        indent=rng.choice([None, None, 1]),
        separators=rng.choice([None, (",", ":"), (" , ", " : ")]),
    )
    return text.encode() + rng.choice([b"", b"\n", b"  "])


def _value(rng: Random) -> Any:
    return rng.choice([1, 1.5, None, True, "text", [], {"nested": {"deep": [1, {}]}}, 12345678901234567890])


def _text(rng: Random) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(0, 6)))


def _turn(rng: Random, path: str, turn: int) -> list[Any]:
    """What is new in a turn: the answer to the last one, tools' results, the user's next message."""
    call = f"call_{turn}"
    match path:
        case "/v1/chat/completions":
            made = {"id": call, "type": "function", "function": {"name": "get", "arguments": '{"id": 1}'}}
            answered = [
                {"role": "assistant", "content": None, "tool_calls": [made]},
                {"role": "tool", "tool_call_id": call, "content": _content(rng, "text")},
            ]
            return [*(answered if turn else []), {"role": "user", "content": _content(rng, "text")}]
        case "/v1/messages":
            use = {"type": "tool_use", "id": call, "name": "get", "input": {"id": 1}}
            result = {"type": "tool_result", "tool_use_id": call, "content": _content(rng, "text")}
            spoken = {"type": "text", "text": _text(rng), "cache_control": {"type": "ephemeral"}}
            answered = [
                {"role": "assistant", "content": [use]},
                {"role": "user", "content": [result, spoken]},
            ]
            return answered if turn else [{"role": "user", "content": _content(rng, "text")}]
        case "/v1/responses":
            answered = [
                {"type": "function_call", "call_id": call, "name": "get", "arguments": "{}"},
                {"type": "function_call_output", "call_id": call, "output": _text(rng)},
            ]
            said = {"type": "message", "role": "user", "content": _content(rng, "input_text")}
            return [*(answered if turn else []), said]
        case _:
            return [_text(rng)]


def _content(rng: Random, kind: str) -> Any:
    if rng.random() < 0.5:
        return _text(rng)
    return [{"type": kind, "text": _text(rng)} for _ in range(rng.randint(0, 3))]


def _history(rng: Random, path: str, history: list[Any]) -> dict[str, Any]:
    match path:
        case "/v1/chat/completions":
            return {"messages": list(history)}
        case "/v1/messages":
            return {"messages": list(history), "max_tokens": 50}
        case "/v1/responses":
            return {"input": _text(rng) if rng.random() < 0.2 else list(history)}
        case "/v1/completions":
            return {"prompt": rng.choice([history[-1], list(history), [1, 2, 3]])}
        case _:
            return {"input": rng.choice([history[-1], list(history)])}


def _tools(path: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"id": {"type": "integer"}}}
    match path:
        case "/v1/chat/completions":
            function = {"name": "get", "description": "Get.", "parameters": schema}
            return {"tools": [{"type": "function", "function": function}], "tool_choice": "auto"}
        case "/v1/messages":
            return {"tools": [{"name": "get", "input_schema": schema}]}
        case "/v1/responses":
            return {"tools": [{"type": "function", "name": "get", "parameters": schema}]}
        case _:
            return {}


def echoing() -> Reply:
    """An upstream that answers by `x-behave`: plain, streamed, encoded, an error, or cut off in the middle.

    Its answer holds a digest of the method, path, headers and body that it got.
    """

    async def reply(seen: ReceivedRequest) -> AsyncIterator[Part]:
        rng = Random(int(seen.headers.get("x-behave", "0")))
        kept = sorted((name, value) for name, value in seen.headers.items() if name not in HOP)
        digest = sha256(repr((seen.method, seen.path, kept)).encode() + seen.body).hexdigest()
        kind = rng.choice(["plain"] * 3 + ["error", "cut", "unknown"])
        streamed = b'"stream"' in seen.body and kind != "error"
        status = rng.choice([400, 404, 429, 500, 503]) if kind == "error" else 200
        raw = _streamed(rng, digest) if streamed else _plain(rng, digest, kind)
        encoding = rng.choice(_offered(seen)) if kind != "cut" else None
        raw = _encoded(raw, encoding)
        head = [
            (b"content-type", b"text/event-stream" if streamed else b"application/json"),
            (b"x-request-id", digest[:8].encode()),
            (b"x-two", b"1"),
            (b"x-two", b"2"),
        ]
        if encoding:
            head.append((b"content-encoding", encoding.encode()))
        if not streamed and rng.random() < 0.5:
            head.append((b"content-length", str(len(raw)).encode()))
        yield status, head
        at = 0
        while at < len(raw):
            size = rng.randint(1, max(1, len(raw)))
            yield raw[at : at + size]
            at += size
            if kind == "cut" and at < len(raw):
                yield CUT
                return

    return reply


def _offered(seen: ReceivedRequest) -> list[str | None]:
    offered = seen.headers.get("accept-encoding", "")
    return [None, *(name for name in ("gzip", "deflate") if name in offered)]


def _encoded(raw: bytes, encoding: str | None) -> bytes:
    match encoding:
        case "gzip":
            return gzip.compress(raw, mtime=0)
        case "deflate":
            return zlib.compress(raw)
        case _:
            return raw


def _plain(rng: Random, digest: str, kind: str) -> bytes:
    if kind == "unknown":
        return rng.choice([b"", b"not json", b"\xff\x00", b'{"odd": [1, 2', b"[]"]) + digest.encode()
    choices = [{"index": 0, "message": {"role": "assistant", "content": digest}, "finish_reason": "stop"}]
    return json.dumps({"id": digest, "choices": choices, "usage": {"completion_tokens": 3}}).encode()


def _streamed(rng: Random, digest: str) -> bytes:
    end = rng.choice([b"\n", b"\r\n"])
    out = b""
    for piece in (digest[:20], digest[20:]):
        out += rng.choice([b"", b": keep-alive" + end + end, b"event: odd" + end])
        chunk = {"id": "c", "choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]}
        out += b"data: " + json.dumps(chunk).encode() + end + end
    if rng.random() < 0.8:
        chunk = {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        out += b"data: " + json.dumps(chunk).encode() + end + end
    return out + rng.choice([b"data: [DONE]" + end + end, b"", b"data: [DONE]"])
