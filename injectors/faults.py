"""Faults: what noise does to one exchange on a link, as values that the gateway carries out.

An operator's `apply` gives a fault. It says in pure functions what happens at each point of the exchange, and
the gateway carries out the actions that these give. So a new kind of fault is a class beside its operator, in
one file. The gateway knows by name only what each protocol words in its own way: `ProviderRefusal`,
`BlankAnswer` and `AnswerEdit`.

A fault is stored as its `settings()`, JSON data. `fault_from` reads settings back, and checks them by the
types of the fault's fields. What the model produced is recorded whole, whatever of it reaches the client.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, dataclass_transform

import msgspec
from msgspec import Meta

from crosswind.injectors.plain_data import convert

LONGEST_WAIT_S = 600.0

Milliseconds = Annotated[int, Meta(ge=0, le=600_000)] | Annotated[float, Meta(ge=0, le=600_000)]
Share = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=0)]

Place = Literal["request", "response", "stream", "instead", "after"]
"""Where a fault acts: `request`, nothing has been sent to the other side yet; `response`, the answer has
begun, and nothing of it has been passed on; `stream`, while events are passed on. On the link to a model also
`instead`, in the provider's place, and `after`, on the provider's answer.
"""

Headers = list[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait before the next action."""

    seconds: float

    def __post_init__(self) -> None:
        if not 0 <= self.seconds <= LONGEST_WAIT_S:
            raise ValueError(f"a wait of {self.seconds} s: use 0 to {LONGEST_WAIT_S:g}")


@dataclass(frozen=True, slots=True)
class Send:
    """Pass these bytes on to the client."""

    body: bytes

    def __post_init__(self) -> None:
        if not isinstance(self.body, bytes):
            raise TypeError(f"Send({self.body!r:.40}): give it bytes")


@dataclass(frozen=True, slots=True)
class Resend:
    """Send the request once more than it would be; that answer is dropped."""


@dataclass(frozen=True, slots=True)
class Close:
    """Send nothing more. `cut`: close the connection in the middle; `reset`: at once, so that even what was
    sent may be lost; `end`: end the answer as if it were complete.
    """

    how: Literal["cut", "reset", "end"] = "cut"


@dataclass(frozen=True, slots=True)
class Reply:
    """Answer with this status, and ask nobody. Without a body: with an error in the protocol's own form."""

    status: int
    body: bytes | None = None
    content_type: str = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event of a stream, with the blank line that ends it."""

    raw: bytes
    number: int
    """Of the events that came before, from 0."""
    contents: int = 0
    """How many events up to this one brought a piece of the model's answer."""


@dataclass_transform(frozen_default=True)
class Fault:
    """A kind of fault. A subclass is a frozen dataclass; its fields are JSON data, checked by their types.

    The functions are pure, bounded and without I/O: they run in the gateway's event loop. Each has the
    default that leaves the exchange alone, and is asked only where the fault acts (`where`).
    """

    kind: ClassVar[str]
    """The name under which the fault is stored; unique."""
    where: Place
    paces: ClassVar[bool] = False
    """Whether it passes everything on, in pieces. Such a fault acts after the others, which see whole events.
    """

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)
        if (kind := cls.__dict__.get("kind")) is None:
            return
        name = f"{cls.__module__}.{cls.__qualname__}"
        if (other := _kinds.get(kind)) is not None and f"{other.__module__}.{other.__qualname__}" != name:
            raise ValueError(f"fault {kind!r} exists twice: rename {name}")
        _kinds[kind] = cls

    def settings(self) -> dict[str, Any]:
        """The fault as JSON data, as it is stored."""
        if self.where == "after":
            return {"where": self.where, "edit": self.kind, **vars(self)}
        return {"kind": self.kind, "where": self.where, **vars(self)}

    def before_request(self) -> Iterable[Wait | Resend | Close | Reply]:
        """What happens in place of the request, or before it is sent on (`request`)."""
        return ()

    def before_answer(self) -> Iterable[Wait | Close]:
        """What happens once the answer has begun (`response`)."""
        return ()

    def change_headers(self, headers: Headers) -> Iterable[tuple[bytes, bytes]]:
        """The answer's headers as they are passed on (`response`)."""
        return headers

    def pass_body(self, body: bytes) -> Iterable[Wait | Send | Close]:
        """How a plain body is passed on (`response`)."""
        return (Send(body),)

    def pass_event(self, event: StreamEvent) -> Iterable[Wait | Send | Close]:
        """How an event of a stream is passed on (`stream`, `after`)."""
        return (Send(event.raw),)


