"""Choose a session's noise type among those that its first request allows.

Where noise acts at the first place that it has (`at_least_one`), a session is to have such a place. What it
says first and the tools that it declares show for most types whether it has: those that they allow are drawn
from by their weights. A session whose plan is made before that is known keeps the type that it was assigned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from crosswind.injectors.conversation import Conversation, InstructionText, Site, ToolResult, UserText
from crosswind.injectors.engine.messages import perturb_instructions, perturb_messages
from crosswind.injectors.engine.plan import NOISY, ActiveRule, Assignment, Plan
from crosswind.injectors.engine.tools import perturb_tools
from crosswind.injectors.guard.tool_classes import permit
from crosswind.injectors.profiles.load import Compose, Profile


@dataclass(frozen=True, slots=True)
class FirstRequest:
    """What a session begins with: its user's texts and its tools, and the system prompt."""

    conversation: Conversation
    instructions: InstructionText | None = None


def is_type_open(profile: Profile, dose: Assignment) -> bool:
    """Whether a session's type is to be chosen among those that its first request allows."""
    must = dose.at_least_one or profile.at_least_one or all(one.when.at_least_one for one in profile.rules)
    open_ = profile.compose is Compose.ONE_OF and dose.arm == NOISY and dose.noise_type is None
    return must and open_ and len(profile.types) > 1


def find_allowed_types(
    profile: Profile, plan_for: Callable[[str], Plan], first: FirstRequest
) -> tuple[str, ...]:
    """The types of the profile that have a place in a session that begins so, in the profile's order.

    `plan_for` gives the session's plan under a type. Types of third parties aren't tried, and count as
    allowed. Pure.
    """
    return tuple(name for name in profile.types if _is_allowed(plan_for(name), name, first))


def _is_allowed(plan: Plan, name: str, first: FirstRequest) -> bool:
    rules = [active for ours in plan.rules_by_site.values() for active in ours.values()]
    return any(_has_place(plan, active, first) for active in rules if active.rule.operator == name)


def _has_place(plan: Plan, active: ActiveRule, first: FirstRequest) -> bool:
    site, conversation = active.site, first.conversation
    if active.entry.origin or site in (Site.TRANSPORT, Site.MODEL_RESPONSE):
        return True
    if site is Site.TOOL_RESULT:
        return _may_meet_results(plan, active, conversation)
    alone = replace(plan, rules=(active.rule,))
    if site is Site.TOOL_SCHEMA:
        return bool(perturb_tools(alone, conversation.tools).decisions)
    if site is Site.INSTRUCTIONS:
        new = None if first.instructions is None else perturb_instructions(alone, first.instructions, {})[1]
        return new is not None and bool(new.decisions)
    said = tuple(item for item in conversation.items if isinstance(item, UserText))
    found = perturb_messages(alone, replace(conversation, items=said), {})
    return any(new.decisions for new in found.new)


def _may_meet_results(plan: Plan, active: ActiveRule, conversation: Conversation) -> bool:
    """Whether results are to be expected that the rule may act on: of a tool in its scope whose class allows
    it.
    """
    called = {item.call.name for item in conversation.items if isinstance(item, ToolResult)}
    for name in {tool.name for tool in conversation.tools} | called:
        if active.rule.tools and not any(fnmatchcase(name, pattern) for pattern in active.rule.tools):
            continue
        permission = permit(active.entry.effect, plan.class_of(name, conversation.tools), plan.assume_tools)
        if permission.allowed and not permission.if_read_elsewhere:
            return True
    return False
