"""Hostile requests by a seeded grammar: well-formed ones of both planes, mutated in head, framing or body."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

KNOWN = ("answers of upstreams, many at once, that each open to limits.decoded",)
"""Defects that are known and open: nothing here tries them."""

_TOOL = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
_CALL = {"id": "call-1", "type": "function", "function": {"name": "get_order", "arguments": '{"id":"W1"}'}}
_CHAT: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": [{"type": "text", "text": "Where is order W17, please?"}]},
        {"role": "assistant", "content": None, "tool_calls": [_CALL]},
        {"role": "tool", "tool_call_id": "call-1", "content": '{"status":"shipped","total":12.5}'},
    ],
    "tools": [{"type": "function", "function": {"name": "get_order", "parameters": _TOOL}}],
    "stream": False,
    "temperature": 0.5,
}
_RESPONSES: dict[str, Any] = {
    "model": "m",
    "input": [
        {"role": "user", "content": "Where is order W17?"},
        {"type": "function_call", "call_id": "c", "name": "get_order", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "shipped"},
    ],
    "tools": [{"type": "function", "name": "get_order", "parameters": _TOOL, "strict": False}],
    "previous_response_id": None,
    "stream": True,
}
_MESSAGES: dict[str, Any] = {
    "model": "m",
    "max_tokens": 10,
    "messages": [
        {"role": "user", "content": "Where is order W17?"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "get_order", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "shipped"}]},
    ],
    "tools": [{"name": "get_order", "input_schema": _TOOL}],
    "stream": True,
}
_PROFILE = "name: mine\nversion: 1\nsummary: x\nrules:\n  - operator: tool.timeout\n    severity: 0.1\n"
DATA: tuple[tuple[str, str, Any], ...] = (
    ("POST", "/v1/chat/completions", _CHAT),
    ("POST", "/s/fuzz-1/v1/chat/completions", _CHAT | {"stream": True}),
    ("POST", "/v1/responses", _RESPONSES),
    ("POST", "/s/fuzz-2/v1/messages", _MESSAGES),
    ("POST", "/v1/completions", {"model": "m", "prompt": ["a", "b"], "n": 2}),
    ("POST", "/v1/embeddings", {"model": "m", "input": ["a", [1, 2]]}),
    ("GET", "/v1/models", None),
    ("GET", "/v1/responses/resp-1/input_items?limit=2", None),
    ("DELETE", "/v1/files/file-1", None),
    ("GET", "/healthz", None),
)
CONTROL: tuple[tuple[str, str, Any], ...] = (
    ("POST", "/api/sessions", {"task_id": "t", "group_id": "g-1", "group_size": 2, "labels": {"a": "b"}}),
    ("POST", "/api/sessions", {"profile": "noisyagent", "arm": "noisy", "seed": 1, "level": 2}),
    ("POST", "/api/sessions/fuzz-1/reward", {"reward": 0.5, "components": {"a": 1}, "source": "judge"}),
    ("POST", "/api/sessions/fuzz-2/close", None),
    ("DELETE", "/api/sessions/fuzz-2", None),
    ("GET", "/api/sessions?limit=5&offset=0&label=a%3Db", None),
    ("GET", "/api/sessions/fuzz-1/trajectory", None),
    ("GET", "/api/sessions/fuzz-1/events", None),
    ("GET", "/api/groups/deleted?prefix=g-", None),
    ("PUT", "/api/profiles/mine", {"yaml": _PROFILE}),
    ("GET", "/api/profiles/chaos/flaky-tools", None),
    ("PUT", "/api/curriculum", {"rho": 0.5}),
    ("GET", "/api/curriculum", None),
    ("PUT", "/api/noise", {"enabled": True}),
    ("PUT", "/api/versions/v1", {"trusted": True, "max_difference": 0.1, "engines": ["http://127.0.0.1:1"]}),
    ("POST", "/api/reload", None),
    ("GET", "/metrics", None),
    ("GET", "/readyz", None),
    ("GET", "/openapi.json", None),
)
_ODD: tuple[Any, ...] = (
    *(None, True, -1, 0, 1e308, 10**400, "", "\ud800", "\x00", "a" * 70_000, [], {}, [[]], {"": None}),
    *("../../etc/passwd", "call-1", [None] * 300, {"type": "x"}, "e\u0301\u202e\U0001f600", -(2**63), 1.5),
)
_SMUGGLED = b"GET /v1/smuggled HTTP/1.1\r\nhost: x\r\n\r\n"


@dataclass
class Request:
    """A request in parts, so that each part can be mutated."""

    control: bool
    method: bytes
    target: bytes
    fields: list[tuple[bytes, bytes]]
    body: bytes
    chunked: bool = False
    version: bytes = b"HTTP/1.1"
    raw: list[Callable[[bytes], bytes]] = field(default_factory=list)
    """Applied to the request's bytes in the end."""

    def to_bytes(self) -> bytes:
        lines = [b" ".join((self.method, self.target, self.version))]
        lines += [name + b": " + value for name, value in self.fields]
        whole = b"\r\n".join([*lines, b"", b""]) + self.body
        for change in self.raw:
            whole = change(whole)
        return whole


