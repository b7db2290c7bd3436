"""The calls of tools that pass a proxy: the legs of its sessions, and each call from its request to its end.

It knows nothing of mitmproxy.
"""

from __future__ import annotations

from dataclasses import dataclass

from crosswind.gateway.clock import now_us
from crosswind.gateway.forward.legs import Legs, SessionLeg
from crosswind.gateway.forward.settings import Api, ProxySettings, Tally
from crosswind.gateway.http.sse import SseEvent
from crosswind.gateway.noise.stream_faults import StreamFaults
from crosswind.gateway.tools.dry_run import DryRun
from crosswind.gateway.tools.events import Outcome
from crosswind.gateway.tools.failures import Failure, after_delivery
from crosswind.gateway.tools.http_results import LARGEST_RESULT, HttpResult, is_readable
from crosswind.gateway.tools.leg import Begun, Finished, ToolLeg
from crosswind.gateway.tools.rules import Found, HttpCall, HttpRules
from crosswind.injectors.faults import Action, Send


class Calls:
    """All calls of a proxy."""

    def __init__(self, settings: ProxySettings, tally: Tally) -> None:
        """Raises ValueError, ProfileError or OSError."""
        self._tally = tally
        self._api: Api = settings.read_rules()
        tally.would = DryRun() if settings.dry_run else None
        self._legs = Legs(settings, self._api.rules.tools, tally.would)

    @property
    def rules(self) -> HttpRules:
        return self._api.rules

    async def begin(
        self, session: str, host: str, found: Found, method: str, content_type: str, body: bytes
    ) -> CallUnderWay | None:
        """The call that a request is; None where it is none after all."""
        call = found.read(content_type, body)
        if call is None:
            return None
        joined = await self._legs.join(session, call.tool)
        joined.leg.tools.setdefault(host, self._api.tools)
        begun = joined.leg.begin(host, call.tool, call.arguments, now_us(), method=method)
        self._tally.calls[call.tool] = self._tally.calls.get(call.tool, 0) + 1
        under_way = CallUnderWay(joined, begun, call, self._api.outputs.get(call.tool), self._tally)
        under_way.settled = begun.failure is not None
        under_way.record()
        return under_way

    def close(self) -> None:
        """Send the last events."""
        self._legs.close()


@dataclass(slots=True, eq=False)
class CallUnderWay:
    """A call that was begun."""

    joined: SessionLeg
    begun: Begun
    call: HttpCall
    schema: object
    """The JSON schema of its answer, if that is known."""
    tally: Tally
    settled: bool = False
    faults: StreamFaults | None = None
    """Those of the link, on the events of its answer."""

    @property
    def leg(self) -> ToolLeg:
        return self.joined.leg

    @property
    def dry(self) -> bool:
        return self.joined.dry is not None

    def record(self) -> None:
        self.tally.noisy += self.joined.record()

    @property
    def failure(self) -> Failure | None:
        """What the client gets, and nobody is asked."""
        return None if self.dry else self.begun.failure

    @property
    def wait_s(self) -> float:
        return 0.0 if self.dry else self.begun.wait_s

    @property
    def copies(self) -> int:
        return 0 if self.dry else self.begun.copies

    def wants_body(self, status: int, content_type: str, length: int | None) -> bool:
        """Whether the answer's body must be held, since noise may act on it."""
        if self.settled or status >= 400 or not self.leg.plan.rules:
            return False
        if length is not None and length > LARGEST_RESULT:
            return False
        return bool(self.begun.later) or is_readable(content_type)

    def finish(self, content_type: str, content: bytes, raw: bytes) -> tuple[Finished, bytes | None]:
        """The answer has come whole: its body, decoded and as it was sent. Gives what happens to it, and its
        new content; None: as it was.
        """
        result = HttpResult.read(content_type, content, self.call.result_at, self.schema)
        self.settled = True
        finished = self.leg.finish(
            self.begun,
            () if result is None else result.texts,
            now_us(),
            body=raw,
            accept=_accept_any if result is None else result.accept,
        )
        self.record()
        if self.dry:
            return Finished(()), None
        changed = result is not None and any(text is not None for text in finished.texts)
        return finished, result.write(finished.texts) if result is not None and changed else None

    def open_stream(self) -> tuple[float, Failure | None]:
        """The answer is a stream of events. Gives the wait before it, and what comes in its place."""
        wait_s, failure, _ = after_delivery(self.begun.later, b"")
        if self.dry:
            return 0.0, None
        if failure is not None:
            self.end(Outcome.INJECTED)
        return wait_s, failure

    def pass_event(self, number: int, event: SseEvent) -> list[Action]:
        """An event of an answer that is a stream, as noise leaves it."""
        if self.settled:
            return [Send(event.raw)]
        if self.faults is None:
            self.faults = StreamFaults(self.leg, self.begun)
        if self.faults.will_close(event.raw):
            # What is cut off isn't decided about.
            actions = self.faults.pass_event(event.raw)
            if not self.dry:
                self.end(Outcome.INJECTED)
        else:
            actions = self.faults.pass_event(self._change_event(number, event))
        self.record()
        return [Send(event.raw)] if self.dry else actions

    def _change_event(self, number: int, event: SseEvent) -> bytes:
        """An event with its text as noise words it."""
        if not event.data:
            return event.raw
        kind = "application/json" if event.data[:1] in (b"{", b"[") else "text/plain"
        result = HttpResult.read(kind, event.data, self.call.result_at if kind != "text/plain" else "")
        if result is None:
            return event.raw
        text = self.leg.change_event(self.begun, number, result.texts[0], now_us(), accept=result.accept)
        return event.raw if text is None or self.dry else _with_data(event.raw, result.write((text,)))

    def end(self, outcome: Outcome) -> None:
        """Settle the call, unless it is."""
        if self.faults is not None:
            self.faults.end()
        if not self.settled:
            self.settled = True
            self.leg.end(self.begun.call, outcome, now_us())
            self.record()


def _accept_any(_: str) -> str | None:
    return None


def _with_data(raw: bytes, data: bytes) -> bytes:
    """The event with this data; its other lines stay."""
    line_end = b"\r\n" if b"\r\n" in raw else b"\n"
    lines = raw.strip(b"\r\n").splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith(b"data"))
    kept = [line for line in lines if not line.startswith(b"data")]
    kept[at:at] = [b"data: " + line for line in data.split(b"\n")]
    return line_end.join((*kept, b"", b""))
