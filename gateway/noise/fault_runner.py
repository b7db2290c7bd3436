"""The faults of one exchange with the model, asked for what they do to it at each point."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import NamedTuple, TypeVar

import structlog

from crosswind.gateway.http.headers import Headers
from crosswind.injectors.engine.faults import LinkDecision
from crosswind.injectors.faults import (
    Action,
    AnswerEdit,
    Close,
    Fault,
    Place,
    Reply,
    Resend,
    Send,
    StreamEvent,
    Wait,
)

_log = structlog.get_logger("crosswind.faults")
MOST_ACTIONS = 16
F = TypeVar("F", bound=Fault)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class InjectedFault:
    """A fault with the operator that injected it. `destroys`: its operator is declared to destroy answers."""

    operator: str
    fault: Fault
    destroys: bool


class PassedEvent(NamedTuple):
    """How an event of a stream is passed on."""

    actions: list[Action]
    spoiled_by: str | None
    """The operator that spoils the stream by it."""
    acting: set[str]
    """The operators whose faults do something to it."""


@dataclass(frozen=True, slots=True)
class Faults:
    """The faults of one exchange, in the order in which they act."""

    injected: tuple[InjectedFault, ...] = ()

    @staticmethod
    def of(decided: Iterable[LinkDecision]) -> Faults:
        """The faults that were decided. Those that pace an answer act last: the others see whole events."""
        acting = [
            InjectedFault(decision.operator, fault, decision.fault)
            for decision, fault, _ in decided
            if fault is not None
        ]
        return Faults(tuple(sorted(acting, key=lambda one: one.fault.paces)))

    def __bool__(self) -> bool:
        return bool(self.injected)

    def at(self, *places: Place) -> list[InjectedFault]:
        return [one for one in self.injected if one.fault.where in places]

    def first(self, kind: type[F]) -> tuple[str, F] | None:
        """The first fault of a kind, and its operator."""
        for one in self.injected:
            if isinstance(one.fault, kind):
                return one.operator, one.fault
        return None

    @property
    def in_streams_only(self) -> list[InjectedFault]:
        """The faults that act on the events of a stream."""
        return [one for one in self.at("stream", "after") if not isinstance(one.fault, AnswerEdit)]

    @property
    def on_answer(self) -> bool:
        """Whether a fault acts while the answer is passed on, for which its bytes must be readable."""
        return bool(self.at("response", "stream", "after"))

    def before_request(self) -> Iterator[tuple[str, Wait | Resend | Close | Reply]]:
        """What happens before the request is sent on, with the operator that does it."""
        for one in self.at("request"):
            for action in _ask(one, one.fault.before_request, []):
                yield one.operator, action

    def before_answer(self) -> Iterator[tuple[str, Wait | Close]]:
        """What happens once the answer has begun, with the operator that does it."""
        for one in self.at("response"):
            for action in _ask(one, one.fault.before_answer, []):
                yield one.operator, action

    def find_faults_on_body(self, body: bytes, headers: Headers) -> set[str]:
        """The operators whose faults do something to a plain answer that is passed on whole."""
        acting = self.find_faults_on_head(headers)
        for one in self.at("response"):
            actions = _pass_through(one, one.fault.pass_body, [Send(body)])
            if body and not _is_as_given(actions, [Send(body)]):
                acting.add(one.operator)
        return acting

    def find_faults_on_head(self, headers: Headers) -> set[str]:
        """The operators whose faults do something once an answer has begun."""
        return {
            one.operator
            for one in self.at("response")
            if _ask(one, one.fault.before_answer, [])
            or _ask(one, partial(one.fault.change_headers, headers), headers) != headers
        }

    def change_headers(self, headers: Headers) -> Headers:
        for one in self.at("response"):
            headers = _ask(one, partial(one.fault.change_headers, headers), headers)
        return headers

    def pass_body(self, body: bytes) -> list[Action]:
        actions: list[Action] = [Send(body)]
        for one in self.at("response"):
            actions = _pass_through(one, one.fault.pass_body, actions)
        return actions

    def pass_event(self, event: StreamEvent) -> PassedEvent:
        """How an event of a stream is passed on."""
        actions: list[Action] = [Send(event.raw)]
        spoiled_by, acting = None, set[str]()
        for one in self.at("stream", "after"):
            given, actions = actions, _pass_through(one, partial(_shape_event, one.fault, event), actions)
            if not _is_as_given(actions, given):
                acting.add(one.operator)
            closes = any(isinstance(action, Close) for action in actions)
            if closes or (one.destroys and _join_sent(actions) != _join_sent(given)):
                spoiled_by = spoiled_by or one.operator
        return PassedEvent(actions, spoiled_by, acting)


NO_FAULTS = Faults()


def _ask(
    one: InjectedFault, question: Callable[[], Iterable[T]], default: list[T], most: int = MOST_ACTIONS
) -> list[T]:
    """The fault's answer. It is its author's code, which may fail: then the exchange goes on without it."""
    try:
        found = list(islice(question(), most + 1))
        if len(found) > most:
            raise ValueError(f"more than {most} actions")
    except Exception as error:
        _log.warning("a fault failed; it is left out", operator=one.operator, error=repr(error))
        return default
    return found


def _pass_through(
    one: InjectedFault, shape: Callable[[bytes], Iterable[Action]], actions: list[Action]
) -> list[Action]:
    """The actions with all that they send shaped by one more fault."""
    out: list[Action] = []
    for action in actions:
        if isinstance(action, Send):
            # At most a piece and a wait for each byte.
            most = 2 * len(action.body) + MOST_ACTIONS
            out += _ask(one, partial(shape, action.body), [action], most)
        else:
            out.append(action)
    return out


def _shape_event(fault: Fault, event: StreamEvent, raw: bytes) -> Iterable[Action]:
    return fault.pass_event(replace(event, raw=raw))


def _is_as_given(actions: list[Action], given: list[Action]) -> bool:
    """Whether a fault left the actions as they were, but for where they are divided."""
    if actions == given:
        return True
    rest, rest_given = ([one for one in each if not isinstance(one, Send)] for each in (actions, given))
    return rest == rest_given and _join_sent(actions) == _join_sent(given)


def _join_sent(actions: list[Action]) -> bytes:
    return b"".join(action.body for action in actions if isinstance(action, Send))