@dataclass(frozen=True, slots=True)
class Attempt:
    """What goes over one connection, in pieces; `mark` is its value of the header x-attack."""

    control: bool
    mark: str
    pieces: tuple[bytes, ...]
    reset: bool
    """The connection is reset after the last piece, without reading."""


def make_attempt(seed: int, number: int) -> Attempt:
    """The attempt of this number: always the same bytes."""
    draws, mark = random.Random(f"{seed}-{number}"), f"{seed}-{number}"
    count = draws.choice((1, 1, 1, 2, 3))
    control = draws.random() < 0.35
    whole = b"".join(_make_request(draws, control, mark).to_bytes() for _ in range(count))
    if draws.random() < 0.05:
        whole = whole[: draws.randrange(len(whole) + 1)]
    cuts = sorted(draws.randrange(len(whole) + 1) for _ in range(draws.choice((0, 0, 1, 3))))
    pieces = tuple(whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True))
    return Attempt(control, mark, pieces, draws.random() < 0.05)


def _make_request(draws: random.Random, control: bool, mark: str) -> Request:
    if not control and draws.random() < 0.08:
        request = _upgrade(mark)
    else:
        method, target, body = draws.choice(CONTROL if control else DATA)
        raw = b"" if body is None else _mutate_document(draws, body)
        request = Request(control, method.encode(), target.encode(), _fields(mark, draws), raw)
        _frame(draws, request)
    for change in draws.choices(_HEAD_MUTATIONS, k=draws.choice((0, 0, 1, 2))):
        change(draws, request)
    return request


def _fields(mark: str, draws: random.Random) -> list[tuple[bytes, bytes]]:
    fields = [(b"Host", b"127.0.0.1"), (b"X-Attack", mark.encode()), (b"Content-Type", b"application/json")]
    extra = (
        (b"Authorization", b"Bearer cw-none"),
        (b"X-Crosswind-Session", b"fuzz-3"),
        (b"X-Crosswind-Profile", b"noisyagent"),
        (b"Expect", b"100-continue"),
        (b"Connection", b"close"),
        (b"Accept-Encoding", b"gzip, br;q=0.1, *"),
        (b"Idempotency-Key", b"same"),
    )
    return fields + draws.sample(extra, draws.choice((0, 0, 1, 2)))


def _upgrade(mark: str) -> Request:
    fields = [(b"Host", b"127.0.0.1"), (b"X-Attack", mark.encode()), (b"Connection", b"Upgrade")]
    fields += [(b"Upgrade", b"websocket"), (b"Sec-WebSocket-Version", b"13")]
    fields.append((b"Sec-WebSocket-Key", b"dGhlIHNhbXBsZSBub25jZQ=="))
    return Request(False, b"GET", b"/v1/realtime?model=m", fields, b"")


# Bodies


def _mutate_document(draws: random.Random, body: Any) -> bytes:
    """JSON with some of its values exchanged, or bytes that are JSON no more."""
    document = deepcopy(body)
    for _ in range(draws.choice((0, 1, 1, 2))):
        _mutate_value(draws, document)
    raw = json.dumps(document).encode()
    match draws.randrange(20):
        case 0:
            return raw[: draws.randrange(len(raw) + 1)]
        case 1:
            at = draws.randrange(len(raw) + 1)
            return raw[:at] + draws.randbytes(draws.randint(1, 8)) + raw[at:]
        case 2:
            return b"[" * 3000 + raw + b"]" * 3000
        case 3:
            return raw[:-1] + b',"model":"twice","messages":[],"model":1}'
        case 4:
            return b"\xef\xbb\xbf" + raw.replace(b'"m"', b"NaN")
    return raw


