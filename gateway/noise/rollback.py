"""Noise that was decided and couldn't be shown: its places stay clean from then on, here and in the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from crosswind.gateway.protocols.request import Request
from crosswind.gateway.sessions.session import LiveSession
from crosswind.gateway.sessions.turns import Place
from crosswind.gateway.trajectory.record import Row
from crosswind.injectors.engine.decide import NewlyShown
from crosswind.injectors.engine.shown_tools import ShownTools


def take_back(
    session: LiveSession,
    request: Request,
    place: Place,
    decided: Sequence[NewlyShown],
    tools: ShownTools | None,
) -> list[Row]:
    """Show what this request was the first to bring as it came, now and later: `decided` are its texts as far
    as they were decided, `tools` its tools. Gives the ledger's rows that say so.
    """
    ledger, session_id = session.ledger, session.record.id
    session.turns.befell(place, 0)
    session.walks.forget()
    conversation, taken = request.conversation, {new.item.anchor for new in decided}
    known = taken | ledger.known.keys()
    brought = [
        item
        for item in conversation.items
        if item.ref.message >= conversation.held and item.anchor not in known
    ]
    rows: list[Row] = []
    for item in (*(new.item for new in decided), *brought):
        clean = NewlyShown(item, (), None, ())
        rows.append(ledger.add(clean, session_id=session_id, turn=place.index, branch=place.branch))
    if tools is not None and tools.injections:
        lasting = _as_declared(tools, request)
        rows.append(ledger.add_tools(lasting, session_id=session_id, turn=place.index, branch=place.branch))
    return rows


def _as_declared(tools: ShownTools, request: Request) -> ShownTools:
    """A list without what was decided just now. It is `partial`: what earlier decisions make of it is
    arranged when it is shown next.
    """
    now = {one.decision.slot for one in tools.injections}
    return replace(
        ShownTools.clean(request.conversation.tools),
        anchor=tools.anchor,
        decisions=tuple(decision for decision in tools.decisions if decision.slot not in now),
        decided=tools.decided,
        partial=True,
    )
