"""The tool legs of a proxy's sessions: each by itself, or attached to a gateway's session."""

from __future__ import annotations

import asyncio
import gc
import secrets
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from crosswind.gateway.forward.settings import OFF, ProxySettings
from crosswind.gateway.stdio.attachment import Attachment
from crosswind.gateway.stdio.control_plane import ControlPlane, Refused
from crosswind.gateway.stdio.loading import warm
from crosswind.gateway.stdio.message_noise import EventFile
from crosswind.gateway.stdio.spool import Spool, default_folder
from crosswind.gateway.tools.dry_run import DRY, DryRun
from crosswind.gateway.tools.events import ToolEvent
from crosswind.gateway.tools.leg import ToolLeg
from crosswind.gateway.tools.masking import EventMask
from crosswind.injectors.engine.plan import Plan
from crosswind.injectors.profiles.load import load

MOST_SESSIONS = 1000
LAST_S = 3.0
"""How long the last events may take to be sent."""
LINK = "http"
"""What the gateway calls the tools that are served here."""


def freeze_heap() -> None:
    """Keep the collector from going through what stays anyway: mitmproxy makes cycles with each request, and
    what we import is more than all of its own."""
    gc.collect()
    gc.freeze()


@dataclass(slots=True, eq=False)
class SessionLeg:
    """The leg of one session, and where its events go."""

    leg: ToolLeg
    mask: EventMask
    write: Callable[[Sequence[ToolEvent]], None]
    dry: DryRun | None
    """Nothing is done, and this counts what would have been."""
    attachment: Attachment | None = None
    spool: Spool | None = None
    served: frozenset[str] = frozenset()
    """The tools that the gateway knows to be served here."""
    telling: asyncio.Lock = field(default_factory=asyncio.Lock)

    def record(self) -> int:
        """Write the new events; gives the number of injections."""
        events = self.leg.drain()
        if self.dry is not None:
            self.dry.count(events)
            events = [
                msgspec.structs.replace(one, after=None, note=f"{DRY}{one.note}") if one.slot else one
                for one in events
            ]
        if events:
            events = self.mask.mask(events)
            self.write(events)
            if self.spool is not None:
                self.spool.add(events)
                self.leg.enabled &= not self.spool.full
        return sum(one.after is not None for one in events)

    async def serve(self, tools: frozenset[str]) -> None:
        """Tell the gateway, before a first result comes, that the model leg leaves these tools alone."""
        if self.attachment is None or tools <= self.served:
            return
        async with self.telling:
            if not tools <= self.served:
                self.served |= tools
                await asyncio.to_thread(self.attachment.serve, self.served)


class Legs:
    """The legs of all sessions."""

    def __init__(self, settings: ProxySettings, tools: frozenset[str], dry: DryRun | None) -> None:
        """`tools` are those that the rules name. Raises ProfileError or OSError."""
        self._settings = settings
        self._dry = dry
        self._tools = tools
        self._profile = load(OFF) if settings.control else settings.read_profile()
        self._file = EventFile(Path(settings.events)) if settings.events else None
        self._joining: OrderedDict[str, asyncio.Task[SessionLeg]] = OrderedDict()

    async def join(self, session: str, tool: str) -> SessionLeg:
        """The session's leg, which serves this tool."""
        task = self._joining.get(session)
        if task is None:
            task = self._joining[session] = asyncio.create_task(asyncio.to_thread(self._make, session))
            if len(self._joining) > MOST_SESSIONS:
                self._joining.popitem(last=False)
        self._joining.move_to_end(session)
        found = await asyncio.shield(task)
        await found.serve(self._tools | {tool})
        return found

    def close(self) -> None:
        """Send the last events, but for no longer than that takes; what is left stays in the files."""
        until = time.monotonic() + LAST_S
        for task in self._joining.values():
            if task.done() and not task.cancelled() and task.exception() is None:
                found = task.result()
                found.record()
                if found.spool is not None:
                    found.spool.close(max(0.0, until - time.monotonic()))

    def _make(self, session: str) -> SessionLeg:
        settings, leg_id = self._settings, secrets.token_hex(6)
        if settings.control is None:
            return self._lead(settings.make_plan(self._profile, session), session, leg_id)
        control = ControlPlane(settings.control, settings.key)
        named = None if settings.profile == OFF else settings.profile
        try:
            own = None if settings.require_session else leg_id
            joined = Attachment(control, LINK, session, named, settings.patience_s, leg=own)
        except Refused as error:
            print(f"crosswind http: no noise in session {session}: {error}", file=sys.stderr, flush=True)
            return self._lead(settings.make_plan(load(OFF), session), session, leg_id)
        found = self._lead(joined.plan, joined.session, leg_id)
        found.leg.enabled = joined.noise
        found.attachment = joined

        def set_noise(enabled: bool) -> None:
            found.leg.enabled = enabled and not (found.spool is not None and found.spool.full)

        found.spool = Spool(default_folder(), leg_id, control, joined.session, on_noise=set_noise)
        return found

    def _lead(self, plan: Plan, session: str, leg_id: str) -> SessionLeg:
        warm(plan)
        mask = EventMask([self._settings.key])
        mask.warm()
        freeze_heap()
        leg = ToolLeg(plan, session, leg_id, may_repeat=self._settings.may_repeat)
        write: Callable[[Sequence[ToolEvent]], None] = self._file.add if self._file else lambda _: None
        return SessionLeg(leg, mask, write, self._dry)
