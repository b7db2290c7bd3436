"""What an agent has seen so far, read with care: which calls have a sound result, which need another try."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crosswind.simulators.environment import Message
from crosswind.simulators.retail.toolbox import Toolbox, is_refusal
from crosswind.simulators.retail.tools import Call

ATTEMPTS = 4
"""Calls of one kind and arguments before it is given up."""

_DOUBT = re.compile(
    r"error|exception|incomplete|partial|stale|truncated|uncertain|omitted|degraded|timed_?out|warnings?$"
    r"|failures|missing|unresolved|unavailable|not_?loaded|skipped|terminated|limit_?exceeded|has_?(?:more|next)"
    r"|more_?(?:results|available)|remaining|^_?next|next_?link|links$|paging|end_?cursor",
    re.IGNORECASE,
)
"""Fields by which a result says that it isn't to be relied on, or that a part of it is missing."""

_FAILED = range(400, 600)
"""The numbers by which a status says that the call failed: an order's status is a word."""

AGREEING = 4
"""Who verifies makes each read so often at once, and believes what so many of the results say: more than the
largest number of faults on one call in a built-in profile. As many as are missing are read again."""


class NextCalls(Exception):
    """Raised where a plan can't go on without these calls."""

    def __init__(self, *calls: Call) -> None:
        super().__init__(*(name for name, _ in calls))
        self.calls = calls


class GaveUp(Exception):
    """Raised where a tool failed too often; the text is the last that it said."""


@dataclass(frozen=True, slots=True)
class CallResult:
    """A call and the text that came back."""

    name: str
    arguments: Mapping[str, Any]
    text: str


class Transcript:
    """The messages of an episode as calls with their results, and the user's texts.

    Without `recovers` the first result of a call is believed, whatever it is. Who `verifies` believes no
    single result: false values don't say that they are false.
    """

    def __init__(
        self,
        user_texts: Sequence[str],
        results: Sequence[CallResult],
        toolbox: Toolbox,
        *,
        recovers: bool = True,
        verifies: bool = False,
    ) -> None:
        self.user_texts = user_texts
        self.results = results
        self.recovers = recovers
        self.verifies = verifies
        self._toolbox = toolbox

    @classmethod
    def of(
        cls,
        messages: Sequence[Message],
        tools: Sequence[Mapping[str, Any]] = (),
        *,
        recovers: bool = True,
        verifies: bool = False,
    ) -> Transcript:
        """The transcript of a conversation's messages, of which the tools were shown."""
        texts = [str(message["content"]) for message in messages if message["role"] == "user"]
        toolbox = Toolbox(tools, recovers=recovers)
        results = list(_pair_results(messages))
        return cls(texts, results, toolbox, recovers=recovers, verifies=verifies)

    def until(self, tool: str) -> Transcript:
        """The same up to the first call of that tool: the world as it was before."""
        names = self._toolbox.names(tool)
        first = next((at for at, made in enumerate(self.results) if made.name in names), None)
        results = self.results[:first]
        return Transcript(
            self.user_texts, results, self._toolbox, recovers=self.recovers, verifies=self.verifies
        )

    def read(
        self, name: str, arguments: Mapping[str, Any], *fields: str, since: int = 0
    ) -> Mapping[str, Any]:
        """The newest sound result of this call, from exchange `since` on; NextCalls where there is none."""
        call, made = self._find_call(name, arguments)
        tried = [self.results[at] for at in made if at >= since]
        results = (self._result(seen.text, arguments, fields) for seen in reversed(tried))
        sound = [found for found in results if found is not None]
        said = [[found[name] for name in fields] for found in sound]
        agreeing = [sum(_agree(mine, theirs) for theirs in said) for mine in said]
        wanted = AGREEING if self.verifies else 1
        for result, count in zip(sound, agreeing, strict=True):
            if count >= wanted:
                return result
        if len(tried) >= self._attempts:
            raise GaveUp(tried[-1].text)
        raise NextCalls(*[call] * (wanted - max(agreeing, default=0)))

    def read_all(self, calls: Sequence[Call], *fields: str) -> list[Mapping[str, Any]]:
        """`read` of several calls, which are made at once."""
        found: list[Mapping[str, Any]] = []
        missing: list[Call] = []
        for call in calls:
            try:
                found.append(self.read(*call, *fields))
            except NextCalls as following:
                missing += following.calls
        if missing:
            raise NextCalls(*missing)
        return found

    def write(
        self,
        call: Call,
        confirm: Call,
        field: str,
        value: str,
    ) -> None:
        """Return once the write took effect. After an unsound result, look before writing again."""
        next_call, tried = self._find_call(*call)
        if not tried:
            raise NextCalls(next_call)
        last = self.results[tried[-1]].text
        if not self.recovers or sound_result(last, call[1], (field,)) is not None:
            return
        if self.read(*confirm, field, since=tried[-1] + 1)[field] == value:
            return
        if len(tried) >= ATTEMPTS:
            raise GaveUp(last)
        raise NextCalls(next_call)

    @property
    def _attempts(self) -> int:
        return ATTEMPTS * (AGREEING if self.verifies else 1) if self.recovers else 1

    def _find_call(self, name: str, arguments: Mapping[str, Any]) -> tuple[Call, list[int]]:
        """The call that serves this purpose, and where it was made so far: the first that wasn't refused."""
        if not self.recovers and self.results and _is_error(self.results[-1].text):
            raise GaveUp(self.results[-1].text)
        said = ""
        for call in self._toolbox.ways(name, arguments):
            made = [at for at, seen in enumerate(self.results) if (seen.name, seen.arguments) == call]
            if not made or not is_refusal(self.results[made[-1]].text):
                return call, made
            said = self.results[made[-1]].text
        raise GaveUp(said)

    def _result(
        self, text: str, arguments: Mapping[str, Any], fields: Sequence[str]
    ) -> Mapping[str, Any] | None:
        if self.recovers:
            return sound_result(text, arguments, fields)
        return next((found for found in _objects(text) if all(name in found for name in fields)), None)


