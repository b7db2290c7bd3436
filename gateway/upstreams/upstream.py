"""One upstream: its dialect applied to a request, and the attempts that the request gets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from urllib.parse import parse_qsl, quote

import aiohttp
from msgspec import structs

from crosswind.gateway.config.provider_presets import AuthStyle
from crosswind.gateway.config.sections import Limits, Timeouts
from crosswind.gateway.config.upstream import Health, Retries, UpstreamSettings
from crosswind.gateway.errors import Attempt, UpstreamError
from crosswind.gateway.http.auth import Caller, query_without_credentials
from crosswind.gateway.http.headers import CREDENTIALS, Changes, Headers, forward_headers
from crosswind.gateway.protocols.json_values import encode
from crosswind.gateway.upstreams.answer import UpstreamResponse
from crosswind.gateway.upstreams.patterns import Patterns
from crosswind.gateway.upstreams.pool import Pool
from crosswind.gateway.upstreams.redirects import led_back
from crosswind.gateway.upstreams.replicas import Replica, Replicas
from crosswind.gateway.upstreams.request import UpstreamRequest
from crosswind.gateway.upstreams.sockets import WebSocketClient

_ALWAYS_ALLOWED = ("content-*", "accept*", *(name.decode() for name in CREDENTIALS))
"""What goes on whatever the allow list says: without it the body can't be read."""


