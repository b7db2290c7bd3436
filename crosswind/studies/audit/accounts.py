"""That what was shown is accounted for, within its caps, and leaves every tool callable."""

from __future__ import annotations

from collections import Counter

from crosswind.gateway.protocols.message_format import SEGMENTS
from crosswind.gateway.trajectory.record import Event
from crosswind.injectors.conversation import Site
from crosswind.studies.audit import tools, values
from crosswind.studies.audit.reading import LINKS, AuditedSession, AuditedTurn, Found, Piece


def check_account(audited: AuditedSession) -> Found:
    """What the policy was shown is what its agent sent, and what the events say on top of it."""
    if audited.session.arm == "clean":
        for event in audited.events:
            yield event, event.turn_index, "a clean session got noise"
    for one in audited.turns:
        for piece in one.new:
            if not piece.masked:
                yield from _check_piece(one, piece)
        # A list of tools is decided in the turn that first shows it.
        for event in audited.events:
            shown = event.turn_index == one.turn.index and event.attempt == one.turn.attempt
            if shown and event.site == Site.TOOL_SCHEMA and (lost := _find_unsent_name(event, one)):
                yield event, event.turn_index, f"the policy wasn't sent {lost!r:.60}"


def _check_piece(one: AuditedTurn, piece: Piece) -> Found:
    turn = one.turn.index
    if not piece.events:
        if not _was_sent(one, piece, piece.clean):
            yield None, turn, f"{piece.clean!r:.60} was shown otherwise, and no event says so"
        return
    before = piece.clean
    for event in piece.events:
        if event.before != before:
            yield event, event.turn_index, "it doesn't begin with what stood there before it"
        before = str(event.after)
    first = piece.events[0]
    if (first.turn_index, first.attempt) == (turn, one.turn.attempt) and not _was_sent(
        one, piece, piece.shown
    ):
        yield piece.events[-1], turn, "the policy wasn't sent what it says"


def _was_sent(one: AuditedTurn, piece: Piece, text: str) -> bool:
    """Whether the policy was sent a text: as a text of its own, or within the one that it is a piece of."""
    part = piece.ref.part
    if part is not None and part >= SEGMENTS:
        return any(text in whole for whole in one.sent)
    return text in one.sent


def _find_unsent_name(event: Event, one: AuditedTurn) -> str | None:
    document = values.value_of(event.after or "")
    listed = document if isinstance(document, list) else []
    names = [str(tool["name"]) for tool in listed[:1] if isinstance(tool, dict) and "name" in tool]
    return next((name for name in names if name not in one.sent), None)


def check_dose_caps(audited: AuditedSession) -> Found:
    """No branch gets more injections than `events_per_session`, no tool more than `events_per_tool`."""
    bounds = audited.plan.bounds
    for one in audited.turns:
        by_tool: Counter[str] = Counter()
        count = 0
        for piece in one.path:
            for event in piece.events:
                count += 1
                by_tool[piece.tool or ""] += piece.tool is not None
                if count > bounds.events_per_session:
                    yield event, event.turn_index, f"injection {count} of {bounds.events_per_session}"
                most = bounds.events_per_tool
                if piece.tool is not None and most is not None and by_tool[piece.tool] > most:
                    yield (
                        event,
                        event.turn_index,
                        f"injection {by_tool[piece.tool]} of {most} on {piece.tool}",
                    )
    for sites in (frozenset((Site.TOOL_SCHEMA.value,)), LINKS):
        found = [event for event in audited.events if event.site in sites]
        for event in found[bounds.events_per_session :]:
            yield event, event.turn_index, f"more than {bounds.events_per_session} at {event.site}"


def check_true_tools(audited: AuditedSession) -> Found:
    """Every declared tool can be called as it was declared, whatever stands beside it."""
    for event in audited.events:
        if event.site == Site.TOOL_SCHEMA:
            for what in tools.find_untrue(event):
                yield event, event.turn_index, f"{event.tool}: {what}"
