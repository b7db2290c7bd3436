"""The tool leg of one session: which call it is, what noise does to it, and what became of it.

It knows no protocol: a call has a tool and arguments, a result has texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from crosswind.gateway.tools.allowance import UNLIMITED, Allowance
from crosswind.gateway.tools.events import CALL, OUTSIDE_TURNS, Outcome, ToolEvent, of_injection
from crosswind.gateway.tools.failures import Failure, after_delivery, answering, before_delivery, failure_of
from crosswind.gateway.tools.safety import METHODS, Safety, assess
from crosswind.gateway.trajectory.record import WIRE, Event
from crosswind.injectors import registry
from crosswind.injectors.conversation import Site, ToolList
from crosswind.injectors.engine.call_log import CallAttempt, CallLog
from crosswind.injectors.engine.calls import CallNoise, NoisyText
from crosswind.injectors.engine.decision import Injection
from crosswind.injectors.engine.faults import FaultMemory, LinkDecision, decide_faults
from crosswind.injectors.engine.plan import Plan
from crosswind.injectors.faults import Close, Resend
from crosswind.injectors.guard.solvability import SPENT

NO_TOOLS = ToolList()
SHOWN = "shown"
"""The member of a draw that tells how calls of the tools that it put on a list map to the server's."""
NO_OPT_IN = "the call would be repeated or lost after it took effect, and `may_repeat` doesn't name its tool"
TOO_SHORT = "Withheld: the stream had no event for it to act on."


class Begun(msgspec.Struct, frozen=True):
    """What happens to a call before it is delivered."""

    call: CallAttempt
    safety: Safety
    wait_s: float = 0.0
    failure: Failure | None = None
    """The call isn't delivered; the client gets this. It is settled."""
    copies: int = 0
    """How often it is delivered besides; those answers are dropped."""
    tried: frozenset[str] = frozenset()
    """The rules that had their say."""
    later: tuple[LinkDecision, ...] = ()
    """The link's faults that act on the answer."""


class Finished(msgspec.Struct, frozen=True):
    """What happens to a call's result. The call is settled."""

    texts: tuple[str | None, ...]
    """In place of the result's texts; None: as it was."""
    destroyed: bool = False
    wait_s: float = 0.0
    failure: Failure | None = None
    """The call was carried out, and the client gets this in place of its result."""
    sent: bytes = b""
    """Of the answer's body, before the link is closed."""


Accept = Callable[[str], str | None]


