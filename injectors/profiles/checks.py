"""Check what a profile's types can't: that levels rise, that operators exist, and that every rule can act.

A rule can't act if its schedule is never due, or if the bounds or the guard would withhold it each time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from itertools import pairwise

from pydantic import TypeAdapter, ValidationError

from crosswind.injectors import registry
from crosswind.injectors.conversation import Site
from crosswind.injectors.guard.bounds import DEFAULT, NO_NUMBER, holds_boolean
from crosswind.injectors.guard.tool_classes import classify, find_declared, may_fault
from crosswind.injectors.operator import Registered
from crosswind.injectors.packs.load import OWN, load_all
from crosswind.injectors.packs.parts import OPERATORS
from crosswind.injectors.profiles.errors import InvalidField, refuse_if
from crosswind.injectors.profiles.located_yaml import Path
from crosswind.injectors.profiles.model import Companion, Compose, Profile, Rule
from crosswind.injectors.profiles.schedule import When
from crosswind.injectors.targets import Recovery, ToolClass
from crosswind.injectors.wording import all_written_forms


def check_profile(profile: Profile) -> Profile:
    """Return the profile with globs expanded and operators under their public names. InvalidField."""
    _check_levels(profile)
    _check_bounds(profile)
    if profile.tools:
        check_tools(profile, profile.tools)
    rules: list[Rule] = []
    for at, rule in enumerate(profile.rules):
        names = _check_rule(profile, rule, ("rules", at))
        companions = tuple(
            companion.model_copy(update={"operator": name})
            for number, companion in enumerate(rule.companions)
            for name in _check_rule(profile, companion, ("rules", at, "with", number))
        )
        rules += [rule.model_copy(update={"operator": name, "companions": companions}) for name in names]
    return profile.model_copy(update={"rules": tuple(rules)})


def check_tools(profile: Profile, tools: Sequence[str]) -> None:
    """InvalidField where the profile names a tool, or a pattern of tools, that isn't among these."""
    for pattern, path in _named_tools(profile):
        if not any(fnmatchcase(tool, pattern) for tool in tools):
            raise InvalidField(path, pattern, f"no such tool; {registry.nearest(pattern, list(tools))}")


def _named_tools(profile: Profile) -> Iterator[tuple[str, Path]]:
    yield from ((name, ("tool_classes", name)) for name in profile.tool_classes)
    for at, rule in enumerate(profile.rules):
        companions = [(("rules", at, "with", number), one) for number, one in enumerate(rule.companions)]
        for path, one in ((("rules", at), rule), *companions):
            for number, pattern in enumerate(one.where.tools):
                yield pattern, (*path, "where", "tools", number)
            if one.when.after_tool:
                yield one.when.after_tool, (*path, "when", "after_tool")


def _check_levels(profile: Profile) -> None:
    levels = profile.levels
    if levels and levels[0] != 0.0:
        raise InvalidField(("levels", 0), levels[0], "level 0 is clean: make the first level 0.0")
    for at, (lower, upper) in enumerate(pairwise(levels), start=1):
        fix = f"severity rises with the level: make it at least {lower}"
        refuse_if(upper < lower, ("levels", at), upper, fix)
    if profile.level is not None and profile.level >= max(1, len(levels)):
        raise InvalidField(("level",), profile.level, f"there are {len(levels)} levels: choose one, from 0")


def _check_bounds(profile: Profile) -> None:
    """Refuse a bound that can never be reached because of another; a default gives way silently."""
    bounds = profile.bounds
    for part, whole in (
        ("faults_per_call", "faults_per_session"),
        ("faults_per_session", "events_per_session"),
        ("events_per_tool", "events_per_session"),
    ):
        bound, most = getattr(bounds, part) or 0, getattr(bounds, whole)
        unreachable = bound > most and bound != getattr(DEFAULT, part)
        refuse_if(unreachable, ("bounds", part), bound, _more_than(whole, most))


def _more_than(whole: str, most: int) -> str:
    return f"more than `{whole}` allows, which is {most}: lower it, or raise that"


