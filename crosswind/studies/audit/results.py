"""What becomes of tools' results and of answers.

What counts as destroyed is what the policy could no longer read, whatever the operator says of itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from crosswind.gateway.trajectory.fitness import Source
from crosswind.gateway.trajectory.record import Event
from crosswind.studies.audit import tools, values
from crosswind.studies.audit.reading import LINKS, AuditedSession, Found, Piece


def find_destroying_event(piece: Piece) -> Event | None:
    """The event after which a tool's result no longer says what it said, or None."""
    if piece.tool is None:
        return None
    return next((one for one in piece.events if not values.keeps(piece.clean, str(one.after))), None)


def check_forced_success(audited: AuditedSession) -> Found:
    """A logical call is destroyed `faults_per_call` times at most, a session `faults_per_session` times; so
    are answers, in attempts and in turns in a row."""
    bounds = audited.plan.bounds
    for one in audited.turns:
        calls: Counter[tuple[str | None, str]] = Counter()
        for piece in one.path:
            if (event := find_destroying_event(piece)) is None:
                continue
            call = (piece.tool, values.canonical(piece.arguments))
            calls[call] += 1
            if calls[call] > bounds.faults_per_call:
                yield event, event.turn_index, f"fault {calls[call]} of {bounds.faults_per_call} on {call[0]}"
            if calls.total() > bounds.faults_per_session:
                yield event, event.turn_index, f"fault {calls.total()} of {bounds.faults_per_session} in all"
    yield from _check_answers(audited)


def _check_answers(audited: AuditedSession) -> Found:
    """Requests get through: of attempts at one turn, of turns in a row, and in all."""
    bounds = audited.plan.bounds
    broken = [
        turn for turn in audited.all_turns if turn.error is not None and turn.error.source is Source.INJECTED
    ]
    cause = {(one.turn_index, one.attempt): one for one in audited.events if one.site in LINKS}
    attempts = Counter(turn.index for turn in broken)
    first = {turn.index for turn in broken if turn.attempt == 0}
    row = 0
    for count, turn in enumerate(broken, 1):
        event = cause.get((turn.index, turn.attempt))
        if turn.attempt == 0:
            row = row + 1 if turn.index - 1 in first else 1
        if event is None:
            yield None, turn.index, "the answer was destroyed, and no event says so"
        elif attempts[turn.index] > bounds.faults_per_call:
            yield event, turn.index, f"{attempts[turn.index]} attempts at one turn destroyed"
        elif row > bounds.faults_per_call:
            yield event, turn.index, f"{row} turns in a row destroyed"
        elif count > bounds.faults_per_session:
            yield event, turn.index, f"answer {count} of {bounds.faults_per_session} destroyed"


def check_true_value(audited: AuditedSession) -> Found:
    """Every true value is in the result that is shown, or can be had again: by the same call, or by another
    declared tool."""
    for one in audited.turns:
        for piece in one.new:
            if (event := find_destroying_event(piece)) is None:
                continue
            if event.recovery == "other_tool" and one.tools < 2:
                yield event, event.turn_index, "no other tool is declared"
            elif event.recovery not in ("retry", "other_tool"):
                yield event, event.turn_index, f"values are gone, and {event.recovery!r} brings none back"


FALSIFYING = frozenset(
    {
        *("tool.erroneous", "tool.fabricated_observation", "tool.stale_resource"),
        *("tool.misread", "tool.numeric_noise"),
    }
)
"""The operators whose results are false and don't say so: another read tells, which `true value`,
`tool classes` and `forced success` see to. All ids stay."""

_ID = re.compile(r"(?<![\w.\\-])[A-Za-z](?=[A-Za-z_-]{0,30}\d)[\w-]{3,64}(?![\w.-])")


def check_detectable(audited: AuditedSession) -> Found:
    """A result that was destroyed shows that it isn't the true one; one that holds false values still names
    what it is about."""
    for piece in audited.texts():
        event = find_destroying_event(piece)
        if event is None:
            continue
        if event.operator in FALSIFYING:
            if lost := set(_ID.findall(piece.clean)) - set(_ID.findall(piece.shown)):
                yield event, event.turn_index, f"the result of {piece.tool} lost {min(lost)}"
        elif not values.shows_that_it_is_wrong(piece.clean, piece.shown, event.before):
            yield event, event.turn_index, f"the result of {piece.tool} could be taken for a true one"


def check_tool_classes(audited: AuditedSession) -> Found:
    """No result is destroyed whose call changed the world, unless calls are said to be replayable; and the
    events name each tool's class as it is."""
    plan = audited.plan
    read: list[str] = []
    for tool, piece in audited.results():
        for event in piece.events:
            if (wrong := _find_wrong_class(audited, tool, event)) is not None:
                yield event, event.turn_index, wrong
        fault = find_destroying_event(piece)
        if fault is not None and plan.assume_tools != "replayable":
            kind = _class_at(audited, tool, fault)
            kept = kind == "unknown" and plan.evidence and _stands_in(piece, read)
            if kind not in tools.REPEATABLE and not kept:
                yield fault, fault.turn_index, f"{tool} is {kind}: a retry would repeat what it did"
        if fault is None and not tools.changes_something(tool):
            read.append(piece.clean)


def _class_at(audited: AuditedSession, tool: str, event: Event) -> str | None:
    """The class of a tool when an event came: as declared, else as the event says."""
    plan = audited.plan
    if not plan.evidence:
        return tools.class_of(tool, plan.tool_classes)
    return tools.declared_class(tool, plan.tool_classes) or event.tool_class


def _find_wrong_class(audited: AuditedSession, tool: str, event: Event) -> str | None:
    """What is wrong with the class that an event gives a tool. What a tool's schema said isn't read again: a
    class that is too low does no harm, and one that is too high shows in the tool's name."""
    plan = audited.plan
    if not plan.evidence:
        kind = tools.class_of(tool, plan.tool_classes)
    elif (declared := tools.declared_class(tool, plan.tool_classes)) is not None:
        kind = declared
    elif event.tool_class == "read_only" and tools.changes_something(tool):
        return f"{tool} changes something, by its name, and is called read_only"
    else:
        return None
    return None if event.tool_class == kind else f"{tool} is {kind}, and is called {event.tool_class}"


def _stands_in(piece: Piece, read: Sequence[str]) -> bool:
    """Whether all that a result lost stands in the results of earlier reads."""
    lost = set(re.findall(r"\w+", piece.clean)) - set(re.findall(r"\w+", piece.shown))
    return lost.issubset(word for text in read for word in re.findall(r"\w+", text))
