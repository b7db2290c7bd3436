"""Play a recorded session's agent side under the plan of another profile, as far as the recording answers.

A recorded answer holds as long as the policy would have been sent the same body, and the answer would have
arrived the same. The first turn where that isn't so is the last one that can be computed: what the policy
would have answered, and what the agent would have asked then, is not recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crosswind.gateway.protocols.codec import codec_named
from crosswind.gateway.sessions.profiles import FAULT_SITES
from crosswind.gateway.sessions.session import LiveSession, Opening, TypeChoice
from crosswind.gateway.sessions.tool_legs import LABEL, find_served
from crosswind.gateway.sessions.turns import TurnPosition
from crosswind.gateway.trajectory.fitness import Source
from crosswind.gateway.trajectory.ledger_rows import Shown
from crosswind.gateway.trajectory.record import WIRE, Event, Trajectory, Turn
from crosswind.injectors.conversation import Site, ToolResult
from crosswind.injectors.engine.noise_type import is_type_open
from crosswind.injectors.engine.plan import NOISY, Assignment, Plan
from crosswind.injectors.profiles.model import Profile
from crosswind.injectors.targets import Recovery, ToolClass
from crosswind.injectors.text.languages import UNABLE
from crosswind.studies.replay.recompute import RecordedTexts, ReplayedTurn, is_sampled, replay_turn
from crosswind.studies.stored_requests import read_stored_request

_OTHER = {
    Site.INSTRUCTIONS: "another system prompt",
    Site.USER_TEXT: "another user text",
    Site.TOOL_RESULT: "another tool result",
    Site.TOOL_SCHEMA: "other tools",
}


@dataclass(frozen=True, slots=True)
class CounterfactualTurn:
    """A recorded turn under the other noise: what is decided otherwise than in the recording."""

    turn: Turn
    injected: tuple[Event, ...] = ()
    """What the other noise injects, and the recording doesn't have."""
    withheld: tuple[Event, ...] = ()
    """What it draws and withholds, and the recording doesn't have."""
    recorded: tuple[Event, ...] = ()
    """What was injected into the recording, and isn't now."""
    ends: str | None = None
    """Why the recording doesn't answer this turn; None: it does."""


def make_other_session(found: Trajectory, profile: Profile, seed: int | None) -> LiveSession:
    """The session as it would have been opened under another profile, before its first turn. `seed`: in the
    place of its own. ValueError where the session's plan can't be read.
    """
    was = Plan.from_json(found.session.plan)
    declared = {name: ToolClass(kind) for name, kind in was.tool_classes.items()}
    opening = Opening(
        found.session,
        profile.name,
        was.seed if seed is None else seed,
        was.scope_key,
        scope=was.scope,
        phrases=was.phrases,
        assume_replayable=was.assume_tools != "declared",
        tool_classes=(declared,),
    )
    dose = Assignment(NOISY)
    choice = TypeChoice(profile, opening, dose)
    plan = choice.make_plan()
    live = LiveSession(found.session, plan, unwritten=True)
    live.type_choice = choice if plan.rules and is_type_open(profile, dose) else None
    live.mark(noise_stopped=False)
    return live