def _check_rule(profile: Profile, rule: Companion, path: Path) -> list[str]:
    """Check one rule, and return the public names of the operators that it stands for."""
    fix = "give the rule a severity, or the profile `levels`"
    refuse_if(rule.severity is None and not profile.levels, (*path, "severity"), None, fix)
    if isinstance(rule, Rule) and rule.weight != 1.0 and profile.compose is not Compose.ONE_OF:
        fix = "weights count only with `compose: one_of`: remove it"
        raise InvalidField((*path, "weight"), rule.weight, fix)
    _check_when(profile, rule.when, (*path, "when"))
    names = _resolve(rule, (*path, "operator"))
    entries = [registry.operators()[name] for name in names]
    knows_calls = all(entry.site in (Site.USER_TEXT, Site.TOOL_RESULT) for entry in entries)
    fix = "only rules on users' texts and tools' results know what was called before: remove it"
    after_tool = rule.when.after_tool
    refuse_if(bool(after_tool) and not knows_calls, (*path, "when", "after_tool"), after_tool, fix)
    unwritten = bool(rule.prompt) and all_written_forms().keys().isdisjoint(names)
    refuse_if(unwritten, (*path, "prompt"), rule.prompt, "no model writes for this operator: remove it")
    for entry in entries:
        _check_options(entry, rule, (*path, "options"))
    if rule.entries:
        _check_entries(names, rule, (*path, "entries"))
    mark = rule.where.observation
    misplaced = bool(mark) and not all(_keeps_results(entry) for entry in entries)
    fix = "only what adds to tools' results, as `state.*` does, acts on observations: remove it"
    refuse_if(misplaced, (*path, "where", "observation"), mark, fix)
    if rule.severity != 0 and all(entry.fault for entry in entries):
        _check_fault(profile, rule, entries, (*path, "severity"))
    return names


def _check_when(profile: Profile, when: When, path: Path) -> None:
    if when.burst and when.burst.enter + when.burst.leave > 1:
        chances = round(when.burst.enter + when.burst.leave, 3)
        raise InvalidField((*path, "burst"), chances, "`enter` and `leave` add up to 1 at most: lower one")
    for name, value in (("stage", when.stage), ("during", when.during)):
        misplaced = value is not None and profile.compose is Compose.SEQUENCE
        refuse_if(misplaced, (*path, name), str(value), "`sequence` sets the stages: remove it")
    if when.during is not None:
        during, where = list(when.during), (*path, "during")
        refuse_if(when.stage is not None, where, during, "a stage is given, too: keep one of the two")
        refuse_if(during[0] >= during[1], where, during, "it ends before it begins: swap the two")
    for condition, number, other in _never_due(when):
        raise InvalidField((*path, condition), number, f"never due together with {other}: remove one")
    most = profile.bounds.events_per_session
    too_many = when.at_most is not None and when.at_most > most
    refuse_if(too_many, (*path, "at_most"), when.at_most, _more_than("events_per_session", most))


def _never_due(when: When) -> Iterator[tuple[str, int | None, str]]:
    """The conditions, with their values, that never hold on the one occasion that another one names."""
    number = 1 if when.first_call else when.nth
    if number is None:
        return
    other = "`first_call`" if when.first_call else f"`nth: {number}`"
    if when.nth not in (None, number):
        yield "nth", when.nth, other
    if when.every is not None and number % when.every:
        yield "every", when.every, other
    if when.from_nth is not None and number < when.from_nth:
        yield "from_nth", when.from_nth, other
    if when.regime is not None and (number - 1) // when.regime % 2 == 0:
        yield "regime", when.regime, other


