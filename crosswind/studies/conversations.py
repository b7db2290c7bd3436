"""Conversations as a gateway reads them, out of a file or a store."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from crosswind.gateway.errors import nearest
from crosswind.gateway.noise.tool_view import constrain_tools
from crosswind.gateway.protocols.codec import Codec, SessionReader, codecs
from crosswind.gateway.protocols.history import HistoryStep, hide_nothing
from crosswind.gateway.protocols.json_values import as_mapping, decode, encode
from crosswind.gateway.protocols.message_format import UNPARSED, ToolResultPart
from crosswind.gateway.protocols.request import Request
from crosswind.gateway.protocols.system_prompt import find_instructions
from crosswind.gateway.protocols.tool_mapping import WrittenTools
from crosswind.injectors.cli.commands import ConfigurationError, read_file
from crosswind.injectors.conversation import Conversation, InstructionText, Item, ToolResult, UserText
from crosswind.injectors.engine.noise_type import FirstRequest, find_allowed_types, is_type_open
from crosswind.injectors.engine.plan import Assignment, Plan, Seed, make_plan
from crosswind.injectors.engine.tools import UNCONSTRAINED
from crosswind.injectors.guard.tools import ToolConstraints
from crosswind.injectors.profiles.load import Profile
from crosswind.injectors.targets import ToolClass


@dataclass(frozen=True, slots=True)
class RecordedConversation:
    """A conversation with the number of its answers; `name` keys its draws."""

    name: str
    conversation: Conversation
    turns: int
    instructions: InstructionText | None = None
    constraints: ToolConstraints = UNCONSTRAINED
    tool_classes: Mapping[str, ToolClass] = field(default_factory=dict)
    """What was declared of its tools where it was recorded."""

    @property
    def items(self) -> Sequence[Item]:
        """The texts of its messages, and the system prompt that stands before them."""
        return (*([] if self.instructions is None else [self.instructions]), *self.conversation.items)

    @property
    def first_request(self) -> FirstRequest:
        """What it began with: the texts before the policy's first message, and the tools."""
        first = list[UserText | ToolResult]()
        for item in self.conversation.items:
            # Between two requests stands at least one message of the policy.
            if first and item.ref.message - first[-1].ref.message > 1:
                break
            first.append(item)
        return FirstRequest(replace(self.conversation, items=tuple(first)), self.instructions)

    def make_plan(
        self,
        profile: Profile,
        seed: Seed,
        dose: Assignment,
        tool_classes: Sequence[Mapping[str, ToolClass]] = (),
    ) -> Plan:
        """The plan of a session with it, whose noise type its first request may choose."""

        def plan_for(noise_type: str | None, allowed: tuple[str, ...] | None = None) -> Plan:
            given = replace(dose, noise_type=noise_type, allowed_types=allowed)
            return make_plan(profile, seed, given, tool_classes=tool_classes)

        if not is_type_open(profile, dose):
            return plan_for(dose.noise_type)
        return plan_for(None, find_allowed_types(profile, plan_for, self.first_request))

    @classmethod
    def of_request(
        cls, name: str, codec: Codec, request: Request, turns: int | None = None
    ) -> RecordedConversation:
        """The conversation of a request. `turns`: how often it was answered, if its history doesn't say."""
        prompt, mapping = find_instructions(request, codec.system_member), codec.tool_mapping
        raw = request.split.document.raw("tools")
        return cls(
            name,
            request.conversation,
            len(find_answers(request.steps)) if turns is None else turns,
            prompt.item if prompt is not None else None,
            constrain_tools(mapping, request, raw, WrittenTools())
            if mapping is not None and raw is not None
            else UNCONSTRAINED,
        )


def tools_in(conversations: Iterable[RecordedConversation]) -> list[str]:
    """The tools that are declared or called in the conversations."""
    names: list[str] = []
    for one in conversations:
        names += (tool.name for tool in one.conversation.tools)
        names += (item.call.name for item in one.conversation.items if isinstance(item, ToolResult))
    return list(dict.fromkeys(names))


def find_answers(steps: Sequence[HistoryStep]) -> list[int]:
    """The indices of the messages with which the policy's answers begin."""
    found, answering = [], False
    for index, step in enumerate(steps):
        read = step.parsed
        if read.calls or read.own_text is not None:
            if not answering:
                found.append(index)
            answering = True
        elif read.parts or read.is_user:
            answering = False
    return found


def read_conversation(path: Path) -> tuple[Codec, Request]:
    """The conversation in a JSON file: a list of messages, or a request's body. Nothing in it names its
    protocol: it is the one that finds the most in it."""
    try:
        document = json.loads(read_file(path))
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path}: not JSON: {error}; give a JSON file of messages") from error
    tools = document.get("tools") if isinstance(document, dict) else None
    if not isinstance(tools or [], list):
        raise ConfigurationError(f"{path}: `tools` is no list, but {type(tools).__name__}")
    spoken = [codec for codec in codecs().values() if codec.tool_mapping is not None]
    readings = [(codec, request) for codec in spoken if (request := _read_as(codec, document)) is not None]
    if not readings:
        members = " or ".join(sorted({f"`{codec.history_member}`" for codec in spoken}))
        raise ConfigurationError(f"{path}: expected a list of messages, or an object with one as {members}")
    codec, request = max(readings, key=lambda reading: _count_findings(*reading))
    if not request.steps:
        raise ConfigurationError(f"{path}: there is no message; {_FIX}")
    for index, step in enumerate(request.steps):
        if problem := _find_problem(step):
            raise ConfigurationError(f"{path}: {codec.history_member}[{index}]{problem}")
    return codec, request


_ROLES = ("assistant", "developer", "function", "system", "tool", "user")
_FIX = 'write {"role": "user", "content": "…"}, say'


def _find_problem(step: HistoryStep) -> str:
    """What is wrong with a message; empty where nothing is."""
    message = as_mapping(read_message(step))
    role, content = message.get("role"), message.get("content")
    if role is None and step.parsed is not UNPARSED:
        return ""
    if role is None:
        return f" has no `role`: {_FIX}"
    if role not in _ROLES:
        return f".role: {role!r:.60} is no role; {nearest(str(role), _ROLES)}"
    if not isinstance(content, str | list) and (content is not None or role == "user"):
        return f".content: {content!r:.60} is neither a text nor a list of parts; {_FIX}"
    return ""


def read_message(step: HistoryStep) -> Any:
    """A message as its client wrote it."""
    return decode(step.raw[step.lead :])


def _read_as(codec: Codec, document: Any) -> Request | None:
    """The document as a body of the protocol, if it can be one."""
    body = {codec.history_member: document} if isinstance(document, list) else as_mapping(document)
    split = codec.split(encode(body)) if codec.history_member in body else None
    return None if split is None else codec.read(split, SessionReader(codec), hide_nothing)


def _count_findings(codec: Codec, request: Request) -> int:
    """How much of a body is said in this protocol's own way."""
    found = len(request.conversation.tools) + (codec.system_member in request.split.document.members)
    for step in request.steps:
        results = sum(isinstance(part, ToolResultPart) for part in step.parsed.parts)
        found += len(step.parsed.calls) + results + (results < len(step.parsed.parts))
    return found