class Upstream:
    """A server, or several equal ones, behind the gateway."""

    def __init__(
        self,
        settings: UpstreamSettings,
        *,
        timeouts: Timeouts,
        limits: Limits,
        retries: Retries,
        health: Health,
    ) -> None:
        self.settings = settings
        self.name = settings.name
        self.dialect = settings.spoken
        self.models = Patterns(settings.models)
        self.retries = settings.retries or retries
        self.health = settings.health or health
        self.replicas = Replicas.at(settings.bases, self.health)
        self.pool = Pool(settings.bases, settings.timeouts_in(timeouts), limits)
        self.sockets = WebSocketClient(self.pool)
        self.identity = (settings, self.pool.timeouts, limits, self.retries, self.health)
        """What makes it another one when the configuration changes."""
        self.tokenless = False
        """It was seen to refuse requests that ask for token ids."""
        self._allowed = (
            None if settings.headers.allow is None else Patterns((*settings.headers.allow, *_ALWAYS_ALLOWED))
        )
        self._added = {
            name.lower().encode(): value.get_secret_value().encode()
            for name, value in settings.headers.add.items()
        }

    def speaks(self, protocol: str) -> bool:
        """Whether it has the routes of a protocol."""
        return protocol in self.dialect.protocols

    def edits(self, model: str | None) -> dict[str, bytes | None]:
        """Members of a body that this upstream wants otherwise: its own name of the model."""
        named = self.settings.model_map.get(model) if model is not None else None
        return {} if named is None else {"model": encode(named)}

    def headers(self, given: Sequence[tuple[bytes, bytes]], caller: Caller, changes: Changes) -> Headers:
        """A client's headers as this upstream gets them: its credential, its extra fields, none of ours."""
        kept = forward_headers(given, {**self._credentials(caller), **self._added, **changes})
        if self._allowed is None:
            return kept
        return [
            (name, value)
            for name, value in kept
            if name in self._added or name in changes or self._allowed.match(name.decode("latin-1"))
        ]

    def _credentials(self, caller: Caller) -> dict[bytes, bytes | None]:
        """Changes to the credential headers: keys of ours never go on; the upstream's own takes their place,
        and that of the client's wherever its auth style is not `passthrough`.
        """
        if self._lets_through(caller):
            return {}
        style, secret = self.dialect.auth, self.settings.secret
        changes: dict[bytes, bytes | None] = dict.fromkeys(CREDENTIALS)
        if style != "none" and secret is not None:
            name, value = _format_credential(style, secret)
            changes[name] = value
        return changes

    def _lets_through(self, caller: Caller) -> bool:
        """Whether a client's own credential goes on as it came."""
        style = self.dialect.auth
        return not caller.own and style != "none" and (self.settings.secret is None or style == "passthrough")

    def path(self, path: str, query: str, caller: Caller) -> str:
        """What follows the base: a route's path, and the query with what the dialect adds to it."""
        if query and not self._lets_through(caller):
            query = query_without_credentials(query)
        missing = self.dialect.query
        if missing and query:
            given = {name for name, _ in parse_qsl(query, keep_blank_values=True)}
            missing = {name: value for name, value in missing.items() if name not in given}
        added = "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in missing.items())
        query = f"{query}&{added}" if query and added else query or added
        return f"{path}?{query}" if query else path

    async def send(self, outgoing: UpstreamRequest, session: str | None = None) -> UpstreamResponse:
        """Send a request to the session's replica, and wait for the answer's head.

        Tried again, on another replica where there is one, only if the request was certainly not processed.
        UpstreamError, with all attempts, where there is no answer.
        """
        order = self.replicas.order(session)
        attempts: tuple[Attempt, ...] = ()
        while True:
            replica = order[len(attempts) % len(order)]
            last = len(attempts) >= self.retries.attempts
            clock = time.monotonic_ns()
            try:
                answer = await self._attempt(replica, outgoing)
            except UpstreamError as error:
                attempts = (*attempts, _describe_attempt(replica, error.code, clock))
                error.attempts = attempts
                if last or not error.unprocessed:
                    raise
                wait = None
            else:
                wait = None if last else self._retry_after(answer, outgoing)
                if wait is None:
                    return structs.replace(answer, attempts=attempts) if attempts else answer
                answer.close()
                attempts = (*attempts, _describe_attempt(replica, f"status_{answer.status}", clock))
            if len(attempts) >= len(order):
                rounds = len(attempts) // len(order) - 1
                await asyncio.sleep(self.retries.backoff * 2.0**rounds if wait is None else wait)

    async def open_websocket(
        self, outgoing: UpstreamRequest, protocols: list[str], limit: int, session: str | None = None
    ) -> aiohttp.ClientWebSocketResponse:
        """Open a WebSocket to the session's replica; another one is tried only where that can't be reached.

        `limit`: bytes of the largest message. UpstreamError where there is none.
        """
        order = self.replicas.order(session)
        for number, replica in enumerate(order, 1):
            try:
                opened = await self.sockets.open(replica.base, outgoing, protocols, limit)
            except UpstreamError as error:
                if error.code != "upstream_refused":
                    replica.failed(error.code)
                if not error.unprocessed or number == len(order):
                    raise
            else:
                replica.succeeded()
                return opened
        raise AssertionError("an upstream has a replica at least")

    async def _attempt(self, replica: Replica, outgoing: UpstreamRequest) -> UpstreamResponse:
        try:
            answer = await self.pool.send(replica.base, outgoing, replica.failed)
        except UpstreamError as error:
            if error.code != "upstream_pool_wait":
                replica.failed(error.code)
            raise
        if answer.status >= 500 and answer.status != 501:
            replica.failed(f"status_{answer.status}")
        else:
            replica.succeeded()
        if 300 <= answer.status < 400:
            answer.headers = led_back(answer.headers, replica.base, outgoing.path)
        return answer

    def _retry_after(self, answer: UpstreamResponse, outgoing: UpstreamRequest) -> float | None:
        """After how many seconds to try again instead of relaying this answer; None: it is relayed."""
        if answer.status not in self.retries.on_status or not outgoing.repeatable:
            return None
        try:
            seconds = float(answer.header("retry-after"))
        except ValueError:
            return None
        return seconds if 0 <= seconds <= self.retries.longest_wait else None

    async def close(self, *, drain: bool = False) -> None:
        """Close its connections; with `drain` once what is in flight has ended."""
        await self.pool.close(drain=drain)
        await self.sockets.close()


def _format_credential(style: AuthStyle, secret: str) -> tuple[bytes, bytes]:
    if style in ("bearer", "passthrough"):
        return b"authorization", b"Bearer " + secret.encode()
    return style.encode(), secret.encode()


def _describe_attempt(replica: Replica, outcome: str, clock: int) -> Attempt:
    return Attempt(replica.base, outcome, (time.monotonic_ns() - clock) // 1000)
