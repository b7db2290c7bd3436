"""One upstream: apply its dialect to a request, and send it to its replicas with retries."""

from __future__ import annotations

import asyncio
import fnmatch
import re
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from hashlib import blake2b
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import structlog
from websockets.asyncio.client import ClientConnection

from crosswind.gateway.config.settings import Settings
from crosswind.gateway.config.upstream import UpstreamSettings
from crosswind.gateway.errors import UpstreamAttempt, UpstreamError
from crosswind.gateway.http.auth import Caller, query_without_credentials
from crosswind.gateway.http.headers import CREDENTIALS, VIA, Changes, Headers, forward_headers
from crosswind.gateway.protocols.json_values import encode
from crosswind.gateway.upstreams.pool import Pool
from crosswind.gateway.upstreams.replicas import Replica, Replicas
from crosswind.gateway.upstreams.request import UpstreamRequest
from crosswind.gateway.upstreams.response import UpstreamResponse
from crosswind.gateway.upstreams.websockets import open_websocket

_log = structlog.get_logger("crosswind.upstreams")

_ALWAYS_ALLOWED = ("content-*", "accept*", *(name.decode() for name in CREDENTIALS))
"""Headers that are forwarded whatever the allow list says: without them the body can't be read."""


class Upstream:
    """A server behind the gateway, or several equal replicas of it."""

    def __init__(
        self,
        settings: UpstreamSettings,
        common: Settings,
        run: str,
        *,
        guarded: bool = False,
    ) -> None:
        """`run` names this run of the gateway, in all its processes. `guarded`: as in `Pool`."""
        self.settings = settings
        self.name = settings.name
        self.dialect = settings.effective_dialect
        self.renames = bool(settings.model_map)
        """Some models have other names here."""
        self.models = _compile_globs(settings.models)
        self.retries = settings.retries or common.retries
        self.health = settings.health or common.health
        self.replicas = Replicas(settings.bases, self.health)
        self.pool = Pool(
            settings.bases, settings.merge_timeouts(common.timeouts), common.limits, guarded=guarded
        )
        self.identity = (settings, self.pool.timeouts, common.limits, self.retries, self.health)
        """The settings that it was built from: a reload keeps an upstream whose identity is unchanged."""
        self.mark = blake2b(f"{run}/{self.name}".encode(), digest_size=8).hexdigest().encode()
        """What is sent with each request: one that comes in with it was sent here by ourselves."""
        self.tokenless = False
        """It refused a request that asked for token ids."""
        self._keyless = False
        """It refused a request that had to go without a key."""
        self._allowed = (
            None
            if settings.headers.allow is None
            else _compile_globs((*settings.headers.allow, *_ALWAYS_ALLOWED))
        )
        self._added = {
            name.lower().encode(): value.get_secret_value().encode()
            for name, value in settings.headers.add.items()
        }

    def speaks(self, protocol: str) -> bool:
        """Whether it serves the routes of a protocol."""
        return protocol in self.dialect.protocols

    def edits(self, model: str | None) -> dict[str, bytes | None]:
        """Members of the body to replace: the model, by this upstream's own name."""
        named = self.settings.model_map.get(model) if model is not None else None
        return {} if named is None else {"model": encode(named)}

    def headers(self, given: Sequence[tuple[bytes, bytes]], caller: Caller, changes: Changes) -> Headers:
        """The headers for this upstream: the client's allowed ones, its credential, its extra fields, and our
        mark.
        """
        via = b", ".join([*[value for name, value in given if name == VIA], self.mark])
        own = {**self._added, **changes, VIA: via}
        kept = forward_headers(given, {**self._replace_credentials(caller), **own})
        if self._allowed is None:
            return kept
        return [
            (name, value)
            for name, value in kept
            if name in own or self._allowed.match(name.decode("latin-1"))
        ]

    def _replace_credentials(self, caller: Caller) -> dict[bytes, bytes | None]:
        """Changes to the credential headers. Our keys are never forwarded: the upstream's key replaces them,
        and the client's credential too unless the auth style is `passthrough`.
        """
        if self._forwards_credential(caller):
            return {}
        changes: dict[bytes, bytes | None] = dict.fromkeys(CREDENTIALS)
        if (credential := self.settings.credential) is not None:
            name, value = credential
            changes[name.encode()] = value.encode()
        return changes

    def _forwards_credential(self, caller: Caller) -> bool:
        """Whether the client's own credential is forwarded unchanged."""
        style = self.dialect.auth
        return not caller.own and style != "none" and (self.settings.secret is None or style == "passthrough")

    def note_refusal(self, status: int, caller: Caller) -> None:
        """Warn, once, where it refuses a request that had no key: ours are never forwarded."""
        if self._keyless or status not in (401, 403) or not caller.own:
            return
        if self.settings.credential is not None or not self._added.keys().isdisjoint(CREDENTIALS):
            return
        self._keyless = True
        _log.warning(
            "an upstream refuses requests without a key",
            upstream=self.name,
            status=status,
            why="the client gave a session's key, or one of `keys`: the gateway never forwards these",
            fix=f"set {self.settings.missing_key} to the upstream's key",
        )

    def path(self, path: str, query: str, caller: Caller) -> str:
        """The path after the base, and the query with the dialect's additions."""
        if query and not self._forwards_credential(caller):
            query = query_without_credentials(query)
        if not (missing := self.dialect.query):
            return f"{path}?{query}" if query else path
        if query:
            given = {name for name, _ in parse_qsl(query, keep_blank_values=True)}
            missing = {name: value for name, value in missing.items() if name not in given}
        query = "&".join(filter(None, (query, urlencode(missing, quote_via=quote, safe=""))))
        return f"{path}?{query}" if query else path

    async def send(self, outgoing: UpstreamRequest, session: str | None = None) -> UpstreamResponse:
        """Send a request to the session's replica, and wait for the response head.

        It is retried, on another replica if there is one, only if it was certainly not processed.
        Raises UpstreamError, with all attempts, if no replica answers.
        """
        members = self.replicas.members
        order = members if len(members) == 1 else self.replicas.order(session)
        attempts: tuple[UpstreamAttempt, ...] = ()
        while True:
            replica = order[len(attempts) % len(order)]
            last = len(attempts) >= self.retries.attempts
            clock = time.monotonic_ns()
            try:
                answer = await self.pool.send(replica.base, outgoing, replica.record_failure)
            except UpstreamError as error:
                if error.code != "upstream_pool_wait":
                    replica.record_failure(error.code)
                attempts = (*attempts, _describe_attempt(replica, error.code, clock))
                error.attempts = attempts
                if last or not error.unprocessed:
                    raise
                wait = None
            else:
                if answer.status >= 300 or replica.failures or replica.ejections:
                    self._note_answer(replica, answer, outgoing)
                retried = not last and answer.status in self.retries.on_status
                wait = self._find_retry_pause(answer, outgoing) if retried else None
                if wait is None:
                    answer.attempts = attempts
                    return answer
                answer.close()
                attempts = (*attempts, _describe_attempt(replica, f"status_{answer.status}", clock))
            # Pause only after each replica was tried once in this round.
            if len(attempts) >= len(order):
                rounds = len(attempts) // len(order) - 1
                await asyncio.sleep(self.retries.backoff * 2.0**rounds if wait is None else wait)

    @asynccontextmanager
    async def open_websocket(
        self, outgoing: UpstreamRequest, protocols: list[str], limit: int, session: str | None = None
    ) -> AsyncIterator[ClientConnection]:
        """Open a WebSocket to the session's replica for the block; try another replica only if that can't be
        reached.

        `limit`: bytes of the largest message. Raises UpstreamError if no replica accepts it.
        """
        order = self.replicas.order(session)
        async with AsyncExitStack() as stack:
            for number, replica in enumerate(order, 1):
                opening = open_websocket(self.pool, replica.base, outgoing, protocols, limit)
                try:
                    websocket = await stack.enter_async_context(opening)
                except UpstreamError as error:
                    if error.code != "upstream_refused":
                        replica.record_failure(error.code)
                    if not error.unprocessed or number == len(order):
                        raise
                else:
                    replica.record_success()
                    break
            yield websocket

    def _note_answer(self, replica: Replica, answer: UpstreamResponse, outgoing: UpstreamRequest) -> None:
        if answer.status >= 500 or replica.failures or replica.ejections:
            replica.record_status(answer.status)
        if 300 <= answer.status < 400:
            answer.set_headers(_rewrite_locations(answer.headers, replica.base, outgoing.path))

    def _find_retry_pause(self, answer: UpstreamResponse, outgoing: UpstreamRequest) -> float | None:
        """Seconds until the next attempt; None: relay this answer instead of retrying."""
        if not outgoing.repeatable:
            return None
        try:
            seconds = float(answer.header("retry-after"))
        except ValueError:
            return None
        return seconds if 0 <= seconds <= self.retries.longest_wait else None

    async def close(self, *, drain: bool = False) -> None:
        """Close its connections; with `drain`, after the requests in flight have ended."""
        await self.pool.close(drain=drain)


def _describe_attempt(replica: Replica, outcome: str, clock: int) -> UpstreamAttempt:
    return UpstreamAttempt(replica.base, outcome, (time.monotonic_ns() - clock) // 1000)


def _compile_globs(globs: Iterable[str]) -> re.Pattern[str]:
    """One pattern for several case-sensitive globs; it matches nothing if there are none."""
    return re.compile("|".join(map(fnmatch.translate, globs)) or r"(?!)")


def _rewrite_locations(headers: Headers, base: str, path: str) -> Headers:
    """Make each `Location` under the replica's base URL relative to the request's own URL (RFC 3986, section
    4.2), so that the client's next request comes to the gateway. Others stay.
    """
    return [
        (name, _make_relative(value, base.rstrip("/"), path) if name.lower() == b"location" else value)
        for name, value in headers
    ]


def _make_relative(location: bytes, base: str, path: str) -> bytes:
    for start in (base, urlsplit(base).path):
        prefix = start.encode() + b"/"
        if location.startswith(prefix) and not location.startswith(b"//"):
            steps = path.partition("?")[0].count("/") - 1
            return (b"../" * steps or b"./") + location[len(prefix) :]
    return location