def _resolve(rule: Companion, path: Path) -> list[str]:
    if "*" not in rule.operator:
        try:
            return [registry.resolve(rule.operator).name]
        except registry.UnknownOperatorError as error:
            fix = str(error).partition("; ")[2]
            raise InvalidField(path, rule.operator, f"unknown operator; {fix}") from error
    # What rewrites instructions is for simulated users' sessions: it has to be named.
    operators = sorted(registry.operators().items())
    offered = [name for name, entry in operators if entry.site is not Site.INSTRUCTIONS]
    matched = [name for name in offered if fnmatchcase(name, rule.operator)]
    refuse_if(not matched, path, rule.operator, "the pattern matches no operator: widen it")
    return matched


def _check_options(entry: Registered, rule: Companion, path: Path) -> None:
    for option, value in rule.options.items():
        if option not in entry.options:
            known = list(entry.options)
            fix = registry.nearest(option, known) if known else f"{entry.name} has none: remove it"
            raise InvalidField((*path, option), None, f"unknown option of {entry.name}; {fix}")
        try:
            made = TypeAdapter(type(entry.implementation)).validate_python({option: value})
        except ValidationError as error:
            message = error.errors(include_url=False)[0]["msg"]
            fix = f"is wrong: {message[:1].lower()}{message[1:]}"
            raise InvalidField((*path, option), value, fix) from error
        as_number = holds_boolean(value) and not holds_boolean(getattr(made, option))
        refuse_if(as_number, (*path, option), value, f"is wrong: {NO_NUMBER}")


def _check_entries(names: Sequence[str], rule: Companion, path: Path) -> None:
    """Refuse names that no entry has which these operators draw."""
    drawing = [name for name in names if name in OPERATORS]
    fix = "this operator draws no entries of phrase packs: remove it"
    refuse_if(not drawing, path, None, fix)
    fix = "observations draw from all entries: remove it"
    refuse_if(bool(rule.where.observation), path, None, fix)
    known = [
        f"{pack.name}#{entry.id}"
        for pack in load_all()
        for entry in pack.entries
        if entry.operator in drawing
    ]
    globs: list[str] = []
    for name in rule.entries:
        named = [one for one in known if fnmatchcase(one, name)]
        if not named:
            near = get_close_matches(name, known, n=1) or known[:1]
            read = "the shipped packs" if OWN.folder is None else f"packs {str(OWN.folder)!r}"
            fix = (
                f"this operator draws no such entry of {read}: name one as {near[0]!r} is named, or give the "
                "folder that has it, by --packs or as `packs` in the gateway's configuration"
            )
            raise InvalidField((*path, name), None, fix)
        if name not in named:
            before = [one for one in globs if all(fnmatchcase(each, one) for each in named)]
            fix = f"it never counts, since {before[0]!r} stands before it: write it first" if before else ""
            refuse_if(bool(before), (*path, name), None, fix)
            globs.append(name)


def _keeps_results(entry: Registered) -> bool:
    return entry.site is Site.TOOL_RESULT and not entry.fault and entry.recovery is Recovery.IGNORE


def _check_fault(profile: Profile, rule: Companion, entries: list[Registered], path: Path) -> None:
    """Refuse faults that the guard would withhold each time."""
    bounds = profile.bounds
    fix = "the guard allows no faults under these bounds: raise them, or remove the rule"
    refuse_if(0 in (bounds.faults_per_call, bounds.faults_per_session), path, rule.severity, fix)
    if not all(entry.site is Site.TOOL_RESULT for entry in entries):
        return
    named = [name for name in rule.where.tools if not set("*?[") & set(name)]
    table = {name: kind.value for name, kind in profile.tool_classes.items()}
    kinds = {name: classify(name, table) for name in named}
    # What a name leaves open, the tool's schema or the configuration may still settle.
    given = {name for name in named if find_declared(name, table) is not None}
    refused = [
        name
        for name, kind in kinds.items()
        if not may_fault(kind, profile.assume_tools) and (kind is not ToolClass.UNKNOWN or name in given)
    ]
    if refused and len(refused) == len(rule.where.tools):
        fix = (
            f"the guard allows no fault on {refused[0]}, of class {kinds[refused[0]].value}: "
            "give its class under `tool_classes`, or say `assume_tools: replayable`"
        )
        raise InvalidField(path, rule.severity, fix)
