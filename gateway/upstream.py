"""The pooled client to the upstream: one request, its answer's head, then its bytes. Every failure is
attributed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass

import aiohttp
from multidict import CIMultiDict

from gateway.configuration.sections import Limits, Timeouts
from gateway.errors import UpstreamError

Headers = list[tuple[bytes, bytes]]

HOP_BY_HOP = frozenset(
    {
        b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection",
        b"te", b"trailer", b"transfer-encoding", b"upgrade",
    }
)  # fmt: skip
OWN_PREFIX = b"x-crosswind-"
CREDENTIALS = (b"authorization", b"api-key", b"x-api-key")
_AUTOMATIC = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")


def end_to_end(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """The headers that are not for one hop only, those that `Connection` names left out too."""
    headers = list(headers)
    named = {
        token.strip().lower()
        for name, value in headers
        if name.lower() == b"connection"
        for token in value.split(b",")
    }
    return [
        (name, value)
        for name, value in headers
        if name.lower() not in HOP_BY_HOP and name.lower() not in named
    ]


def _patient() -> None:
    return None


@dataclass(slots=True)
class Answer:
    """An upstream's answer: its head, and its body's bytes exactly as they arrive."""

    status: int
    headers: Headers
    _response: aiohttp.ClientResponse
    _between_chunks: float

    def header(self, name: str) -> str:
        return self._response.headers.get(name, "")

    async def chunks(self, idle_s: Callable[[], float | None] = _patient) -> AsyncIterator[bytes]:
        """The body as it arrives, still encoded. UpstreamError where it stalls or breaks off.

        `idle_s` is asked before each wait: after that many seconds with nothing an empty chunk is given.
        """
        stream = self._response.content
        while True:
            idle = idle_s()
            try:
                async with asyncio.timeout(self._between_chunks if idle is None else idle):
                    chunk = await stream.readany()
            except TimeoutError:
                if idle is not None:
                    idle_s = _patient
                    yield b""
                    continue
                raise UpstreamError(
                    504,
                    f"the upstream sent nothing for {self._between_chunks:g} s "
                    "(timeouts.between_chunks), or took longer than timeouts.total",
                    "upstream_stalled",
                ) from None
            except (aiohttp.ClientError, OSError) as error:
                raise UpstreamError(
                    502, f"the upstream broke off its answer: {_said(error)}", "upstream_cut"
                ) from None
            if not chunk:
                return
            yield chunk

    async def body(self) -> bytes:
        """The whole body, still encoded."""
        return b"".join([chunk async for chunk in self.chunks()])

    def close(self) -> None:
        """Give the connection back if the answer was read to its end, else cut it, so that the upstream
        stops.
        """
        if self._response.content.at_eof():
            self._response.release()
        else:
            self._response.close()


class Upstream:
    """The OpenAI-compatible server behind the gateway."""

    def __init__(self, base: str, timeouts: Timeouts, limits: Limits) -> None:
        self.base = base
        self._timeouts = timeouts
        self._limits = limits
        self._session: aiohttp.ClientSession | None = None

    def _client(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._limits.connections, ttl_dns_cache=60),
                timeout=aiohttp.ClientTimeout(
                    total=self._timeouts.total,
                    connect=self._timeouts.pool_wait + self._timeouts.connect,
                    sock_connect=self._timeouts.connect,
                ),
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=_AUTOMATIC,
                read_bufsize=1 << 18,
                max_line_size=self._limits.header,
                max_field_size=self._limits.header,
            )
        return self._session

    async def send(
        self, method: str, path: str, headers: Headers, body: bytes | AsyncIterator[bytes] | None
    ) -> Answer:
        """Send a request to `path` under the base and wait for the answer's head.

        UpstreamError 502 where it can't be reached or breaks the connection, 504 where it is too slow.
        """
        from yarl import URL

        fields = CIMultiDict((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)
        try:
            async with asyncio.timeout(self._timeouts.first_byte):
                response = await self._client().request(
                    method,
                    URL(self.base + path, encoded=True),
                    headers=fields,
                    data=body,
                    allow_redirects=False,
                )
        except aiohttp.ConnectionTimeoutError:
            raise UpstreamError(
                504,
                f"no connection to the upstream {self.base} within {self._timeouts.connect:g} s "
                "(timeouts.connect, timeouts.pool_wait)",
                "upstream_connect_timeout",
            ) from None
        except TimeoutError:
            raise UpstreamError(
                504,
                f"the upstream {self.base} gave no answer within {self._timeouts.first_byte:g} s "
                "(timeouts.first_byte)",
                "upstream_timeout",
            ) from None
        except aiohttp.ClientConnectorError as error:
            raise UpstreamError(
                502,
                f"the upstream {self.base} can't be reached: {_said(error)}; start it, or mend `upstream`",
                "upstream_unreachable",
            ) from None
        except (aiohttp.ClientError, OSError) as error:
            raise UpstreamError(
                502, f"the upstream {self.base} broke the connection: {_said(error)}", "upstream_broken"
            ) from None
        return Answer(response.status, list(response.raw_headers), response, self._timeouts.between_chunks)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()


def forwarded(headers: Iterable[tuple[bytes, bytes]], changes: Mapping[bytes, bytes | None]) -> Headers:
    """A client's headers as the upstream gets them: no hop-by-hop ones, none of ours, `changes` applied
    (None: dropped).
    """
    kept = [
        (name, value)
        for name, value in end_to_end(headers)
        if name not in (b"host", b"expect") and not name.startswith(OWN_PREFIX) and name not in changes
    ]
    return kept + [(name, value) for name, value in changes.items() if value is not None]


def _said(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