def play(live: LiveSession, found: Trajectory, shown: Sequence[Shown]) -> Iterator[CounterfactualTurn]:
    """The recorded turns in their order, up to the first one that the recording doesn't answer.

    Of the ledger's rows, `shown`, only calls that the client never got are used.
    """
    events: dict[tuple[int, int], list[Event]] = {}
    for event in found.events:
        events.setdefault((event.turn_index, event.attempt), []).append(event)
    whole = {
        turn.index
        for turn in found.turns
        if turn.produced is not None and not _find_spoiling(events.get((turn.index, turn.attempt), ()))
    }
    legs = _Legs(live, found)
    texts = RecordedTexts(found.events) or None
    answered = -1
    for turn in sorted(found.turns, key=lambda turn: (turn.index, turn.attempt)):
        if turn.index == answered:
            # Nobody would have asked again; what the answer brought is needed by later requests.
            read_stored_request(live, turn)
            continue
        replayed = replay_turn(live, turn, texts)
        now = _compare(replayed, events.get((turn.index, turn.attempt), ()))
        ends = legs.find_end(turn) or _find_end(now, replayed, retried=turn.index in whole)
        yield CounterfactualTurn(turn, now.injected, now.withheld, now.recorded, ends)
        if ends is not None:
            return
        if _find_spoiling(now.recorded):
            answered = turn.index
        elif turn.error is not None and turn.error.source is Source.INJECTED:
            live.turns.mark_destroyed(TurnPosition(turn.index, turn.attempt))
        live.ledger.learn(row for row in shown if row.turn_index == turn.index and is_sampled(row, turn))


def _compare(replayed: ReplayedTurn, recorded: Sequence[Event]) -> CounterfactualTurn:
    """What is decided otherwise than in the recording. A fault that had no place there has none now."""
    known = {(one.slot, one.anchor, one.after) for one in recorded}
    unable = {one.slot for one in recorded if one.site in FAULT_SITES and UNABLE in one.draw}
    new = [
        one
        for one in replayed.events
        if one.slot and one.slot not in unable and (one.slot, one.anchor, one.after) not in known
    ]
    now = {(one.slot, one.anchor, one.after) for one in replayed.events}
    return CounterfactualTurn(
        replayed.turn,
        tuple(one for one in new if one.after is not None),
        tuple(one for one in new if one.after is None),
        tuple(
            one for one in recorded if one.after is not None and (one.slot, one.anchor, one.after) not in now
        ),
    )


def _find_end(now: CounterfactualTurn, replayed: ReplayedTurn, *, retried: bool) -> str | None:
    """Why the recording doesn't answer a turn. `retried`: one of its attempts, which have the same
    prompt, was answered as it should be."""
    if replayed.why_not is not None:
        return replayed.why_not
    if not replayed.same:
        sites = {Site(one.site) for one in (*now.injected, *now.recorded)}
        others = [other for site, other in _OTHER.items() if site in sites]
        return f"the recorded answer was to {' and '.join(others) or 'another request'}"
    if spoiling := _find_spoiling(now.injected):
        return f"{spoiling} spoils the recorded answer"
    if (spoiling := _find_spoiling(now.recorded)) and not retried:
        return f"{spoiling} spoiled the recorded answer"
    return None


def _find_spoiling(events: Sequence[Event]) -> str | None:
    """The first operator of these whose fault changes what of the answer arrives, not only when."""
    return next((one.operator for one in events if _is_spoiling(one)), None)


def _is_spoiling(event: Event) -> bool:
    acted = event.site in FAULT_SITES and event.after is not None
    return acted and event.recovery != Recovery.NONE_NEEDED


class _Legs:
    """The tools that tool legs served: their noise acts before the agent has a result, and isn't played."""

    def __init__(self, live: LiveSession, found: Trajectory) -> None:
        was = Plan.from_json(found.session.plan)
        same = (was.rules, was.seed) == (live.plan.rules, live.plan.seed)
        injected = any(one.anchor.startswith(WIRE) and one.after is not None for one in found.events)
        noisy = injected or Site.TOOL_RESULT in live.plan.rules_by_site
        self._concerned = (
            noisy and not same and any(label.startswith(LABEL) for label in found.session.labels)
        )
        self._session = LiveSession(found.session, was)

    def find_end(self, turn: Turn) -> str | None:
        """Why a turn's answer depends on other noise on a tool leg."""
        if not self._concerned or codec_named(turn.protocol) is None:
            return None
        read = read_stored_request(self._session, turn)
        items = read[1].conversation.items if read else ()
        called = (item.call.name for item in items if isinstance(item, ToolResult))
        served = find_served(self._session.record.labels, called)
        return f"noise on the tool leg of {min(served)} isn't played again" if served else None