Action = Wait | Send | Close
_kinds: dict[str, type[Fault]] = {}


def fault_from(settings: object) -> Fault:
    """The fault with these settings; a fault as it is. ValueError says what is wrong with them."""
    if isinstance(settings, Fault):
        return settings
    if not isinstance(settings, Mapping):
        raise ValueError(f"{type(settings).__name__} in place of a fault or its settings")
    kind = settings.get("kind") or settings.get("edit") or next(filter(settings.__contains__, _UNNAMED), None)
    found = _kinds.get(str(kind))
    if found is None:
        raise ValueError(f"a fault of kind {kind!r:.40}: use one of {', '.join(sorted(_kinds))}")
    try:
        fault = convert(settings, found)
    except (msgspec.ValidationError, TypeError) as error:
        raise ValueError(f"{dict(settings)!r:.200}: {error}") from error
    if settings.get("where") != fault.where:
        raise ValueError(
            f"`where` {settings.get('where')!r:.40} for a fault of kind {kind!r}: use {fault.where!r}"
        )
    return fault


class Delay(Fault):
    """A wait: before the request is sent on, before the answer, or before a stream's first event."""

    kind = "delay"
    where: Literal["request", "response", "stream"]
    delay_ms: Milliseconds

    def before_request(self) -> tuple[Wait]:
        return (Wait(self.delay_ms / 1000),)

    def before_answer(self) -> tuple[Wait]:
        return (Wait(self.delay_ms / 1000),)

    def pass_event(self, event: StreamEvent) -> Iterable[Action]:
        return (Send(event.raw),) if event.number else (Wait(self.delay_ms / 1000), Send(event.raw))


class ProviderRefusal(Fault):
    """An error of the provider, which isn't asked. Each protocol words those it knows (`rate_limited`,
    `overloaded`, `context_length`); any other error has the status and the code that are given.
    """

    kind = "error"
    where = "instead"
    error: str
    status: Annotated[int, Meta(ge=400, le=599)]
    code: str | None = None
    retry_after_s: Count | None = None

    def settings(self) -> dict[str, Any]:
        return {
            "where": self.where,
            **{name: value for name, value in vars(self).items() if value is not None},
        }


class BlankAnswer(Fault):
    """An answer without content, and the provider isn't asked: it ends as any other (`empty`), or as one that
    the provider's filter has stopped (`content_filter`).
    """

    kind = "answer"
    where = "instead"
    answer: Literal["empty", "content_filter"]

    def settings(self) -> dict[str, Any]:
        return {"where": self.where, "answer": self.answer}


_UNNAMED = (ProviderRefusal.kind, BlankAnswer.kind)
"""Kinds whose settings have a member of that name in place of `kind`."""


@dataclass(frozen=True, slots=True)
class AnswerCall:
    """A tool call of a model's answer."""

    call_id: str
    name: str
    arguments: str
    """JSON text, as far as it came."""
    repeatable: bool = False
    """Whether its result may be lost: its tool only reads or is idempotent, so that the call can be made
    again.
    """


@dataclass(frozen=True, slots=True)
class AnswerContent:
    """A model's answer, whatever its protocol: its last text, and its calls of tools."""

    text: str
    calls: tuple[AnswerCall, ...]
    cut_short: bool = False
    """Whether it ends after that text, as at the token limit."""

    def call_at(self, pick: float) -> AnswerCall | None:
        """The call at this share of them, in [0, 1); None where there are none."""
        return self.calls[min(int(pick * len(self.calls)), len(self.calls) - 1)] if self.calls else None

    def with_call(self, call: AnswerCall, **changes: Any) -> AnswerContent:
        """The answer with one of its calls changed."""
        changed = replace(call, **changes)
        return replace(self, calls=tuple(changed if one is call else one for one in self.calls))


class AnswerEdit(Fault):
    """A change of the model's whole answer on its way to the client."""

    where = "after"

    def edit(self, answer: AnswerContent) -> AnswerContent | None:
        """The answer as the client gets it; None where the fault doesn't apply to it."""
        raise NotImplementedError
