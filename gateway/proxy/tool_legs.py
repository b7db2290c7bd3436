"""The tool legs of sessions: which session a request is of, its leg, and the record of what happens there."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from secrets import token_hex

import msgspec
import structlog

from crosswind.gateway.config.sections import Durability
from crosswind.gateway.noise.kill_switch import KillSwitch
from crosswind.gateway.recorder.recorder import Recorder
from crosswind.gateway.recorder.redaction import Redactor
from crosswind.gateway.sessions.drills import Drills
from crosswind.gateway.sessions.session import LiveSession
from crosswind.gateway.sessions.tool_legs import label_tools
from crosswind.gateway.telemetry.metrics import Metrics
from crosswind.gateway.tools.events import CALL, ToolEvent, as_row
from crosswind.gateway.tools.leg import ToolLeg
from crosswind.gateway.tools.masking import mask_event
from crosswind.gateway.tools.mcp import McpLink
from crosswind.gateway.trajectory.record import Durable, Event, Row, SessionMarked
from crosswind.gateway.trajectory.store import Store, StoreError
from crosswind.gateway.upstreams.tool_servers import NamedServer

_log = structlog.get_logger("crosswind.tools")
_MOST_UNLISTED = 1000
"""Tools of a server that were called, in its list or not, after which only those in its list are added."""
_FLUSH_S = 5.0
"""How long a leg that goes on waits until what was queued of it is in the store."""


@dataclass(slots=True, eq=False)
class SessionTools:
    """The tool traffic of one session in this process."""

    leg: ToolLeg
    known: bool = True
    """Whether its earlier calls are known."""
    owned: bool = True
    """Whether no other process has them."""
    links: dict[str, McpLink] = field(default_factory=dict)
    served: dict[str, frozenset[str]] = field(default_factory=dict)
    """By server, the tools that the model leg knows to leave alone."""
    exchanges: int = 0
    """Numbers those whose ids are no other's."""


