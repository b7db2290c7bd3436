"""Which version sampled which tokens: vLLM knows it and doesn't say so on the OpenAI routes."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, MutableMapping, Sequence
from contextvars import ContextVar
from typing import Any

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]

current: ContextVar[AnswerSpans | None] = ContextVar("crosswind_answer", default=None)
"""The answer that the request in this context gets."""

_FINISHES = b'"finish_reason":"'


class AnswerSpans:
    """The spans of one answer's choices, by the choice's index, as they finish."""

    def __init__(self) -> None:
        self.spans: dict[int, list[dict[str, Any]]] = {}
        self._choices = 0

    def watch(
        self, outputs: AsyncGenerator[Any], choices: int, renamed: Mapping[str, str]
    ) -> AsyncGenerator[Any]:
        """Pass a prompt's outputs on and keep the spans of what finishes. A request may have several prompts.

        `renamed`: versions that this prompt isn't sampled by while they are served, and those that it is.
        """
        first = self._choices
        self._choices += choices
        return self._watch(outputs, first, renamed)

    async def _watch(
        self, outputs: AsyncGenerator[Any], first: int, renamed: Mapping[str, str]
    ) -> AsyncGenerator[Any]:
        async for output in outputs:
            for choice in output.outputs:
                if choice.weight_versions:
                    self.spans[first + choice.index] = _spans(choice.weight_versions, renamed)
            yield output

    def add_to(self, body: dict[str, Any]) -> dict[str, Any]:
        """A body, or one event of it, with the spans of the choices that finish there."""
        for choice in body.get("choices") or ():
            spans = self.spans.get(choice.get("index"))
            if choice.get("finish_reason") and spans:
                choice["weight_versions"] = spans
        return body


def _spans(versions: Sequence[Any], renamed: Mapping[str, str]) -> list[dict[str, Any]]:
    spans: list[dict[str, Any]] = []
    for span in versions:
        version = renamed.get(span.version, span.version)
        if spans and spans[-1]["version"] == version:
            spans[-1]["end"] = span.end
        else:
            spans.append({"version": version, "start": span.start, "end": span.end})
    return spans


def add_versions(answer: AnswerSpans, send: Send) -> Send:
    """Adds `weight_versions` to each choice that finishes; whatever else passes as it is."""
    held: Message | None = None
    pieces: list[bytes] = []

    async def pass_on(message: Message) -> None:
        nonlocal held
        if message["type"] == "http.response.start":
            if _kind(message) == b"application/json":
                held = message  # its length changes
                return
        elif held is not None:
            pieces.append(message.get("body", b""))
            if message.get("more_body"):
                return
            body = _whole(answer, b"".join(pieces))
            lengths = [(name, value) for name, value in held["headers"] if name.lower() != b"content-length"]
            await send({**held, "headers": [*lengths, (b"content-length", b"%d" % len(body))]})
            await send({"type": "http.response.body", "body": body})
            return
        elif _FINISHES in message.get("body", b""):
            message = {**message, "body": _events(answer, message["body"])}
        await send(message)

    return pass_on


def _kind(message: Message) -> bytes:
    kinds = [value for name, value in message["headers"] if name.lower() == b"content-type"]
    return bytes(kinds[0]).split(b";")[0].strip() if kinds else b""


def _whole(answer: AnswerSpans, raw: bytes) -> bytes:
    try:
        return _dump(answer.add_to(json.loads(raw)))
    except (ValueError, AttributeError, TypeError):
        return raw


def _events(answer: AnswerSpans, raw: bytes) -> bytes:
    """The server sends whole events; what isn't one passes as it is."""
    events = []
    for event in raw.split(b"\n\n"):
        if _FINISHES in event and event.startswith(b"data: "):
            events.append(b"data: " + _whole(answer, event.removeprefix(b"data: ")))
        else:
            events.append(event)
    return b"\n\n".join(events)


def _dump(body: dict[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