def _mutate_value(draws: random.Random, document: Any) -> None:
    """Exchange, remove or repeat one value somewhere in the document."""
    places: list[tuple[Any, Any]] = []
    waiting = [document]
    while waiting:
        node = waiting.pop()
        items = list(node.items()) if isinstance(node, dict) else list(enumerate(node))
        places += [(node, key) for key, _ in items]
        waiting += [value for _, value in items if isinstance(value, dict | list)]
    if not places:
        return
    node, key = draws.choice(places)
    match draws.randrange(4):
        case 0:
            del node[key]
        case 1 if isinstance(node, list):
            node.append(deepcopy(node[key]))
        case 1:
            node[draws.choice(("", "x\n", "role", "type", "content", "id"))] = deepcopy(node[key])
        case _:
            node[key] = deepcopy(draws.choice(_ODD))


# Framing


def _frame(draws: random.Random, request: Request) -> None:
    """A length or chunks; one in six is wrong, or given twice."""
    length = str(len(request.body)).encode()
    if draws.random() < 0.3:
        request.fields.append((b"Transfer-Encoding", b"chunked"))
        request.body, request.chunked = _chunk(draws, request.body), True
    elif request.body or draws.random() < 0.3:
        request.fields.append((b"Content-Length", length))
    if draws.random() < 1 / 6:
        request.fields += draws.choice(_FRAMINGS)(length)
        draws.shuffle(request.fields)
        if draws.random() < 0.5:
            request.body += _SMUGGLED


_FRAMINGS: tuple[Callable[[bytes], list[tuple[bytes, bytes]]], ...] = (
    lambda length: [(b"Content-Length", length)],
    lambda length: [(b"Content-Length", b"0")],
    lambda length: [(b"Content-Length", length + b", " + length)],
    lambda length: [(b"Content-Length", b"+" + length)],
    lambda length: [(b"Content-Length", b"-1")],
    lambda length: [(b"Content-Length", b"0x10")],
    lambda length: [(b"Content-Length", b"1" * 25)],
    lambda length: [(b"Content-Length", b"\xb2")],
    lambda length: [(b"Content-Length ", length)],
    lambda length: [(b"Transfer-Encoding", b"chunked")],
    lambda length: [(b"Transfer-Encoding", b"xchunked")],
    lambda length: [(b"Transfer-Encoding", b"chunked, identity")],
    lambda length: [(b"Transfer-Encoding", b"identity")],
    lambda length: [(b"Transfer-Encoding", b"\x0bchunked")],
    lambda length: [(b"Transfer-Encoding", b"gzip, chunked")],
    lambda length: [(b"Transfer_Encoding", b"chunked")],
    lambda length: [(b"Connection", b"Content-Length, Transfer-Encoding")],
)


def _chunk(draws: random.Random, body: bytes) -> bytes:
    """The body in chunks; now and then one of a wrong size, with an extension, or without an end."""
    out, at = b"", 0
    while at < len(body):
        part = body[at : at + draws.randint(1, max(1, len(body)))]
        at += len(part)
        size = b"%x" % len(part)
        if draws.random() < 0.1:
            odd = (size + b";a=b", b"0" * 8 + size, size.upper() + b" ", b"-1", b"zz", b"", b"f" * 17)
            size = draws.choice(odd)
        out += size + draws.choices((b"\r\n", b"\n", b"\r"), (30, 1, 1))[0] + part + b"\r\n"
    end = (b"0\r\n\r\n", b"0\r\nX-Trailer: a\r\n\r\n", b"0\r\nContent-Length: 5\r\n\r\n", b"")
    return out + draws.choices(end, (20, 2, 1, 1))[0]


# Heads


def _change_method(draws: random.Random, request: Request) -> None:
    odd = (b"GET", b"HEAD", b"OPTIONS", b"CONNECT", b"TRACE", b"post", b"P\x00ST", b"PRI", b"", b"A" * 300)
    request.method = draws.choice(odd)