class ToolLegs:
    """The legs of the sessions in memory. They outlive a reload of the configuration."""

    def __init__(
        self,
        store: Store,
        recorder: Recorder,
        metrics: Metrics,
        switch: KillSwitch,
        drills: Drills,
        *,
        shared: bool,
    ) -> None:
        """`shared`: other processes serve the same sessions. Each has the tool traffic of its own ones."""
        self._store, self._recorder, self._metrics, self._switch = store, recorder, metrics, switch
        self._drills, self._shared = drills, shared
        self._tools: OrderedDict[str, SessionTools] = OrderedDict()

    async def find(self, session: LiveSession, most: int, *, owned: bool = True) -> SessionTools:
        """The session's leg, which goes on from its record. At most so many are kept: those used last. A
        session that isn't `owned` has its tool traffic in another process, which can't be reached: the leg is
        one without noise, for this request.
        """
        name = session.record.id
        if not owned:
            _log.warning("another worker has a session's tool traffic: this call gets no noise", session=name)
            leg = ToolLeg(session.plan, name, token_hex(6), enabled=False)
            await self._resume(leg, session)
            return SessionTools(leg, known=False, owned=False)
        tools = self._find_known(session)
        if tools is None:
            session.type_choice = None  # The plan is frozen now.
            leg = ToolLeg(session.plan, name, token_hex(6), allowance=_DrillAllowance(self._drills, session))
            known = await self._resume(leg, session)
            if (tools := self._find_known(session)) is None:
                tools = self._tools[name] = SessionTools(leg, known)
        self._tools.move_to_end(name)
        if len(self._tools) > most:
            self._tools.popitem(last=False)
        return tools

    def _find_known(self, session: LiveSession) -> SessionTools | None:
        tools = self._tools.get(session.record.id)
        same = tools is not None and (tools.leg.plan is session.plan or tools.leg.plan == session.plan)
        return tools if same else None

    async def _resume(self, leg: ToolLeg, session: LiveSession) -> bool:
        """Go on from what the store has of the leg; False if that can't be known."""
        if session.unwritten or not session.plan.rules:
            return True
        await self._recorder.submit([]).outcome(_FLUSH_S)
        try:
            leg.resume(await asyncio.to_thread(self._store.events, session.record.id))
        except StoreError as error:
            _log.error("a tool leg's calls can't be read: it gets no noise", error=str(error))
            return False
        return True

    def link(self, tools: SessionTools, server: NamedServer) -> McpLink:
        link = tools.links.get(server.name)
        if link is None:
            link = tools.links[server.name] = McpLink(tools.leg, server.name)
        return link

    def allow_noise(self, tools: SessionTools, session: LiveSession, *, spared: bool) -> None:
        """Say whether what comes next may get new noise."""
        known = tools.known and session.ledger.complete and not session.stands_in
        stopped = session.record.noise_stopped or not self._switch.enabled
        spared = spared or not self._drills.allow_noise(session.record)
        tools.leg.enabled = known and not (stopped or spared)

    async def record(
        self,
        session: LiveSession,
        tools: SessionTools,
        redactor: Redactor,
        durability: Durability,
        trace: str | None,
    ) -> None:
        """Write the new events, with the session's row if it has none yet. Noise is on disk before its client
        sees it, as on the model leg.
        """
        events = tools.leg.drain()
        labels = self._label_tools(session, tools, events)
        if not (events or labels):
            return
        masked = [_mask(event, redactor, trace) for event in events]
        self._metrics.count_events(masked)
        await self._drills.add(session.record, sum(one.after is not None for one in masked), taken=True)
        rows: list[Row] = [*masked, *session.pending]
        session.pending.clear()
        opens = session.unwritten
        if opens:
            session.unwritten = False
            rows.insert(0, session.record)
        elif labels:
            rows.append(SessionMarked(session.record.id, labels=labels))
        # Another worker's model leg reads the labels from the store.
        told = self._shared and bool(labels)
        awaited = durability is not Durability.RELAXED and (told or any(one.slot for one in events))
        session.rows = submission = self._recorder.submit(rows, awaited=awaited)
        if awaited:
            durable = await self._recorder.wait_durable(submission)
            session.unwritten |= opens and durable is Durable.LOST
            if durable is Durable.YES:
                session.seen.stored = True

    def _label_tools(
        self, session: LiveSession, tools: SessionTools, events: Sequence[ToolEvent]
    ) -> dict[str, str]:
        """Tell the session of tools that are new here: the model leg leaves them alone."""
        labels: dict[str, str] = {}
        for name in tools.links.keys() | tools.leg.tools.keys() | {one.link for one in events}:
            known = tools.served.get(name, frozenset())
            link, listed = tools.links.get(name), tools.leg.tools_of(name)
            names = link.names if link is not None else {one.name for one in listed}
            called = {one.tool for one in events if one.link == name and one.operator == CALL}
            if len(known) >= _MOST_UNLISTED:
                called &= names  # Clients make up names, and each one rewrites the label.
            if tools.owned and (found := known | names | called) != known:
                tools.served[name] = found
                labels |= label_tools(name, found)
        if labels:
            session.mark(labels={**session.record.labels, **labels})
        return labels


@dataclass(frozen=True, slots=True)
class _DrillAllowance:
    """What the drill of a session leaves its tool leg."""

    drills: Drills
    session: LiveSession

    def count_left(self) -> int | None:
        return self.drills.count_left(self.session.record)

    def take(self, count: int) -> None:
        self.drills.take(self.session.record, count)


def _mask(event: ToolEvent, redactor: Redactor, trace: str | None) -> Event:
    """The event's row, without secrets."""
    if trace is not None and event.operator == CALL:
        event = msgspec.structs.replace(event, draw={**event.draw, "traceparent": trace})
    return as_row(mask_event(event, redactor))
