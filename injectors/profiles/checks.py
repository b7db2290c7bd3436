"""What a profile's types can't say of it: that levels rise, that operators exist, that schedules fit."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import pairwise

from pydantic import TypeAdapter, ValidationError

from crosswind.injectors import registry
from crosswind.injectors.conversation import Site
from crosswind.injectors.numbers import NO_NUMBER, holds_boolean
from crosswind.injectors.profiles.errors import Trouble
from crosswind.injectors.profiles.model import Companion, Compose, Profile, Rule
from crosswind.injectors.profiles.sense import check_caps, check_rule, check_tools
from crosswind.injectors.wording import written_forms

Where = tuple[str | int, ...]


def checked(profile: Profile) -> Profile:
    """The profile with operators under their public names and globs expanded. Trouble where it can't be."""
    _check_levels(profile)
    check_caps(profile)
    if profile.tools:
        check_tools(profile, profile.tools)
    rules: list[Rule] = []
    for at, rule in enumerate(profile.rules):
        _check_rule(profile, rule, ("rules", at))
        companions = [
            one
            for number, companion in enumerate(rule.companions)
            for one in _companions(profile, companion, ("rules", at, "with", number))
        ]
        update = {"companions": tuple(companions)}
        names = _matched(profile, rule, ("rules", at))
        rules.extend(rule.model_copy(update={"operator": name, **update}) for name in names)
    return profile.model_copy(update={"rules": tuple(rules)})


def _companions(profile: Profile, companion: Companion, where: Where) -> Iterator[Companion]:
    _check_rule(profile, companion, where)
    for name in _matched(profile, companion, where):
        yield companion.model_copy(update={"operator": name})


def _check_levels(profile: Profile) -> None:
    levels = profile.levels
    if levels and levels[0] != 0.0:
        raise Trouble(("levels", 0), levels[0], "level 0 is clean: make the first level 0.0")
    for at, (lower, upper) in enumerate(pairwise(levels), start=1):
        if upper < lower:
            raise Trouble(("levels", at), upper, f"severity rises with the level: make it at least {lower}")
    if profile.level is not None and profile.level >= max(1, len(levels)):
        raise Trouble(("level",), profile.level, f"there are {len(levels)} levels: choose one, from 0")


def _check_rule(profile: Profile, rule: Companion, where: Where) -> None:
    if rule.severity is None and not profile.levels:
        raise Trouble((*where, "severity"), None, "give the rule a severity, or the profile `levels`")
    if isinstance(rule, Rule) and rule.weight != 1.0 and profile.compose is not Compose.ONE_OF:
        raise Trouble((*where, "weight"), rule.weight, "weights count only with `compose: one_of`: remove it")
    burst, stage, during = rule.when.burst, rule.when.stage, rule.when.during
    if burst and burst.enter + burst.leave > 1:
        chances = round(burst.enter + burst.leave, 3)
        raise Trouble(
            (*where, "when", "burst"), chances, "`enter` and `leave` add up to 1 at most: lower one"
        )
    for name, value in (("stage", stage), ("during", during)):
        if value is not None and profile.compose is Compose.SEQUENCE:
            raise Trouble((*where, "when", name), str(value), "`sequence` sets the stages: remove it")
    if stage is not None and during is not None:
        raise Trouble((*where, "when", "during"), list(during), "a stage is given, too: keep one of the two")
    if during is not None and during[0] >= during[1]:
        raise Trouble((*where, "when", "during"), list(during), "it ends before it begins: swap the two")


def _matched(profile: Profile, rule: Companion, where: Where) -> list[str]:
    """The public names of the operators that the rule stands for."""
    if "*" in rule.operator:
        # What rewrites instructions is for simulated users' sessions: it has to be named.
        operators = sorted(registry.operators().items())
        offered = [name for name, entry in operators if entry.site is not Site.INSTRUCTIONS]
        matched = [name for name in offered if fnmatchcase(name, rule.operator)]
        if not matched:
            raise Trouble((*where, "operator"), rule.operator, "the pattern matches no operator: widen it")
    else:
        try:
            matched = [registry.resolve(rule.operator).name]
        except registry.UnknownOperatorError as error:
            mend = str(error).partition("; ")[2]
            raise Trouble((*where, "operator"), rule.operator, f"unknown operator; {mend}") from error
    if rule.when.after_tool and not all(_knows_calls(name) for name in matched):
        mend = "only rules on users' texts and tools' results know what was called before: remove it"
        raise Trouble((*where, "when", "after_tool"), rule.when.after_tool, mend)
    if rule.prompt and not any(name in written_forms() for name in matched):
        mend = "no model writes for this operator: remove it"
        raise Trouble((*where, "prompt"), rule.prompt, mend)
    for name in matched if rule.options else ():
        _check_options(name, rule, (*where, "options"))
    check_rule(profile, rule, matched, where)
    return matched


def _check_options(name: str, rule: Companion, where: Where) -> None:
    entry = registry.operators()[name]
    for option, value in rule.options.items():
        if option not in entry.options:
            known = list(entry.options)
            mend = registry.nearest(option, known) if known else f"{name} has none: remove it"
            raise Trouble((*where, option), None, f"unknown option of {name}; {mend}")
        try:
            made = TypeAdapter(type(entry.implementation)).validate_python({option: value})
        except ValidationError as error:
            message = error.errors(include_url=False)[0]["msg"]
            raise Trouble((*where, option), value, f"is wrong: {message[:1].lower()}{message[1:]}") from error
        if holds_boolean(value) and not holds_boolean(getattr(made, option)):
            raise Trouble((*where, option), value, f"is wrong: {NO_NUMBER}")


def _knows_calls(name: str) -> bool:
    return registry.operators()[name].site in (Site.USER_TEXT, Site.TOOL_RESULT)
