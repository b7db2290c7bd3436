"""The provider as an ASGI application, and as a server on a loopback socket."""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import uvicorn

from tests.clients.upstream import chat, completions, embeddings, messages, models, responses, stored
from tests.clients.upstream.dialogue import Policy
from tests.clients.upstream.provider import Provider, Seen
from tests.clients.upstream.refusals import Refused
from tests.clients.upstream.wire import Reply, plain
from tests.gateway.servers import listener, serving

Handler = Callable[[Provider, Seen, re.Match[str]], Reply]

ROUTES: tuple[tuple[str, re.Pattern[str], Handler], ...] = tuple(
    (method, re.compile(rf"/v1{path}(?:\?.*)?\Z"), handler)
    for method, path, handler in (
        ("POST", r"/chat/completions", chat.create),
        ("POST", r"/completions", completions.create),
        ("POST", r"/embeddings", embeddings.create),
        ("POST", r"/messages", messages.create),
        ("POST", r"/messages/count_tokens", messages.count_tokens),
        ("POST", r"/responses", responses.create),
        ("GET", r"/responses/(\w+)", stored.retrieve),
        ("DELETE", r"/responses/(\w+)", stored.delete),
        ("GET", r"/responses/(\w+)/input_items", stored.input_items),
        ("GET", r"/models", models.every),
        ("GET", r"/models/([^/?]+)", models.one),
    )
)


@dataclass(frozen=True, slots=True)
class Application:
    """The provider's routes."""

    provider: Provider

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        query = scope["query_string"].decode()
        path = scope["raw_path"].decode() + ("?" + query if query else "")
        headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
        seen = Seen(scope["method"], path, headers, body)
        self.provider.seen.append(seen)
        reply = self._reply(seen)
        head = self._headers(reply, seen)
        await send({"type": "http.response.start", "status": reply.status, "headers": head})
        for chunk in reply.chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    def _reply(self, seen: Seen) -> Reply:
        try:
            for method, path, handler in ROUTES:
                if method == seen.method and (found := path.match(seen.path)):
                    _authenticated(seen)
                    return handler(self.provider, seen, found)
            raise Refused(404, f"Invalid URL ({seen.method} {seen.path})")
        except Refused as refused:
            self.provider.refusals.append(f"{refused.status} {refused.message}")
            shape = refused.anthropic if _is_anthropic(seen) else refused.openai
            return plain(shape(), refused.status)

    def _headers(self, reply: Reply, seen: Seen) -> list[tuple[bytes, bytes]]:
        name = b"request-id" if _is_anthropic(seen) else b"x-request-id"
        headers = [reply.content_type, (name, self.provider.new_id("req_").encode())]
        if isinstance(reply.chunks, tuple):
            headers.append((b"content-length", str(sum(map(len, reply.chunks))).encode()))
        return headers


def _is_anthropic(seen: Seen) -> bool:
    return "anthropic-version" in seen.headers or seen.path.startswith("/v1/messages")


def _authenticated(seen: Seen) -> None:
    given = seen.headers.get("x-api-key") or seen.headers.get("authorization", "").removeprefix("Bearer ")
    if not given:
        raise Refused(401, "You didn't provide an API key.", kind="authentication_error")
    if _is_anthropic(seen) and "anthropic-version" not in seen.headers:
        raise Refused(400, "anthropic-version: header is required")


@contextlib.asynccontextmanager
async def provider(policy: Policy, **given: Any) -> AsyncIterator[Provider]:
    """A provider that serves within the block, at `url`."""
    state = Provider(policy, **given)
    config = uvicorn.Config(
        Application(state),
        loop="none",
        lifespan="off",
        log_config=None,
        ws="none",
        server_header=False,
        date_header=False,
    )
    async with serving(uvicorn.Server(config), listener()) as url:
        state.url = url
        yield state
