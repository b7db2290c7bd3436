"""A stored request asked again of an upstream, and its answer held against the one that was recorded."""

from __future__ import annotations

from dataclasses import dataclass

import httpx

from crosswind.gateway.protocols.codec import codec_named
from crosswind.gateway.protocols.document import decode, encode
from crosswind.gateway.trajectory.record import Turn
from crosswind.studies.replay.difference import Difference, differences

VOLATILE = frozenset(
    ("id", "created", "created_at", "completed_at", "system_fingerprint", "usage", "service_tier", "timings")
)
"""Members of an answer that differ from one answer to the next, whatever is said."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What an upstream says now."""

    status: int | None
    """None where there was no answer."""
    differences: list[Difference]
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Upstream:
    """Where requests are sent again: `base` includes the version segment and no closing slash."""

    base: str
    http: httpx.Client
    key: str | None = None

    def ask(self, turn: Turn) -> Answered:
        """Send the turn's body as it was sent, but for streaming; compare the answer."""
        codec = codec_named(turn.protocol)
        if codec is None or turn.sent is None or turn.produced is None:
            return Answered(None, [], "there is nothing to compare: the bodies are not recorded")
        url = self.base + codec.path
        try:
            answer = self.http.post(url, content=_plain(turn.sent.bytes()), headers=self._headers())
        except httpx.HTTPError as error:
            return Answered(None, [], f"{type(error).__name__}: {error}")
        found = differences(turn.produced.bytes(), answer.content, VOLATILE)
        wrong = None if answer.is_success else f"HTTP {answer.status_code}"
        if answer.status_code in (httpx.codes.NOT_FOUND, httpx.codes.METHOD_NOT_ALLOWED):
            wrong = f"{wrong} at {url}: is {self.base} a base URL, with its /v1?"
        return Answered(answer.status_code, found, wrong)

    def _headers(self) -> dict[str, str]:
        known = {"content-type": "application/json", "anthropic-version": "2023-06-01"}
        return (
            known
            if self.key is None
            else known | {"authorization": f"Bearer {self.key}", "x-api-key": self.key}
        )


def _plain(body: bytes) -> bytes:
    """The request for a plain body in place of a stream: that is what an answer is recorded as."""
    document = decode(body)
    if not isinstance(document, dict) or not document.get("stream"):
        return body
    return encode(
        {name: value for name, value in document.items() if name not in ("stream", "stream_options")}
    )
