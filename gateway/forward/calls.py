"""The calls of tools that pass a proxy: the legs of its sessions, and each call from its request to its end.

It knows nothing of mitmproxy.
"""

from __future__ import annotations

import os
import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from crosswind.gateway.clock import now_us
from crosswind.gateway.forward.settings import Api, ProxySettings, Tally
from crosswind.gateway.http.sse import SseEvent
from crosswind.gateway.tools.events import Outcome, ToolEvent
from crosswind.gateway.tools.http_results import LARGEST_RESULT, HttpResult, is_readable
from crosswind.gateway.tools.leg import Begun, Failure, Finished, ToolLeg
from crosswind.gateway.tools.rules import Found, HttpCall

MOST_SESSIONS = 1000
DRY = "Dry run, nothing was done: "
_NEW_LINE = b"\n"


class Calls:
    """All calls of a proxy."""

    def __init__(self, settings: ProxySettings, tally: Tally) -> None:
        """Raises ValueError, ProfileError or OSError."""
        self._settings = settings
        self._tally = tally
        self._api: Api = settings.read_rules()
        self._profile = settings.read_profile()
        self._legs: OrderedDict[str, ToolLeg] = OrderedDict()
        self._events = EventFile(Path(settings.events)) if settings.events else None

    @property
    def rules(self) -> Api:
        return self._api

    def begin(
        self, session: str, host: str, found: Found, method: str, content_type: str, body: bytes
    ) -> CallUnderWay | None:
        """The call that a request is; None where it is none after all."""
        call = found.read(content_type, body)
        if call is None:
            return None
        leg = self._leg(session)
        leg.tools.setdefault(host, self._api.tools)
        begun = leg.begin(host, call.tool, call.arguments, now_us(), method=method)
        self._tally.calls[call.tool] = self._tally.calls.get(call.tool, 0) + 1
        under_way = CallUnderWay(
            leg,
            begun,
            call,
            self._api.outputs.get(call.tool),
            lambda: self._record(leg),
            dry=self._settings.dry_run,
            settled=begun.failure is not None,
        )
        self._record(leg)
        return under_way

    def _leg(self, session: str) -> ToolLeg:
        leg = self._legs.get(session)
        if leg is None:
            settings = self._settings
            plan = settings.make_plan(self._profile, session)
            leg = ToolLeg(plan, session, secrets.token_hex(6), may_repeat=settings.may_repeat)
            self._legs[session] = leg
            if len(self._legs) > MOST_SESSIONS:
                self._legs.popitem(last=False)
        self._legs.move_to_end(session)
        return leg

    def _record(self, leg: ToolLeg) -> None:
        events = leg.drain()
        if self._settings.dry_run:
            events = [
                msgspec.structs.replace(one, after=None, note=f"{DRY}{one.note}") if one.slot else one
                for one in events
            ]
        self._tally.noisy += sum(one.after is not None for one in events)
        if events and self._events is not None:
            self._events.add(events)


@dataclass(slots=True, eq=False)
class CallUnderWay:
    """A call that was begun."""

    leg: ToolLeg
    begun: Begun
    call: HttpCall
    schema: object
    record: Callable[[], None]
    dry: bool
    settled: bool

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

    def finish(self, content_type: str, body: bytes) -> tuple[Finished, bytes | None]:
        """The answer has come whole. Gives what happens to it, and its new body; None: as it was."""
        result = HttpResult.read(content_type, body, self.call.result_at, self.schema)
        self.settled = True
        finished = self.leg.finish(
            self.begun,
            () if result is None else result.texts,
            now_us(),
            body=body,
            accept=_accept_any if result is None else result.accept,
        )
        self.record()
        if self.dry:
            return Finished(()), None
        changed = result is not None and any(text is not None for text in finished.texts)
        return finished, result.write(finished.texts) if result is not None and changed else None

    def change_event(self, number: int, event: SseEvent) -> bytes:
        """An event of an answer that is a stream, as it is passed on."""
        if not event.data or self.settled:
            return event.raw
        kind = "application/json" if event.data[:1] in (b"{", b"[") else "text/plain"
        result = HttpResult.read(kind, event.data, self.call.result_at if kind != "text/plain" else "")
        if result is None:
            return event.raw
        text = self.leg.change_event(self.begun, number, result.texts[0], now_us(), accept=result.accept)
        self.record()
        return event.raw if text is None or self.dry else _with_data(event.raw, result.write((text,)))

    def end(self, outcome: Outcome) -> None:
        """Settle the call, unless it is."""
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
    kept[at:at] = [b"data: " + line for line in data.split(_NEW_LINE)]
    return line_end.join((*kept, b"", b""))


class EventFile:
    """Events as JSON lines. Only the owner may read the file: events quote what tools say."""

    def __init__(self, path: Path) -> None:
        """Raises OSError."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._encode = msgspec.json.Encoder().encode

    def add(self, events: list[ToolEvent]) -> None:
        os.write(self._fd, b"".join(self._encode(one) + b"\n" for one in events))
