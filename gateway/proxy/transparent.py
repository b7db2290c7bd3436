"""Turns of which nothing is changed, recorded or recognised later: once their session is found, they are
forwarded, and their history and their answer aren't read.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

import structlog

from crosswind.gateway.config.settings import Settings
from crosswind.gateway.errors import UpstreamError
from crosswind.gateway.http.request import ClientGone, HttpRequest
from crosswind.gateway.proxy.routes import IncomingCall
from crosswind.gateway.proxy.stream import select_headers, start_stream, without
from crosswind.gateway.sessions.session import LiveSession
from crosswind.gateway.trajectory.record import Durable
from crosswind.gateway.turn.recording import Recording
from crosswind.gateway.upstreams.response import UpstreamResponse

_log = structlog.get_logger("crosswind.answering")

_READABLE = ("", "identity")


@dataclass(frozen=True, slots=True)
class TransparentTurns:
    """Forwards the turns of sessions without noise where nothing is recorded."""

    settings: Settings
    recording: Recording

    def applies(self, call: IncomingCall, session: LiveSession, model: str | None) -> bool:
        """Whether nobody has to know what the turn says, where nothing is recorded: it has no noise, no token
        ids are captured, and neither a trace nor the inference of sessions takes anything of it.
        """
        upstream = call.upstream
        return (
            not session.plan.rules
            and session.record.identity != "inferred"
            and not (session.training or session.stands_in)
            and not (self.recording.reads_turns or upstream.edits(model))
            and not session.captures(self.settings.capture, upstream.dialect.token_ids)
        )

    async def forward(self, call: IncomingCall, session: LiveSession) -> int:
        """Forward a turn and relay its answer; gives the status."""
        http, upstream, started = call.http, call.upstream, time.monotonic()
        # Nothing of it waits for the store, so that the session may leave memory.
        session.unwritten = False
        outgoing = call.write(call.body.body, plain=False)
        http.cancel_when_gone()
        try:
            answer = await upstream.send(outgoing, session.record.id)
            upstream.note_refusal(answer.status, call.caller)
            try:
                if answer.streams:
                    await self._relay_stream(call, answer)
                else:
                    await self._relay_plain(http, answer)
            finally:
                answer.close()
        except asyncio.CancelledError:
            if not http.gone:
                raise
            raise ClientGone from None
        self.recording.metrics.count_release(Durable.YES, time.monotonic() - started)
        return answer.status

    async def _relay_plain(self, http: HttpRequest, answer: UpstreamResponse) -> None:
        """Relay a plain body as a whole, so that an UpstreamError can still be answered with an error."""
        limit = self.settings.limits.answer
        raw = await answer.read_up_to(limit)
        if len(raw) <= limit:
            if answer.head is not None:
                return await http.answer(answer.status, raw, answer.head.write(edited=False))
            headers = select_headers(answer, edited=False)
            return await http.answer(answer.status, raw, without(headers, b"content-length"))
        await http.start(answer.status, select_headers(answer, edited=False))
        try:
            await http.chunk(raw)
            async for chunk in answer.chunks():
                await http.chunk(chunk)
        except UpstreamError as error:
            # Without an end the server cuts the connection, as the client would have seen it.
            return self._note_cut(error)
        await http.end()

    async def _relay_stream(self, call: IncomingCall, answer: UpstreamResponse) -> None:
        """Relay a stream as it arrives. If the upstream breaks it off, an error event ends it, unless the
        client knows the length or can't read the event.
        """
        http, pending = call.http, b""

        def take(chunk: bytes) -> bool:
            nonlocal pending
            if not http.write(chunk):
                pending = chunk
            return not pending

        await start_stream(http, answer, edited=False)
        try:
            over = False
            while not over:
                over = await answer.pour(take)
                if pending:
                    await http.chunk(pending)
                    pending = b""
        except UpstreamError as error:
            if not answer.header("content-length") and answer.header("content-encoding") in _READABLE:
                await http.chunk(call.codec.error_event(error))
            return self._note_cut(error)
        await http.end()

    def _note_cut(self, error: UpstreamError) -> None:
        self.recording.metrics.count_failure(error)
        _log.warning("the upstream broke off its answer", error=error.message)
