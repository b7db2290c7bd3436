"""Faults of the link on the events of one tool call's answer, which comes as a stream."""

from __future__ import annotations

from crosswind.gateway.clock import now_us
from crosswind.gateway.noise.fault_runner import Faults
from crosswind.gateway.tools.leg import Begun, ToolLeg
from crosswind.injectors.faults import Action, Close, Send, StreamEvent


class StreamFaults:
    """What becomes of each event. A fault is told to the leg when it first acts; one that finds no event to
    act on is said to have done nothing.
    """

    def __init__(self, leg: ToolLeg, begun: Begun) -> None:
        self._leg, self._begun = leg, begun
        self._decided = leg.decide_stream(begun)
        self._faults = Faults.of(self._decided)
        self._met: set[str] = set()
        self._number = 0

    def will_close(self, raw: bytes) -> bool:
        """Whether a fault closes the connection at the next event."""
        passed = self._faults.pass_event(StreamEvent(raw, self._number))
        return any(isinstance(one, Close) for one in passed.actions)

    def pass_event(self, raw: bytes) -> list[Action]:
        """How the next event is passed on."""
        if not self._faults:
            return [Send(raw)]
        passed = self._faults.pass_event(StreamEvent(raw, self._number))
        self._number += 1
        if new := passed.acting - self._met:
            self._note(new, acted=True)
        return passed.actions

    def end(self) -> None:
        """No further event comes."""
        self._note({one.decision.operator for one in self._decided} - self._met, acted=False)

    def _note(self, operators: set[str], *, acted: bool) -> None:
        self._met |= operators
        for one in self._decided:
            if one.decision.operator in operators:
                self._leg.add_stream_fault(self._begun, one, now_us(), acted=acted)