def sound_result(text: str, arguments: Mapping[str, Any], fields: Sequence[str]) -> Mapping[str, Any] | None:
    """The object in a result that has all the fields and answers this call; None if there is no such object.

    Whatever stands around the object, or in it besides the fields, is ignored.
    """
    for found in _objects(text):
        answers = all(found.get(name, value) == value for name, value in arguments.items())
        complete = all(name in found for name in fields)
        lists = [value for value in found.values() if isinstance(value, list)]
        whole = "count" not in fields or any(len(value) == found["count"] for value in lists if complete)
        if answers and complete and whole and not _in_doubt(found):
            return found
    return None


def _agree(one: Any, other: Any) -> bool:
    """Whether two results say the same, apart from fields that only one of them has."""
    if isinstance(one, dict) and isinstance(other, dict):
        return all(_agree(one[name], other[name]) for name in one.keys() & other.keys())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_agree, one, other))
    return bool(one == other)


def _in_doubt(value: Any) -> bool:
    """Whether a result says of itself that it isn't to be relied on."""
    if isinstance(value, list):
        return any(map(_in_doubt, value))
    if not isinstance(value, dict):
        return False
    doubted = any(told and _DOUBT.search(name) for name, told in value.items())
    failed = any(
        isinstance(told, int) and told in _FAILED and _is_status(name) for name, told in value.items()
    )
    return doubted or failed or any(map(_in_doubt, value.values()))


def _is_status(name: str) -> bool:
    return name.lower() in ("status", "statuscode", "code")


def _is_error(text: str) -> bool:
    """Whether a result tells of an error and of nothing else."""
    return any(set(found) <= {"error", "message"} for found in _objects(text) if "error" in found)


def _objects(text: str) -> Iterator[dict[str, Any]]:
    decoder = json.JSONDecoder()
    at = text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except ValueError:
            end = at + 1
        else:
            if isinstance(value, dict):
                yield value
        at = text.find("{", end)


def _pair_results(messages: Sequence[Message]) -> Iterator[CallResult]:
    results: dict[str, str] = {m["tool_call_id"]: str(m["content"]) for m in messages if m["role"] == "tool"}
    for message in messages:
        for call in message.get("tool_calls") or ():
            if call["id"] in results:
                function = call["function"]
                yield CallResult(function["name"], _arguments(function["arguments"]), results[call["id"]])


def _arguments(text: str) -> Mapping[str, Any]:
    """A call's arguments; none where they can't be read."""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