class ToolLeg:
    """The tool traffic of one session, over whatever links it comes.

    `leg_id` makes the ids of events unique: a process has one of its own. `may_repeat` are globs of tools
    whose calls may be delivered twice, and cut after they were carried out.
    """

    def __init__(
        self,
        plan: Plan,
        session: str,
        leg_id: str,
        *,
        may_repeat: Sequence[str] = (),
        enabled: bool = True,
        allowance: Allowance = UNLIMITED,
    ) -> None:
        self.plan = plan
        self.session = session
        self.enabled = enabled
        """False: no new noise (the kill switch). Calls are still told apart and recorded."""
        self.tools: dict[str, ToolList] = {}
        """By link, the tools as the server declares them."""
        self.may_repeat: dict[str, tuple[str, ...]] = {}
        """By link, more of them."""
        self.shown: dict[str, list[Mapping[str, Any]]] = {}
        """By link, what an earlier process told of the tools on the lists that it showed."""
        self._leg_id = leg_id
        self._may_repeat = tuple(may_repeat)
        self._log = CallLog()
        self.allowance = allowance
        self._noise = CallNoise(plan, count_left=allowance.count_left)
        self._memory: FaultMemory = {}
        self._met = 0
        self._spent = 0
        self._events: list[ToolEvent] = []
        self._numbered = 0
        self._last_us = 0
        self._begun: dict[str, tuple[int, dict[str, str]]] = {}
        """By attempt, when it began and its trace context."""

    @property
    def calls(self) -> int:
        """The logical calls so far: what schedules take for the turn."""
        return self._log.calls

    @property
    def has_events(self) -> bool:
        return bool(self._events)

    def tools_of(self, link: str) -> ToolList:
        return self.tools.get(link, NO_TOOLS)

    def assess(self, link: str, tool: str, method: str | None = None) -> Safety:
        opted = (*self._may_repeat, *self.may_repeat.get(link, ()))
        return assess(self.plan, tool, self.tools_of(link), may_repeat=opted, method=method)

    def drain(self) -> list[ToolEvent]:
        """The events since the last time."""
        events, self._events = self._events, []
        return events

    def resume(self, record: Iterable[Event]) -> None:
        """Go on from the session's record, by its events in the order of time: a call made again after a
        restart is another attempt, and what noise may still do is less by what it did.
        """
        known = registry.operators()
        for one in record:
            if one.turn_index != OUTSIDE_TURNS or not one.anchor.startswith(WIRE):
                continue
            tool, link = one.tool or "", str(one.draw.get("link", ""))
            if one.operator == CALL and one.logical_call is not None:
                order = int(one.draw.get("order", 0))
                answered = one.draw.get("outcome") in (Outcome.ANSWERED, Outcome.INSIDE)
                self._log.resume(link, tool, one.logical_call, order, one.attempt, answered=answered)
            elif one.after is not None:
                fault = one.operator in known and known[one.operator].fault
                if one.site == Site.TRANSPORT.value:
                    self._met += 1
                    self._spent += fault
                    self._noise.faults[one.logical_call or ""] += fault
                else:
                    self._noise.resume(one.operator, tool, one.logical_call, fault=fault)
                if isinstance(shown := one.draw.get(SHOWN), Mapping):
                    self.shown.setdefault(link, []).append(shown)

    def begin(
        self,
        link: str,
        tool: str,
        arguments: str,
        now_us: int,
        *,
        method: str | None = None,
        streaming: bool = False,
        spare: bool = False,
        trace: str | None = None,
    ) -> Begun:
        """A call has come. `arguments` is JSON text; `method` the HTTP method, if it has one. `streaming`:
        the answer is a stream. `spare`: it gets no noise. `trace`: the client's W3C trace context, if the
        call carries one.
        """
        told = None if method is None else METHODS.get(method.upper())
        call = msgspec.structs.replace(self._log.begin(link, tool, arguments), told_class=told)
        self._begun[call.anchor] = now_us, {} if trace is None else {"traceparent": trace}
        safety = self.assess(link, tool, method)
        if spare or not self.enabled or not self.plan.rules:
            return Begun(call, safety)
        faults = self._decide_link(call, safety, streaming, now_us)
        wait_s, copies, failure = before_delivery(faults)
        tried = frozenset[str]()
        if failure is None:
            noisy = self._noise.fail_before(call, self.tools_of(link), call.index)
            self._record(call, noisy, now_us)
            tried = frozenset(one.decision.rule for one in noisy.injections)
            failure = None if noisy.text is None else failure_of(noisy)
        if failure is not None:
            self.end(call, Outcome.INJECTED, now_us)
            return Begun(call, safety, wait_s, failure)
        copies = copies if safety.may_repeat else 0
        return Begun(call, safety, wait_s, None, copies, tried, answering(faults))

    def finish(
        self,
        begun: Begun,
        texts: Sequence[str],
        now_us: int,
        *,
        body: bytes = b"",
        error: bool = False,
        whole: bool = True,
        accept: Accept = lambda _: None,
    ) -> Finished:
        """A call's result has come. `texts` are its texts, `body` the bytes of the answer, for faults of the
        link. `error`: the tool reports an error of its own, and is left alone. `whole`: it has nothing
        besides these texts. `accept` says why the result may not have a text, or None.
        """
        call = begun.call
        if error:
            self.end(call, Outcome.TOOL_ERROR, now_us)
            return Finished((None,) * len(texts))
        wait_s, failure, sent = after_delivery(begun.later, body)
        tools = self.tools_of(call.link)
        if failure is not None:
            self.end(call, Outcome.INJECTED, now_us)
            return Finished((None,) * len(texts), True, wait_s, failure, sent)
        alone = whole and len(texts) == 1
        noisy = [NoisyText()] * len(texts)
        if self.enabled and self.plan.rules:
            for part, text in enumerate(texts):
                noisy[part] = self._noise.change_result(
                    call, tools, call.index, text, part, alone=alone, accept=accept, tried=begun.tried
                )
                self._record(call, noisy[part], now_us)
        self._noise.learn(call, "\n".join(texts), tools)
        destroyed = any(one.destroyed for one in noisy)
        self.end(call, Outcome.INJECTED if destroyed else Outcome.ANSWERED, now_us)
        return Finished(tuple(one.text for one in noisy), destroyed, wait_s)

    def change_event(
        self, begun: Begun, number: int, text: str, now_us: int, *, accept: Accept = lambda _: None
    ) -> str | None:
        """What noise makes of the text of an event of a result that comes as a stream; None: as it was."""
        if not self.enabled or not self.plan.rules:
            return None
        call = begun.call
        noisy = self._noise.change_result(
            call,
            self.tools_of(call.link),
            call.index,
            text,
            number,
            alone=False,
            accept=accept,
            tried=begun.tried,
        )
        self._record(call, noisy, now_us)
        return noisy.text

    def decide_stream(self, begun: Begun) -> list[LinkDecision]:
        """The faults on the events of an answer that turned out to be a stream. `add_stream_fault` records
        what becomes of each.
        """
        if not self.enabled or not self.plan.rules:
            return []
        done = {one.decision.operator for one in begun.later}
        decided = self._ask_link(begun.call, begun.safety, streaming=True)
        acting = [one for one in decided if one.fault is not None and one.fault.where == "stream"]
        return [one for one in acting if one.decision.operator not in done]

    def add_stream_fault(self, begun: Begun, one: LinkDecision, now_us: int, *, acted: bool) -> None:
        """Record a fault on the events of a stream: it acts, or it found no event to act on."""
        self._add_link(
            begun.call, begun.safety, one if acted else one._replace(fault=None, note=TOO_SHORT), now_us
        )

    def end(self, call: CallAttempt, outcome: Outcome, now_us: int) -> None:
        """Settle a call, and record what became of it. `begin` and `finish` do so where they answer."""
        self._log.end(call, answered=outcome in (Outcome.ANSWERED, Outcome.INSIDE))
        began, trace = self._begun.pop(call.anchor, (now_us, {}))
        recovered = call.attempt > 0 and outcome is Outcome.ANSWERED
        self._events.append(
            ToolEvent(
                id=self._next_id(),
                session=self.session,
                at_us=self._stamp(now_us),
                link=call.link,
                tool=call.tool,
                anchor=call.anchor,
                operator=CALL,
                note=_describe(call, outcome, recovered=recovered),
                tool_class=self._noise.class_of(call, self.tools_of(call.link)).value,
                logical_call=call.logical_call,
                order=call.order,
                attempt=call.attempt,
                draw={
                    "outcome": outcome.value,
                    "recovered": recovered,
                    "us": max(0, now_us - began),
                    **trace,
                },
            )
        )

    def add_injections(self, link: str, injections: Iterable[Injection], now_us: int) -> None:
        """Record what noise did to the list of tools."""
        for one in injections:
            self._events.append(of_injection(self._next_id(), self.session, self._stamp(now_us), link, one))
            self._noise.events += one.after is not None

    def _decide_link(
        self, call: CallAttempt, safety: Safety, streaming: bool, now_us: int
    ) -> list[LinkDecision]:
        decided = self._ask_link(call, safety, streaming=streaming)
        for one in decided:
            self._add_link(call, safety, one, now_us)
        return [one for one in decided if one.fault is not None]

    def _ask_link(self, call: CallAttempt, safety: Safety, *, streaming: bool) -> list[LinkDecision]:
        decided = decide_faults(
            self.plan,
            link=call.link,
            turn=call.number,
            attempt=call.attempt,
            streaming=streaming,
            spent=self._spent,
            met=self._met,
            memory=self._memory,
            opted_in=safety.may_repeat,
        )
        left = self.allowance.count_left()
        found = []
        for drawn in decided:
            one = _keep_safe(drawn, safety)
            if one.fault is not None and left is not None:
                if left == 0:
                    one = LinkDecision(one.decision, None, f"Withheld: {SPENT}.")
                else:
                    left -= 1
            found.append(one)
        return found

    def _add_link(self, call: CallAttempt, safety: Safety, one: LinkDecision, now_us: int) -> None:
        """Record and count what an operator does to the link."""
        decision, fault, note = one
        after = None if fault is None else msgspec.json.encode(fault.settings()).decode()
        self._add(call, Injection(decision, "", after, note, call.tool, safety.tool_class.value), now_us)
        if fault is not None:
            self._met += 1
            if decision.fault:
                self._spent += 1
                self._noise.faults[call.logical_call] += 1

    def _record(self, call: CallAttempt, noisy: NoisyText, now_us: int) -> None:
        self._noise.count(call, noisy)
        for one in noisy.injections:
            self._add(call, one, now_us)

    def _add(self, call: CallAttempt, one: Injection, now_us: int) -> None:
        if one.after is not None:
            self.allowance.take(1)
        self._events.append(
            of_injection(self._next_id(), self.session, self._stamp(now_us), call.link, one, call)
        )

    def _stamp(self, now_us: int) -> int:
        """The time of an event: later than all before it, since events are told in the order of time."""
        self._last_us = max(now_us, self._last_us + 1)
        return self._last_us

    def _next_id(self) -> str:
        self._numbered += 1
        return f"{self._leg_id}-{self._numbered}"


