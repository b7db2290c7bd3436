"""Compare JSON bodies by path, and an upstream's answer now with the recorded one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx

from crosswind.gateway.protocols.codec import codec_named
from crosswind.gateway.protocols.json_values import decode, encode
from crosswind.gateway.trajectory.record import Turn

VOLATILE = frozenset(
    ("id", "created", "created_at", "completed_at", "system_fingerprint", "usage", "service_tier", "timings")
)
"""Members of an answer that differ from call to call, whatever the content."""
_HEADERS = {"content-type": "application/json", "anthropic-version": "2023-06-01"}
_NOTHING = object()


class BodyDifference(NamedTuple):
    """A place where two bodies differ; `before` or `after` is None where only the other one has the place."""

    path: str
    before: Any
    after: Any


class ReplayedAnswer(NamedTuple):
    """An upstream's answer to a recorded request."""

    status: int | None
    """None where there was no answer."""
    differences: list[BodyDifference]
    error: str | None = None


def compare(before: bytes, after: bytes, ignored: frozenset[str] = frozenset()) -> list[BodyDifference]:
    """The places where two bodies differ; the whole, as text, where one is not JSON. `ignored`: members that
    don't count, at any depth.
    """
    if before == after:
        return []
    try:
        documents = decode(before), decode(after)
    except (ValueError, RecursionError):
        return [BodyDifference("", before.decode(errors="replace"), after.decode(errors="replace"))]
    found = list(_walk("", *documents, ignored))
    return found or ([] if ignored else [BodyDifference("", "the same values", "in other bytes")])


def _walk(path: str, before: Any, after: Any, ignored: frozenset[str]) -> Iterator[BodyDifference]:
    if isinstance(before, dict) and isinstance(after, dict):
        for name in dict.fromkeys((*before, *after)):
            if name not in ignored:
                old, new = before.get(name, _NOTHING), after.get(name, _NOTHING)
                yield from _walk(f"{path}.{name}" if path else name, old, new, ignored)
    elif isinstance(before, list) and isinstance(after, list):
        for at in range(max(len(before), len(after))):
            old, new = (each[at] if at < len(each) else _NOTHING for each in (before, after))
            yield from _walk(f"{path}[{at}]", old, new, ignored)
    elif before is _NOTHING or after is _NOTHING or type(before) is not type(after) or before != after:
        yield BodyDifference(path, *(None if each is _NOTHING else each for each in (before, after)))


def ask_again(http: httpx.Client, base: str, key: str | None, turn: Turn) -> ReplayedAnswer:
    """Send a turn's recorded request to an upstream, without streaming, and compare the answer. `base`: its
    URL with the version segment, and without a slash at the end.
    """
    codec = codec_named(turn.protocol)
    if codec is None or turn.sent is None or turn.produced is None:
        return ReplayedAnswer(None, [], "there is nothing to compare: the bodies are not recorded")
    url = base + codec.path
    headers = _HEADERS if key is None else {**_HEADERS, "authorization": f"Bearer {key}", "x-api-key": key}
    try:
        answer = http.post(url, content=_without_streaming(turn.sent.bytes()), headers=headers)
    except httpx.HTTPError as error:
        return ReplayedAnswer(None, [], f"{type(error).__name__}: {error}")
    wrong = None if answer.is_success else f"HTTP {answer.status_code}"
    if answer.status_code in (httpx.codes.NOT_FOUND, httpx.codes.METHOD_NOT_ALLOWED):
        wrong = f"{wrong} at {url}: is {base} a base URL, with its /v1?"
    found = compare(turn.produced.bytes(), answer.content, VOLATILE)
    return ReplayedAnswer(answer.status_code, found, wrong)


def _without_streaming(body: bytes) -> bytes:
    """The request for a plain body, which is the form in which answers are recorded."""
    document = decode(body)
    if not isinstance(document, dict) or not document.get("stream"):
        return body
    return encode(
        {name: value for name, value in document.items() if name not in ("stream", "stream_options")}
    )
