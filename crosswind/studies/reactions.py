"""What an agent did after each fault of a recorded session, and how a failed session failed.

All of it is read from the record, without a model: from the calls that the agent made, the results that it
was shown, and the texts that it ended with. The rules are on the page docs/figures.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from crosswind.figures.attempts import ErrorMode, Reaction
from crosswind.gateway.protocols.codec import Codec, codec_named
from crosswind.gateway.protocols.json_values import decode
from crosswind.gateway.protocols.message_format import ToolResultPart
from crosswind.gateway.trajectory.content import View
from crosswind.gateway.trajectory.record import Event, Trajectory, Turn
from crosswind.gateway.trajectory.timeline import is_on_wire
from crosswind.gateway.transcripts.transcript import read_policy
from crosswind.injectors.conversation import Site
from crosswind.injectors.identity import logical_call
from crosswind.injectors.targets import Recovery
from crosswind.studies.fault_words import has_new_value, speaks_of_fault

LOOP = 3
"""So many equal calls without a new result are a loop."""


@dataclass(frozen=True, slots=True)
class FaultReading:
    """What became of one fault."""

    event: Event
    turn: int
    """The turn whose answer was the first after it."""
    reaction: Reaction | None
    recovered: bool | None
    turns_to_recover: int | None


@dataclass(frozen=True, slots=True)
class SessionReading:
    """What is read of a session's content."""

    tool_calls: int
    calls: tuple[str, ...]
    """The logical calls, in order."""
    faults: tuple[FaultReading, ...]
    error_mode: ErrorMode
    """How it failed, if it failed."""
    tools: frozenset[str]
    """The names of the tools that it had, or that it called on a tool leg."""


@dataclass(slots=True)
class _Exchange:
    """One turn, as far as it matters here."""

    index: int
    created_us: int
    calls: list[str] = field(default_factory=list)
    said: str = ""
    asked: bool = False
    """Whether the request brought a new text of the user."""
    shown: list[str] = field(default_factory=list)
    """The new texts of the request."""
    broken: bool = False
    """Whether it ended in a failure."""
    tools: frozenset[str] = frozenset()
    """The names of the tools that the request declares."""


def read_session(found: Trajectory) -> SessionReading:
    """Read a session. Bodies that can't be read, or weren't recorded, count as empty."""
    exchanges = list(_exchanges(found.turns))
    injected = [event for event in found.events if event.after is not None and event.slot]
    calls = tuple(call for one in exchanges for call in one.calls)
    faults = tuple(_read_fault(event, exchanges, injected) for event in injected)
    wired = (event.tool for event in found.events if is_on_wire(event) and event.tool)
    return SessionReading(
        len(calls),
        calls,
        faults,
        _error_mode(exchanges, calls, found.session.reward_components),
        frozenset(wired).union(*(one.tools for one in exchanges)),
    )


def _exchanges(turns: Sequence[Turn]) -> Iterator[_Exchange]:
    """The last attempt at each turn, in order."""
    last = {turn.index: turn for turn in sorted(turns, key=lambda one: (one.index, one.attempt))}
    before = 0
    for index in sorted(last):
        turn = last[index]
        codec = codec_named(turn.protocol)
        one = _Exchange(index, turn.created_us, broken=turn.error is not None)
        if codec is not None:
            before = _read_request(one, codec, turn.sent or turn.received, before)
            _read_answer(one, codec, turn.delivered_view or turn.produced)
        yield one


def _read_request(one: _Exchange, codec: Codec, view: View | None, before: int) -> int:
    """Read what is new in a request. Returns how many messages it had."""
    split = None if view is None else codec.split(view.bytes())
    if split is None:
        return before
    one.tools = frozenset(tool.name for tool in codec.declared_tools(split.frame))
    new = split.spans[before:] if before < len(split.spans) else split.spans
    for start, end in new:
        message = codec.message_format.read(split.body[start:end])
        for part in message.parts:
            result = isinstance(part, ToolResultPart)
            one.shown += [text.text for text in (part.texts if isinstance(part, ToolResultPart) else (part,))]
            one.asked |= not result
    return len(split.spans)


