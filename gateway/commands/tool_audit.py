"""Which tools of an MCP server are safe to re-issue: each is called twice, with reads of the state around.

The answer to the first call is dropped once it has come, so that the call was carried out. A client whose
answer was cut after the commit is in the same place: it re-issues the call under a new id. The state after
one delivery is the control that the state after two is compared with.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from crosswind.gateway.columns import find_width
from crosswind.gateway.commands.mcp_client import Answer, McpClient, McpError
from crosswind.gateway.control_characters import escape_control_characters
from crosswind.gateway.errors import nearest
from crosswind.gateway.tools.mcp_results import ToolResultView, read_members
from crosswind.gateway.tools.safety import Safety, assess
from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.engine.plan import Seed, make_plan
from crosswind.injectors.profiles.load import load
from crosswind.injectors.profiles.located_yaml import (
    LocatedYaml,
    YamlSyntaxError,
    find_cycle,
    find_foreign,
)
from crosswind.injectors.targets import ToolClass

_LONGEST_MESSAGE = 120


class Verdict(StrEnum):
    """What a second delivery of a call does."""

    SAFE = "safe"
    UNSAFE = "unsafe: applied twice"
    REFUSED = "refused: the server noticed"
    UNSTABLE = "unknown: reads differ by themselves"
    UNSEEN = "unknown: reads show no effect"
    FAILED = "unknown: the call failed"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Call(_Strict):
    """A call of a tool."""

    tool: str = Field(min_length=1)
    arguments: dict[str, Any] = {}

    def describe(self) -> str:
        return f"{self.tool} {json.dumps(self.arguments, ensure_ascii=False)}"


class AuditedCall(Call):
    """A call to deliver twice, and the reads that show what it does."""

    reads: tuple[Call, ...] = Field(min_length=1)


class CallsError(ValueError):
    """The file of calls can't be used. The message says why, and the fix."""


def read_calls(path: Path) -> list[AuditedCall]:
    """The calls of a file, in YAML or, by its name, in JSON lines. Raises CallsError."""
    try:
        text = path.read_text("utf-8")
        if path.suffix == ".jsonl":
            entries = [json.loads(line) for line in text.splitlines() if line.strip()]
        else:
            entries = _read_yaml(path, text)
    except (OSError, ValueError) as error:
        raise CallsError(f"{path} can't be read: {' '.join(str(error).split())}") from None
    if not isinstance(entries, list) or not entries:
        raise CallsError(f"{path}: write a list of calls, each with `tool`, `arguments` and `reads`")
    try:
        return TypeAdapter(list[AuditedCall]).validate_python(entries)
    except ValidationError as error:
        first = error.errors()[0]
        at, *field = first["loc"]
        where = ".".join(map(str, field))
        number = int(at) + 1
        if first["type"] == "missing" and where == "reads":
            first["msg"] = (
                "write the reads that show what the call changes, or of a tool that only reads itself"
            )
        raise CallsError(f"{path}: call {number}{f', {where}' if where else ''}: {first['msg']}") from None


def _read_yaml(path: Path, text: str) -> Any:
    """The document, which can be sent as JSON. Raises CallsError."""
    try:
        document = LocatedYaml(text)
    except YamlSyntaxError as error:
        raise CallsError(f"{path}:{error.line}: not valid YAML: {error}; fix the syntax there") from None
    if (cycle := find_cycle(document.data)) is not None:
        raise CallsError(f"{path}:{document.line(cycle)}: it holds itself; write out what is meant")
    if (foreign := find_foreign(document.data)) is not None:
        at, value = foreign
        raise CallsError(
            f"{path}:{document.line(at)}: {value}: YAML reads it as {type(value).__name__}, "
            "which JSON doesn't have there; quote it"
        )
    return document.data


@dataclass(frozen=True, slots=True)
class AuditedTool:
    """A tool with its verdict, and what was seen."""

    call: AuditedCall
    safety: Safety
    verdict: Verdict
    seen: str

    def lines(self) -> Iterator[str]:
        yield escape_control_characters(f"{self.call.tool}: {self.verdict.value}")
        known = f"class {self.safety.tool_class.value}, by {self.safety.origin.value}"
        for text in (self.seen, known):
            yield from textwrap.wrap(
                escape_control_characters(text), find_width(), initial_indent="  ", subsequent_indent="  "
            )

    def as_json(self) -> Mapping[str, Any]:
        return {
            "tool": self.call.tool,
            "arguments": self.call.arguments,
            "reads": [one.model_dump() for one in self.call.reads],
            "class": self.safety.tool_class,
            "origin": self.safety.origin,
            "verdict": self.verdict,
            "seen": self.seen,
        }


