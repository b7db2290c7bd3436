"""One request on its way: who asks, by which route, in which protocol, and whom."""

from __future__ import annotations

import msgspec

from crosswind.gateway.http.asgi import Http
from crosswind.gateway.http.auth import Caller
from crosswind.gateway.http.body import Posted
from crosswind.gateway.protocols.codec import Codec
from crosswind.gateway.protocols.request import SplitBody
from crosswind.gateway.proxy.routes import Route
from crosswind.gateway.sessions.inference import Traces, traces_of
from crosswind.gateway.trajectory.content import content_key
from crosswind.gateway.upstreams.upstream import Upstream
from crosswind.injectors.identity import digest


class Call(msgspec.Struct, frozen=True):
    """What belongs to a request, whatever session it turns out to be in."""

    http: Http
    route: Route
    codec: Codec
    caller: Caller
    upstream: Upstream
    posted: Posted

    @property
    def counted_retry(self) -> bool:
        """Whether the client says that it sends the request again."""
        retries = self.http.header(b"x-stainless-retry-count") or ""
        return retries.isascii() and retries.isdigit() and retries.strip("0") != ""

    @property
    def trace(self) -> tuple[tuple[str, str], ...]:
        """The client's trace context (W3C)."""
        found = ((name, self.http.header(name.encode())) for name in ("traceparent", "tracestate"))
        return tuple((name, value) for name, value in found if value is not None)

    @property
    def idempotency_key(self) -> str | None:
        """The digest of the key under which the client sends one request several times."""
        key = self.http.header(b"idempotency-key")
        return None if key is None else digest(key)

    def traces(self, split: SplitBody) -> Traces:
        """What it shows of its session. Who gives it an idempotency key may send it again under that."""
        named, body = self.idempotency_key, self.posted.body
        key = content_key(body if named is None else b"%b\0%b" % (named.encode(), body))
        return traces_of(split, self.codec, key, counted=self.counted_retry, keyed=named is not None)
