"""Relay the upstream's answer to the client; its completion is held until the turn is recorded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import dataclass

import structlog

from crosswind.gateway.config.settings import Settings
from crosswind.gateway.errors import UpstreamError
from crosswind.gateway.http.content_encoding import ContentDecoder
from crosswind.gateway.http.headers import Headers, drop_hop_by_hop
from crosswind.gateway.proxy.client_link import FaultyOutlet, Outlet, delivered_by, edit_of, shape_answer
from crosswind.gateway.proxy.stream import StreamRelay
from crosswind.gateway.trajectory.fitness import Source
from crosswind.gateway.trajectory.record import Delivered
from crosswind.gateway.turn.exchange import Exchange
from crosswind.gateway.turn.inner_rounds import next_body
from crosswind.gateway.turn.recording import Recording, SettledTurn
from crosswind.gateway.upstreams.answer import Answer

_log = structlog.get_logger("crosswind.answering")


Again = Callable[[bytes], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class ResponseRelay:
    """Relays answers, plain and streamed."""

    settings: Settings
    recording: Recording

    async def relay(self, client: Outlet, exchange: Exchange, answer: Answer, again: Again) -> int:
        """Relay an answer, record its turn, give its status. UpstreamError where a plain one breaks off.

        Rounds that are answered inside are sent by `again`, and what the client gets is one answer.
        """
        if answer.status >= 400:
            exchange.fail(Source.UPSTREAM, f"status_{answer.status}", "the upstream answered with an error")
        outlet = client
        if exchange.noise.faults.on_answer:
            outlet = FaultyOutlet(client, exchange, event_limit=self.settings.limits.event)
        if answer.header("content-type").startswith("text/event-stream"):
            await self._stream(outlet, exchange, answer, again)
        else:
            await self._plain(outlet, exchange, answer, again)
        return answer.status

    def _decoding(self, answer: Answer) -> ContentDecoder:
        return ContentDecoder(answer.header("content-encoding"), self.settings.limits.decoded)

    async def _plain(self, outlet: Outlet, exchange: Exchange, answer: Answer, again: Again) -> None:
        """A plain body is released once its turn is durable: its last byte is what clients act on."""
        limit = self.settings.limits.answer
        raw = await answer.upto(limit)
        exchange.mark_first_byte()
        if len(raw) > limit:
            exchange.mark_too_large()
            return await self._too_large(outlet.bare(), exchange, answer, raw)
        decoding = self._decoding(answer)
        read = exchange.answer.read_body(decoding.feed(raw))
        _note(exchange, decoding)
        while (following := next_body(exchange)) is not None:
            # The round is over; its answer stays the caller's to close.
            answer = await again(following)
            with closing(answer):
                read = exchange.answer.read_body(await answer.body(limit))
        if exchange.answer.unanswered:
            read = exchange.answer.conclude()
        body = shape_answer(exchange, read if exchange.edited else raw)
        settled = await self.recording.settle(exchange)
        headers = _without(_headers(answer, edited=exchange.edited), b"content-length")
        await outlet.answer(answer.status, body, headers)
        self.recording.record_delivery(exchange, settled, delivered_by(outlet))

    async def _too_large(self, outlet: Outlet, exchange: Exchange, answer: Answer, begun: bytes) -> None:
        """Relay a plain body as it comes, unread; its last part once the turn is durable. UpstreamError where
        it had to be read, for what noise did to the tools' names.
        """
        tools = exchange.tools
        if tools is not None and (tools.shown.declared_of or tools.hides_calls):
            raise UpstreamError(
                502,
                "the upstream's answer is larger than limits.answer, and it has to be read whole; raise it",
                "upstream_too_large",
            )
        for operator in exchange.noise.faults.on_whole_answer:
            exchange.noise.withdraw(operator, "the answer is larger than `limits.answer`")
        await outlet.start(answer.status, drop_hop_by_hop(answer.headers))
        cut: UpstreamError | None = None
        last = begun
        try:
            async for chunk in answer.chunks():
                await outlet.chunk(last)
                last = chunk
        except UpstreamError as error:
            cut = error
            self._cut(exchange, error)
        settled = await self.recording.settle(exchange)
        # Without an end the server cuts the connection, as the client would have seen it.
        await (outlet.end(last) if cut is None else outlet.chunk(last))
        self.recording.record_delivery(exchange, settled, Delivered.NO if cut else delivered_by(outlet))

    def _cut(self, exchange: Exchange, error: UpstreamError) -> None:
        """The upstream broke off what was being relayed."""
        self.recording.metrics.upstream_errors.labels(error.code).inc()
        exchange.fail(Source.UPSTREAM, error.code, error.message)
        _log.warning("the upstream broke off its answer", turn=exchange.place.index, error=error.message)

    async def _stream(self, outlet: Outlet, exchange: Exchange, answer: Answer, again: Again) -> None:
        """Event by event; the completing one is held until its turn is durable, then goes with the rest."""
        decoding = self._decoding(answer)
        _note(exchange, decoding)
        relay = StreamRelay(
            exchange.answer,
            edited=exchange.edited,
            decoding=decoding,
            durability=self.settings.durability,
            limit=self.settings.limits.event,
            patience_s=self.settings.timeouts.after_completion,
        )
        headers = _headers(answer, edited=exchange.edited)
        await outlet.start(answer.status, headers, follows=answer.arrived)
        flow = Flow(outlet, exchange, relay, decoding, self.settings.limits.stream)
        cut: UpstreamError | None = None
        try:
            await self._relayed(flow, answer)
            while (following := next_body(exchange)) is not None:
                with closing(await again(following)) as later:
                    _check(later)
                    await self._relayed(flow, later)
        except UpstreamError as error:
            cut = error
        counted = not exchange.edited and bool(answer.header("content-length"))
        await self._finish(flow, cut, tells=not counted)

    async def _relayed(self, flow: Flow, answer: Answer) -> None:
        """Relay a stream to its end, and record its turn where that is due before the end."""
        relay = flow.relay
        while not (relay.completed or answer.complete):
            await answer.pour(flow.take)
            await flow.pass_on()
        if relay.settles(idle=False):
            await self._settle(flow, last=answer.complete)
        async for chunk in answer.chunks(idle_s=relay.patience_s):
            flow.take(chunk)
            await flow.pass_on()
            if relay.settles(idle=not chunk):
                await self._settle(flow, last=answer.complete)
        if rest := relay.finish():
            await flow.send(rest)

    async def _finish(self, flow: Flow, cut: UpstreamError | None, *, tells: bool) -> None:
        """The upstream's stream is over, at its end or cut. `tells`: the client may be told so, since the
        length of what it gets wasn't announced.
        """
        exchange, outlet = flow.exchange, flow.outlet
        if cut is not None:
            self._cut(exchange, cut)
        settled = flow.settled or await self._settle(flow, last=cut is None)
        if cut is None:
            await outlet.end(flow.rest)
        elif tells and not flow.relay.encoded:
            # No end is sent after it, so the server cuts the connection, as the client would have seen it.
            await flow.send(exchange.codec.error_event(cut))
        else:
            await flow.send(b"")
        self.recording.record_delivery(exchange, settled, Delivered.NO if cut else delivered_by(outlet))

    async def _settle(self, flow: Flow, *, last: bool) -> SettledTurn:
        """Record the turn, wait for it to be durable, and release what was held, once. Where nothing comes
        after it (`last`), it goes with the answer's end.
        """
        if flow.settled is not None:
            return flow.settled
        exchange = flow.exchange
        if exchange.answer.error is not None:
            exchange.fail(Source.UPSTREAM, "error_in_stream", str(exchange.answer.error.get("message", "")))
        if exchange.noise.faults.on_answer:
            shape_answer(
                exchange, exchange.answer.delivered_body() or exchange.answer.produced_body(), streamed=True
            )
        flow.settled = settled = await self.recording.settle(exchange)
        flow.rest = flow.relay.release()
        if exchange.answer.unanswered:
            flow.rest += exchange.answer.conclude()
        if not last:
            await flow.send(b"")
        return settled


@dataclass(slots=True, eq=False)
class Flow:
    """A stream on its way to the client."""

    outlet: Outlet
    exchange: Exchange
    relay: StreamRelay
    decoding: ContentDecoder
    most: int
    """Bytes of it that are kept for the record."""
    kept: int = 0
    rest: bytes = b""
    """What is to be sent still."""
    settled: SettledTurn | None = None

    def take(self, chunk: bytes) -> bool:
        """Relay what came, at once where that can be; True where more may come before anything has to be
        waited for.
        """
        self.exchange.mark_first_byte()
        self.kept += len(chunk)
        if self.kept > self.most:
            self._let_go()
        out = self.relay.feed(chunk)
        _note(self.exchange, self.decoding)
        if self.rest or not self.outlet.write(out):
            self.rest += out
            return False
        return not self.relay.completed

    def _let_go(self) -> None:
        """Keep nothing of what came so far: there is too much of it. UpstreamError where the client can't get
        the rest without it.
        """
        exchange = self.exchange
        if (edit := edit_of(exchange)) is not None:
            exchange.noise.withdraw(edit[0], "the answer is larger than `limits.stream`")
        exchange.mark_too_large()
        self.kept = 0
        if exchange.tools is not None:
            raise UpstreamError(
                502,
                "the upstream's answer is larger than limits.stream, and it has to be read whole; raise it",
                "upstream_too_large",
            )
        self.relay.read_on_with(exchange.restart_reader())

    async def pass_on(self) -> None:
        """Send what couldn't be sent at once."""
        if self.rest:
            await self.send(b"")

    async def send(self, more: bytes) -> None:
        """Send the rest, and more."""
        out, self.rest = self.rest + more, b""
        await self.outlet.chunk(out)


def _note(exchange: Exchange, decoding: ContentDecoder) -> None:
    """Note an answer that can't be read. UpstreamError where it had to be: what noise and capture added would
    reach the client.
    """
    if decoding.failed:
        exchange.leave_unread()
        if exchange.edited:
            raise UpstreamError(
                502,
                "the upstream encoded its answer although it was asked not to, and it can't be decoded; "
                "switch its compression off (or raise limits.decoded, where the answer is larger)",
                "upstream_undecodable",
            )


def _check(answer: Answer) -> None:
    """A further round of a stream must be one too. Its client isn't told that there was one."""
    if answer.status >= 400 or not answer.header("content-type").startswith("text/event-stream"):
        raise UpstreamError(502, f"the upstream answered with status {answer.status}", "upstream_refused")


def _headers(answer: Answer, *, edited: bool) -> Headers:
    """The answer's headers; a body that is edited goes out decoded, and of another length."""
    headers = drop_hop_by_hop(answer.headers)
    return _without(headers, b"content-length", b"content-encoding") if edited else headers


def _without(headers: Headers, *names: bytes) -> Headers:
    return [(name, value) for name, value in headers if name.lower() not in names]
