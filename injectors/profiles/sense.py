"""What a profile says that can't come about: caps that contradict one another, schedules that are never due,
and doses that the guard would withdraw each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from crosswind.injectors import registry
from crosswind.injectors.conversation import Site
from crosswind.injectors.guard.bounds import DEFAULT
from crosswind.injectors.guard.tool_classes import classify, may_fault
from crosswind.injectors.operator import Registered
from crosswind.injectors.profiles.errors import Trouble
from crosswind.injectors.profiles.model import Companion, Profile
from crosswind.injectors.profiles.schedule import When
from crosswind.injectors.registry import nearest
from crosswind.injectors.targets import Recovery

Where = tuple[str | int, ...]


def check_caps(profile: Profile) -> None:
    """Trouble where one cap can never be reached because of another; a default gives way silently."""
    bounds = profile.bounds
    pairs = (
        ("faults_per_call", bounds.faults_per_call, "faults_per_session", bounds.faults_per_session),
        ("faults_per_session", bounds.faults_per_session, "events_per_session", bounds.events_per_session),
        ("events_per_tool", bounds.events_per_tool or 0, "events_per_session", bounds.events_per_session),
    )
    for part, cap, whole, most in pairs:
        if cap > most and cap != getattr(DEFAULT, part):
            mend = f"more than `{whole}` allows, which is {most}: lower it, or raise that"
            raise Trouble(("bounds", part), cap, mend)


def check_tools(profile: Profile, tools: Sequence[str]) -> None:
    """Trouble where the profile names a tool, or a pattern of tools, that isn't among these."""
    for name in profile.tool_classes:
        _check_tool(name, tools, ("tool_classes", name))
    for at, rule in enumerate(profile.rules):
        for where, one in (
            (("rules", at), rule),
            *((("rules", at, "with", number), one) for number, one in enumerate(rule.companions)),
        ):
            for number, pattern in enumerate(one.where.tools):
                _check_tool(pattern, tools, (*where, "where", "tools", number))
            if one.when.after_tool:
                _check_tool(one.when.after_tool, tools, (*where, "when", "after_tool"))


def _check_tool(pattern: str, tools: Sequence[str], where: Where) -> None:
    if not any(fnmatchcase(tool, pattern) for tool in tools):
        raise Trouble(where, pattern, f"no such tool; {nearest(pattern, list(tools))}")


def check_rule(profile: Profile, rule: Companion, operators: list[str], where: Where) -> None:
    """Trouble where the rule can never act on anything."""
    never = _never_due(rule.when)
    if never is not None:
        raise Trouble((*where, "when", never[0]), never[1], f"never due together with {never[2]}: remove one")
    at_most = rule.when.at_most
    if at_most is not None and at_most > profile.bounds.events_per_session:
        most = profile.bounds.events_per_session
        mend = f"more than `events_per_session` allows, which is {most}: lower it, or raise that"
        raise Trouble((*where, "when", "at_most"), at_most, mend)
    entries = [registry.operators()[name] for name in operators]
    if rule.where.observation and not all(_keeps_results(entry) for entry in entries):
        mend = "only what adds to tools' results, as `state.*` does, acts on observations: remove it"
        raise Trouble((*where, "where", "observation"), rule.where.observation, mend)
    if rule.severity == 0:
        return
    if not entries or not all(entry.fault for entry in entries):
        return
    if profile.bounds.faults_per_call == 0 or profile.bounds.faults_per_session == 0:
        mend = "the guard allows no faults under these bounds: raise them, or remove the rule"
        raise Trouble((*where, "severity"), rule.severity, mend)
    if all(entry.site is Site.TOOL_RESULT for entry in entries):
        _check_classes(profile, rule, where)


def _keeps_results(entry: Registered) -> bool:
    ours = entry.site is Site.TOOL_RESULT and not entry.fault
    return ours and entry.recovery is Recovery.IGNORE


def _check_classes(profile: Profile, rule: Companion, where: Where) -> None:
    """A fault on tools that change the world, and on no others, is withdrawn each time."""
    named = [name for name in rule.where.tools if not set("*?[") & set(name)]
    table = {name: kind.value for name, kind in profile.tool_classes.items()}
    kinds = {name: classify(name, table) for name in named}
    refused = [name for name, kind in kinds.items() if not may_fault(kind, profile.assume_tools)]
    if refused and len(refused) == len(rule.where.tools):
        mend = (
            f"the guard allows no fault on {refused[0]}, of class {kinds[refused[0]].value}: "
            "give its class under `tool_classes`, or say `assume_tools: replayable`"
        )
        raise Trouble((*where, "severity"), rule.severity, mend)


def _never_due(when: When) -> tuple[str, object, str] | None:
    """A condition, its value, and the other one with which it is never due; None where it can be."""
    number = 1 if when.first_call else when.nth
    if when.first_call and when.nth not in (None, 1):
        return "nth", when.nth, "`first_call`"
    if number is None:
        return None
    told = "`first_call`" if when.first_call else f"`nth: {number}`"
    if when.every is not None and number % when.every:
        return "every", when.every, told
    if when.from_nth is not None and number < when.from_nth:
        return "from_nth", when.from_nth, told
    if when.regime is not None and (number - 1) // when.regime % 2 == 0:
        return "regime", when.regime, told
    return None
