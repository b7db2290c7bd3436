"""Answers of a model that come out wrong, or that end too early."""

from __future__ import annotations

from dataclasses import replace

from crosswind.injectors.conversation import Site
from crosswind.injectors.faults import (
    Action,
    AnswerContent,
    AnswerEdit,
    Close,
    Count,
    Fault,
    Send,
    Share,
    StreamEvent,
)
from crosswind.injectors.operator import operator
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, ModelTarget, Recovery, Result
from crosswind.injectors.text.graphemes import shorten


class LengthCutFault(AnswerEdit):
    """The text ends after this share of it, as at the token limit."""

    kind = "length_cut"
    keep: Share

    def edit(self, answer: AnswerContent) -> AnswerContent | None:
        if not answer.text:
            return None
        return AnswerContent(shorten(answer.text, self.keep), (), cut_short=True)


@operator(
    "model.length_cut",
    site=Site.MODEL_RESPONSE,
    recovery=Recovery.RETRY,
    source="beyond the papers; the finish reason `length` of providers of models",
    effect=Effect.TRUNCATES,
)
class LengthCut:
    """The answer's text ends in its middle, with the finish reason of the token limit; its calls are lost.

    Severity: the probability that an answer is cut so. Between a fifth and four fifths of the text come. An
    answer without text is left alone.
    """

    def draw(self, target: ModelTarget, rng: SeededRandom, severity: float) -> Draw | None:
        cut, keep = rng.chance(severity), rng.uniform(0.2, 0.8)
        return {"keep": round(keep, 3)} if cut else None

    def apply(self, target: ModelTarget, draw: Draw) -> Result:
        return Result(LengthCutFault(**draw), f"The answer ended after {draw['keep']:.0%} of its text.")


class MalformedArgumentsFault(AnswerEdit):
    """The arguments of one call end after this share of them. `pick` chooses the call."""

    kind = "malformed_arguments"
    pick: Share
    keep: Share

    def edit(self, answer: AnswerContent) -> AnswerContent | None:
        if (call := answer.call_at(self.pick)) is None:
            return None
        return answer.with_call(call, arguments=shorten(call.arguments, self.keep))


@operator(
    "model.malformed_arguments",
    site=Site.MODEL_RESPONSE,
    recovery=Recovery.RETRY,
    source="beyond the papers; calls that don't parse, as users of agent frameworks report them",
    effect=Effect.REPLACES,
)
class MalformedArguments:
    """The arguments of one of the answer's calls end in their middle.

    Severity: the probability that an answer is damaged so. Between a fifth and nine tenths of the arguments
    come; an answer without a call is left alone.
    """

    def draw(self, target: ModelTarget, rng: SeededRandom, severity: float) -> Draw | None:
        damaged, pick, keep = rng.chance(severity), rng.uniform(), rng.uniform(0.2, 0.9)
        return {"pick": round(pick, 3), "keep": round(keep, 3)} if damaged else None

    def apply(self, target: ModelTarget, draw: Draw) -> Result:
        return Result(MalformedArgumentsFault(**draw), "The arguments of a tool call ended in their middle.")


SUFFIXES = ("_v2", "_tool", "_function", "_call")
"""What models add to a name that they misremember."""


class UnknownToolFault(AnswerEdit):
    """The name of one call has this suffix. `pick` chooses the call."""

    kind = "unknown_tool"
    pick: Share
    suffix: str

    def edit(self, answer: AnswerContent) -> AnswerContent | None:
        if (call := answer.call_at(self.pick)) is None:
            return None
        return answer.with_call(call, name=call.name + self.suffix)


@operator(
    "model.unknown_tool",
    site=Site.MODEL_RESPONSE,
    recovery=Recovery.RETRY,
    source="beyond the papers; calls of tools that don't exist, as users of agent frameworks report them",
    effect=Effect.REPLACES,
)
class UnknownTool:
    """One of the answer's calls names a tool that isn't there: its name has a suffix too many.

    Severity: the probability that an answer is damaged so. An answer without a call is left alone.
    """

    def draw(self, target: ModelTarget, rng: SeededRandom, severity: float) -> Draw | None:
        damaged, pick, suffix = rng.chance(severity), rng.uniform(), rng.choice(SUFFIXES)
        return {"pick": round(pick, 3), "suffix": suffix} if damaged else None

    def apply(self, target: ModelTarget, draw: Draw) -> Result:
        return Result(UnknownToolFault(**draw), f"A tool call had the suffix {draw['suffix']} on its name.")


class DuplicatedCallIdFault(AnswerEdit):
    """All calls that may be made again have the id of the first of them."""

    kind = "duplicated_call_id"

    def edit(self, answer: AnswerContent) -> AnswerContent | None:
        # A client that keeps results by id loses all but one of those that share it.
        ids = [call.call_id for call in answer.calls if call.repeatable]
        if len(ids) < 2:
            return None
        changed = (replace(call, call_id=ids[0]) if call.repeatable else call for call in answer.calls)
        return replace(answer, calls=tuple(changed))


@operator(
    "model.duplicated_call_id",
    site=Site.MODEL_RESPONSE,
    recovery=Recovery.RETRY,
    source="beyond the papers; repeated tool-call ids, as some OpenAI-compatible servers give them",
    effect=Effect.REPLACES,
)
class DuplicatedCallId:
    """Calls of the answer have one id: all whose tools only read or are idempotent.

    Severity: the probability that an answer is damaged so. A client may keep one result for the calls of one
    id, so calls of other tools keep theirs. An answer with fewer than two calls to change is left alone.
    """

    def draw(self, target: ModelTarget, rng: SeededRandom, severity: float) -> Draw | None:
        return {"edit": "duplicated_call_id"} if rng.chance(severity) else None

    def apply(self, target: ModelTarget, draw: Draw) -> Result:
        return Result(DuplicatedCallIdFault(), "The calls of the answer that may be made again had one id.")


class StreamCutFault(Fault):
    """The stream ends after so many events with content, without its end mark."""

    kind = "stream_cut"
    where = "after"
    after_events: Count

    def pass_event(self, event: StreamEvent) -> tuple[Action]:
        return (Send(event.raw) if event.contents <= self.after_events else Close("end"),)


@operator(
    "model.stream_cut",
    site=Site.MODEL_RESPONSE,
    recovery=Recovery.RETRY,
    source="beyond the papers; streams without an end, as users of agent frameworks report them",
    effect=Effect.TRUNCATES,
)
class StreamCut:
    """A stream ends after some events with content, without finish reason and end mark.

    Severity: the probability that a stream is cut so. One to twelve events with content come; a shorter
    stream is left alone.
    """

    def draw(self, target: ModelTarget, rng: SeededRandom, severity: float) -> Draw | None:
        cut, events = rng.chance(severity), rng.integer(1, 12)
        return {"after_events": events} if cut and target.streaming else None

    def apply(self, target: ModelTarget, draw: Draw) -> Result:
        note = f"The stream ended after {draw['after_events']} events with content."
        return Result(StreamCutFault(**draw), note)