def _read_answer(one: _Exchange, codec: Codec, view: View | None) -> None:
    if view is None or codec.tool_mapping is None:
        return
    try:
        messages = codec.tool_mapping.history_messages(view.bytes())
        parsed = [codec.message_format.parse(decode(raw)) for raw in messages]
    except (ValueError, LookupError, TypeError, AttributeError):
        return  # An answer that noise or a failure left in pieces.
    one.said = "".join(message.own_text or "" for message in parsed)
    called = [call for message in parsed for call in (*message.calls, *message.written_calls)]
    if not called and one.said:
        transcript = read_policy(one.said)
        called = list(transcript.calls) if transcript is not None else []
    one.calls = [logical_call(call.name, call.arguments) for call in called]


def _read_fault(event: Event, exchanges: Sequence[_Exchange], injected: Sequence[Event]) -> FaultReading:
    turn = _turn_of(event, exchanges)
    if event.recovery not in (Recovery.RETRY, Recovery.OTHER_TOOL, Recovery.ASK_USER):
        return FaultReading(event, turn, None, None, None)
    link = event.site in (Site.TRANSPORT, Site.MODEL_RESPONSE)
    later = [one for one in exchanges if (one.index > turn if link else one.index >= turn)]
    if event.recovery == Recovery.ASK_USER:
        asked = next((one for one in later[:1] if one.said and not one.calls), None)
        answered = next((one for one in later[1:] if one.asked), None) if asked else None
        turns = answered.index - turn if answered else None
        return FaultReading(
            event, turn, Reaction.NOTICED if asked else None, True if answered else None, turns
        )
    if link:
        over = next((one for one in later if not one.broken), None)
        reaction = Reaction.RETRIED if later else Reaction.GAVE_UP
        return FaultReading(event, turn, reaction, over is not None, over.index - turn if over else None)
    at = _recovered_at(event, turn, later, injected, exchanges)
    told = _reaction(event, later, exchanges, recovered=at is not None)
    return FaultReading(event, turn, told, at is not None, None if at is None else at - turn)


def _turn_of(event: Event, exchanges: Sequence[_Exchange]) -> int:
    """On a tool leg, the next turn: its request brings the result."""
    if not is_on_wire(event):
        return event.turn_index
    after = (one.index for one in exchanges if one.created_us >= event.created_us)
    return next(after, exchanges[-1].index + 1 if exchanges else 0)


def _recovered_at(
    event: Event,
    turn: int,
    later: Sequence[_Exchange],
    injected: Sequence[Event],
    exchanges: Sequence[_Exchange],
) -> int | None:
    """The turn whose request brought what the fault had taken; None if none did."""
    if event.recovery == Recovery.OTHER_TOOL:
        by = next((one.index for one in later if any(call != event.logical_call for call in one.calls)), None)
        return by if by is not None and by < exchanges[-1].index else None
    struck = {
        _turn_of(other, exchanges)
        for other in injected
        if other.logical_call == event.logical_call and other.recovery == Recovery.RETRY
    }
    called = False
    for one in later:
        if called and one.index not in struck:
            return one.index
        called = event.logical_call in one.calls
    return None


def _reaction(
    event: Event, later: Sequence[_Exchange], exchanges: Sequence[_Exchange], *, recovered: bool
) -> Reaction | None:
    """The first that holds, in this order: looped, retried, worked around, invented, noticed, gave up. None:
    it did no more, and spoke a language whose words for a fault aren't known.
    """
    calls = [call for one in later for call in one.calls]
    same = calls.count(event.logical_call or "")
    if same >= LOOP and not recovered:
        return Reaction.LOOPED
    if same:
        return Reaction.RETRIED
    if calls:
        return Reaction.WORKED_AROUND
    said = "\n".join(one.said for one in later)
    if has_new_value(said, "\n".join(text for one in exchanges for text in one.shown)):
        return Reaction.INVENTED
    spoken = speaks_of_fault(said)
    return None if spoken is None else Reaction.NOTICED if spoken else Reaction.GAVE_UP


def _error_mode(
    exchanges: Sequence[_Exchange], calls: Sequence[str], components: Mapping[str, object]
) -> ErrorMode:
    if not calls and not any(one.said.strip() for one in exchanges):
        return ErrorMode.EMPTY
    if not calls and any(one.tools for one in exchanges):
        return ErrorMode.OMITTED
    if components.get("not_executed"):
        return ErrorMode.NOT_EXECUTED
    if calls and max(Counter(calls).values()) >= LOOP:
        return ErrorMode.LOOP
    return ErrorMode.OTHER
