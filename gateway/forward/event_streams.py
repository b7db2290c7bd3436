"""Answers that are streams of events, as they pass mitmproxy: changed event by event, stalled and cut.

mitmproxy asks a function for what it sends in place of each piece of a stream, and that can neither wait nor
end the stream. So the function that asks is replaced, for our streams only. mitmproxy's version is locked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from mitmproxy import http
from mitmproxy.proxy import commands
from mitmproxy.proxy.layers.http import (
    HttpStream,
    ResponseData,
    ResponseEndOfMessage,
    ResponseTrailers,
    SendHttp,
)

from crosswind.gateway.forward.calls import CallUnderWay
from crosswind.gateway.http.sse import EventSplitter, SseEvent
from crosswind.injectors.faults import Action, Close, Send, Wait

LARGEST_EVENT = 1 << 20


@dataclass
class EventPauseHook(commands.StartHook):  # type: ignore[misc]
    """The stream of this flow waits; the addon's `event_pause` ends with the wait."""

    flow: http.HTTPFlow


class EventStream:
    """The events of one call's answer."""

    def __init__(
        self,
        call: CallUnderWay,
        close: Callable[[str], None],
        care: Callable[[], AbstractContextManager[None]],
    ) -> None:
        """`close` closes the client's connection as a fault says. `care` holds what fails inside it."""
        self._call, self._care = call, care
        self.close = close
        self.wait_s = 0.0
        self._splitter = EventSplitter(LARGEST_EVENT)
        self._number = 0

    def __call__(self, chunk: bytes) -> Iterable[bytes]:
        """What is sent in place of a piece, where mitmproxy asks by itself."""
        return [action.body for action in self.pass_piece(chunk) if isinstance(action, Send)]

    def pass_piece(self, chunk: bytes) -> Iterator[Action]:
        """What happens for a piece; an empty one is the end."""
        events = self._splitter.feed(chunk) if chunk else [one for one in (self._splitter.rest(),) if one]
        for event in events:
            yield from self._pass_event(event)

    def _pass_event(self, event: SseEvent) -> list[Action]:
        actions: list[Action] = [Send(event.raw)]
        with self._care():
            actions = self._call.pass_event(self._number, event)
        self._number += 1
        return actions


_OWN: Callable[[Any, Any], Iterator[Any]] = HttpStream.state_stream_response_body


def _stream_response_body(layer: Any, event: Any) -> Iterator[Any]:
    flow, client = layer.flow, layer.context.client
    stream = flow.response.stream
    if not isinstance(stream, EventStream) or isinstance(event, ResponseTrailers):
        yield from _OWN(layer, event)
        return
    last = isinstance(event, ResponseEndOfMessage)
    for action in stream.pass_piece(b"" if last else event.data):
        match action:
            case Wait(seconds):
                stream.wait_s = seconds
                yield EventPauseHook(flow)
                if (yield from layer.check_killed(True)):
                    return
            case Send(body):
                yield SendHttp(ResponseData(layer.stream_id, body), client)
            case Close("end"):
                last = True
                break
            case Close(how):
                stream.close(how)
                flow.kill()
                yield from layer.check_killed(True)
                return
    if last:
        yield from layer.send_response(already_streamed=True)


HttpStream.state_stream_response_body = _stream_response_body