def _change_target(draws: random.Random, request: Request) -> None:
    target = request.target
    odd = (
        *(b"http://evil.example" + target, b"/" + target, target + b"?" + b"a" * 4000, b"*", b"evil:443"),
        *(
            target + b"%00",
            target + b"/../x",
            b"/s/%2e%2e/v1/models",
            b"/s/\xff\xfe/v1/models",
            target + b"#x",
        ),
        *(target.replace(b"/", b"\\"), target + b" x", b"/s//v1/models", target.upper(), b""),
    )
    request.target = draws.choice(odd)


def _change_version(draws: random.Random, request: Request) -> None:
    request.version = draws.choice(
        (b"HTTP/1.0", b"HTTP/0.9", b"HTTP/2.0", b"HTTP/1.10", b"http/1.1", b"", b"X")
    )


def _add_field(draws: random.Random, request: Request) -> None:
    odd = (
        *((b"X", b"a\x00b"), (b"X", b"a\nb: c"), (b"X", b"a\rb"), (b"X", b"a\r\n folded"), (b"X Y", b"a")),
        *(
            (b"", b"a"),
            (b"X", b"\xff\x80"),
            (b"X", b"a" * 30_000),
            (b"Host", b"evil.example"),
            (b"Host", b""),
        ),
        *((b"Content-Encoding", b"gzip"), (b"Content-Encoding", b"br, zstd"), (b"Upgrade", b"h2c")),
        *((b"Connection", b"Upgrade, close"), (b"Origin", b"http://evil.example"), (b"TE", b"trailers")),
        *((b"X-Crosswind-Session", b"a/b\x7f"), (b"X-Crosswind-Seed", b"-1"), (b"Range", b"bytes=0-0")),
        *((b"x-stainless-retry-count", b"9" * 400), (b"Content-Type", b"text/plain; charset=utf-16")),
    )
    request.fields.insert(draws.randrange(len(request.fields) + 1), draws.choice(odd))


def _drop_field(draws: random.Random, request: Request) -> None:
    if request.fields:
        del request.fields[draws.randrange(len(request.fields))]


def _add_many_fields(draws: random.Random, request: Request) -> None:
    request.fields += [(b"X-%d" % number, b"a" * draws.randint(0, 50)) for number in range(300)]


def _flip_bytes(draws: random.Random, request: Request) -> None:
    places = [(draws.random(), draws.randrange(256)) for _ in range(draws.randint(1, 3))]

    def flip(whole: bytes) -> bytes:
        out = bytearray(whole)
        for place, value in places:
            out[int(place * min(len(out), 400))] = value
        return bytes(out)

    request.raw.append(flip)


def _bare_line_ends(draws: random.Random, request: Request) -> None:
    end = draws.choice((b"\n", b"\r"))
    request.raw.append(lambda whole: whole.replace(b"\r\n", end, draws.randint(1, 4)))


_HEAD_MUTATIONS = (
    *(_change_method, _change_target, _change_target, _change_version, _add_field, _add_field, _add_field),
    *(_drop_field, _add_many_fields, _flip_bytes, _flip_bytes, _bare_line_ends),
)


def mutate_answer(draws: random.Random, answer: bytes) -> bytes:
    """An upstream's answer, its body or its framing changed; its status stays."""
    head, _, body = answer.partition(b"\r\n\r\n")
    match draws.randrange(6):
        case 0:
            body = body[: draws.randrange(len(body) + 1)]
        case 1:
            at = draws.randrange(len(body) + 1)
            body = body[:at] + draws.randbytes(draws.randint(1, 6)) + body[at:]
        case 2:
            body = body.replace(
                b"data: ", draws.choice((b"data:", b"datum: ", b"id: 1\ndata: ", b"\r\ndata: "))
            )
        case 3:
            body = body.replace(b'"content"', b'"content":[1],"role"').replace(b"null", b"1e999")
        case 4:
            head += b"\r\n" + draws.choice(
                (b"content-length: 3", b"content-encoding: gzip", b"x: \x00", b"odd")
            )
        case 5:
            body = body.replace(b"\n\n", b"\n").replace(b"[DONE]", b"[" * 500)
    return head + b"\r\n\r\n" + body