def _keep_safe(one: LinkDecision, safety: Safety) -> LinkDecision:
    """The decision, without a fault that would repeat a call, or lose what it did, where nobody opted in.
    Operators of ours draw none; this holds third parties' to the same.
    """
    fault = one.fault
    if fault is None or safety.may_repeat:
        return one
    if fault.where == "request":
        repeats = any(isinstance(action, Resend) for action in fault.before_request())
    else:
        closes = (isinstance(action, Close) for action in fault.before_answer())
        repeats = one.decision.fault or (fault.where == "response" and any(closes))
    return LinkDecision(one.decision, None, f"Withheld: {NO_OPT_IN}.") if repeats else one


_TOLD: Mapping[Outcome, str] = {
    Outcome.ANSWERED: "The call of {tool} was answered",
    Outcome.INJECTED: "The call of {tool} got no true result, because of noise",
    Outcome.TOOL_ERROR: "The call of {tool} failed by the tool's own doing",
    Outcome.CANCELLED: "The client gave the call of {tool} up",
    Outcome.UNANSWERED: "The link ended before the call of {tool} was answered",
    Outcome.INSIDE: "The call of {tool} was answered in its place",
}


def _describe(call: CallAttempt, outcome: Outcome, *, recovered: bool) -> str:
    said = _TOLD[outcome].format(tool=call.tool)
    which = " when it was made again" if call.attempt else ""
    return f"{said}{which}{': recovered' if recovered else ''}."
