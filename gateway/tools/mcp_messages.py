"""The messages of MCP: what is read of them, and how answers of ours are written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from crosswind.gateway.tools.decision import Act, Decision
from crosswind.gateway.tools.failures import Failure
from crosswind.gateway.tools.mcp_results import Members, error_members, read_members, text_members
from crosswind.injectors.text.json_payload import looks_destroyed

INTERNAL_ERROR, CONNECTION_CLOSED = -32603, -32000
Id = tuple[str, str, object]
"""The scope, and the type and value of a request's id: 1 and "1" are two ids."""
LONGEST_TRACE = 200
"""Characters of a trace context; version 00 has 55."""
UNREADABLE = (msgspec.DecodeError, UnicodeError, RecursionError)
ABSENT = msgspec.Raw()


class Request(msgspec.Struct):
    method: str
    id: msgspec.Raw = ABSENT
    params: Members | None = None


class Response(msgspec.Struct):
    id: msgspec.Raw = ABSENT
    method: str | None = None
    result: msgspec.Raw = ABSENT


read_request = msgspec.json.Decoder(Request).decode
read_response = msgspec.json.Decoder(Response).decode
read = msgspec.json.Decoder().decode
write = msgspec.json.Encoder().encode


def make_key(scope: str, raw: bytes | msgspec.Raw) -> Id:
    value = read(raw)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return scope, type(value).__name__, value if isinstance(value, str | int | float) else repr(value)


def _line_end(raw: bytes) -> bytes:
    return raw[len(raw.rstrip(b"\r\n")) :]


def replace_members(raw: bytes, **changes: msgspec.Raw) -> bytes:
    """The message with these members; the others keep their bytes."""
    return write({**read_members(raw), **changes}) + _line_end(raw)


Within = str | None
"""The member of a message's result that has the result of a call; None: the result itself."""


def put_result(raw: bytes, within: Within, members: Members) -> bytes:
    """The message with these members as the result of a call."""
    outer = read_members(raw)
    name = "result" if "result" in outer else "params"
    value = msgspec.Raw(write(members))
    if within is not None:
        value = msgspec.Raw(write({**read_members(outer[name]), within: value}))
    return replace_members(raw, **{name: value})


def rename_call(raw: bytes, request: Request, tool: str) -> bytes:
    params = {**(request.params or {}), "name": msgspec.Raw(write(tool))}
    return replace_members(raw, params=msgspec.Raw(write(params)))


def _message(raw: bytes, request_id: msgspec.Raw, **member: Mapping[str, Any]) -> bytes:
    return write({"jsonrpc": "2.0", "id": request_id, **member}) + (_line_end(raw) or b"")


def answer_call(raw: bytes, request: Request, text: str, modern: bool) -> bytes:
    """The result of a call that noise on the list of tools answers."""
    members = error_members if looks_destroyed(text, "") else text_members
    return _message(raw, request.id, result=members(text, modern=modern))


def fail(
    raw: bytes, request_id: msgspec.Raw, failure: Failure, wait_s: float, modern: bool, key: Id
) -> Decision:
    """What the client gets in place of a result."""
    if failure.kind == "result":
        body = _message(raw, request_id, result=error_members(failure.text, modern=modern))
        return Decision(act=Act.ANSWER, body=body, wait_s=wait_s, key=key)
    code = CONNECTION_CLOSED if failure.kind == "close" else INTERNAL_ERROR
    body = _message(raw, request_id, error={"code": code, "message": failure.text})
    return Decision(
        act=Act.CLOSE if failure.kind == "close" else Act.ANSWER,
        body=body,
        wait_s=wait_s,
        status=failure.status if failure.kind == "status" else 200,
        retry_after_s=failure.retry_after_s,
        close=failure.close,
        key=key,
    )


def find_trace(params: Members) -> str | None:
    """The W3C trace context in a request's `_meta`."""
    found = read(params["_meta"]) if b"traceparent" in bytes(params.get("_meta", b"")) else {}
    value = found.get("traceparent") if isinstance(found, dict) else None
    return value if isinstance(value, str) and len(value) <= LONGEST_TRACE else None