def write_text(audited: Sequence[AuditedTool]) -> str:
    """Each tool with its verdict, and below that what was seen."""
    return "\n".join(line for one in audited for line in one.lines())


def audit(calls: Sequence[AuditedCall], connect: Callable[[], McpClient]) -> Iterator[AuditedTool]:
    """Audit each call over a connection of its own: a server over stdio is restarted for each.

    Nothing is called unless the server has all tools that are named. Raises CallsError and McpError.
    """
    with connect() as client:
        schemas = list(client.tools())
    names = [one.name for one in schemas]
    for one in calls:
        for tool in (one.tool, *(read.tool for read in one.reads)):
            if tool not in names:
                raise CallsError(f"the server has no tool {tool!r}: {nearest(tool, names)}")
    for one in calls:
        safety = _assess(one.tool, schemas)
        try:
            with connect() as client:
                verdict, seen = _deliver_twice(client, one, safety)
        except McpError as error:
            verdict, seen = Verdict.FAILED, str(error)
        yield AuditedTool(one, safety, verdict, seen)


def _assess(tool: str, schemas: Sequence[ToolSchema]) -> Safety:
    return assess(make_plan(load("off"), Seed(0, "audit", "session")), tool, schemas)


class _UnstableError(Exception):
    """Two reads in a row differ. The message names the read."""


def _deliver_twice(client: McpClient, one: AuditedCall, safety: Safety) -> tuple[Verdict, str]:
    try:
        before = _read_state(client, one.reads)
        if (failure := _failure(_call(client, one))) is not None:
            return Verdict.FAILED, failure
        control = _read_state(client, one.reads)
        failure = _failure(_call(client, one))
        after = _read_state(client, one.reads)
    except _UnstableError as unstable:
        return Verdict.UNSTABLE, str(unstable)
    effect, more = _changed(one.reads, before, control), _changed(one.reads, control, after)
    return _judge(effect, more, failure, safety)


def _judge(effect: str, more: str, failure: str | None, safety: Safety) -> tuple[Verdict, str]:
    """`effect`, `more`: what the first delivery changed, and the second. `failure`: the second's."""
    if more:
        error = f"; it answered: {failure}" if failure is not None else ""
        return Verdict.UNSAFE, f"the second delivery changed {more}{error}"
    if failure is not None:
        return Verdict.REFUSED, failure
    if effect:
        return Verdict.SAFE, f"the first delivery changed {effect}, the second nothing"
    if safety.tool_class is ToolClass.READ_ONLY:
        return Verdict.SAFE, "it only reads"
    return Verdict.UNSEEN, "choose reads or arguments with which the first delivery changes something"


def _read_state(client: McpClient, reads: Sequence[Call]) -> list[object]:
    """What the reads show; each is made twice, since a clock or a counter in a result says nothing."""
    first, second = ([_content(_call(client, read)) for read in reads] for _ in range(2))
    if differing := _changed(reads, first, second):
        raise _UnstableError(f"{differing} gave two results in a row without a call in between")
    return first


def _changed(reads: Sequence[Call], earlier: Sequence[object], later: Sequence[object]) -> str:
    pairs = zip(reads, earlier, later, strict=True)
    return ", ".join(dict.fromkeys(read.tool for read, one, other in pairs if one != other))


def _call(client: McpClient, call: Call) -> Answer:
    return client.ask("tools/call", {"name": call.tool, "arguments": call.arguments})


def _content(answer: Answer) -> object:
    """What an answer shows. An error is a state as well: a file that isn't there."""
    if answer.result is None:
        return answer.error
    result = json.loads(answer.result)
    return [result.get(name) for name in ("content", "structuredContent", "isError")]


def _failure(answer: Answer) -> str | None:
    """Why a call was not carried out, or None. Raises McpError where the answer is no tool's result."""
    if answer.result is None:
        return _shorten(answer.error)
    members = read_members(answer.result)
    if bytes(members.get("resultType", b'"complete"')) != b'"complete"':
        return f"the answer is {bytes(members['resultType']).decode()}, which an audit doesn't continue"
    try:
        view = ToolResultView.read(members)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise McpError(f"the answer is no tool's result ({error})") from None
    return (_shorten(" ".join(view.texts)) or "an error without a text") if view.error else None


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_MESSAGE else f"{line[: _LONGEST_MESSAGE - 1]}…"
