"""What a tool does to the world, with where that is known from, and what the operator lets happen to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from fnmatch import fnmatchcase

import msgspec

from crosswind.injectors.conversation import ToolList, ToolSchema
from crosswind.injectors.engine.plan import Plan
from crosswind.injectors.guard.tool_classes import classify, explain_writing, find_declared
from crosswind.injectors.targets import ToolClass


class Origin(StrEnum):
    """Where a tool's class is known from."""

    DECLARED = "declared"
    """A table of the session, the configuration or the profile."""
    ANNOTATIONS = "annotations"
    """The server's annotations of the tool."""
    METHOD = "method"
    """The HTTP method of the request."""
    WORDING = "wording"
    """The tool's name, description and parameters."""
    NOTHING = "nothing"


class Safety(msgspec.Struct, frozen=True):
    """What noise has to know of a tool."""

    tool_class: ToolClass
    origin: Origin
    may_repeat: bool
    """Whether the operator opted in: a call may be delivered twice, and cut after it was carried out."""
    evidence: str = ""
    """What says that the tool writes, where its wording or its annotations do."""


METHODS = {
    **dict.fromkeys(("GET", "HEAD", "OPTIONS"), ToolClass.READ_ONLY),
    **dict.fromkeys(("PUT", "DELETE"), ToolClass.IDEMPOTENT),
}
"""By RFC 9110. The other methods tell nothing."""


def assess(
    plan: Plan,
    tool: str,
    tools: Sequence[ToolSchema] = (),
    *,
    may_repeat: Sequence[str] = (),
    method: str | None = None,
) -> Safety:
    """The safety of a tool. `method`: that of its HTTP request, where it has one."""
    opted = any(fnmatchcase(tool, pattern) for pattern in may_repeat)
    if (declared := find_declared(tool, plan.tool_classes)) is not None:
        return Safety(declared, Origin.DECLARED, opted)
    if method is not None and (by_method := METHODS.get(method.upper())) is not None:
        return Safety(by_method, Origin.METHOD, opted)
    found = classify(tool, None, ToolList(tools))
    unhinted = classify(tool, None, ToolList(replace(one, hints=None) for one in tools))
    if found is not unhinted:
        return Safety(found, Origin.ANNOTATIONS, opted)
    if found is ToolClass.UNKNOWN:
        return Safety(found, Origin.NOTHING, opted)
    evidence = explain_writing(tool, tools) if found is ToolClass.DESTRUCTIVE else ""
    return Safety(found, Origin.WORDING, opted, evidence)
