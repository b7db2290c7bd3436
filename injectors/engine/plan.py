"""The plan: what one session will get, fixed when the session starts.

It holds the compiled rules, so that the noise can be computed again from the plan alone, whatever becomes of
the profile it was made from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

import msgspec

from crosswind.injectors import registry
from crosswind.injectors.conversation import Site, ToolSchema
from crosswind.injectors.engine.stored_data import StoredData
from crosswind.injectors.guard.bounds import DEFAULT, Bounds
from crosswind.injectors.guard.solvability import why_solvable
from crosswind.injectors.guard.tool_classes import (
    classify,
    classify_by_first_word,
    find_declared,
    merge_tables,
)
from crosswind.injectors.identity import slot_line
from crosswind.injectors.operator import Operator, Registered
from crosswind.injectors.packs.editions import list_versions
from crosswind.injectors.profiles.load import Companion, Compose, Profile, ProfileError
from crosswind.injectors.profiles.schedule import ALWAYS, STAGES, WHOLE, When, Window
from crosswind.injectors.seeded_random import GENERATOR, SeededRandom, draw_once
from crosswind.injectors.targets import EntryWeights, Half, ToolClass

_compiled: dict[tuple[int, int | None, str | None, bool], tuple[Profile, tuple[CompiledRule, ...]]] = {}
_active: dict[int, tuple[Bounds, ActiveRule]] = {}
"""By the identity of the rule."""
_MOST_COMPILED = 256

CLEAN, NOISY = "clean", "noisy"
SCOPES = ("session", "group", "task")
"""Seed scopes: what the draws are the same for."""


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """A rule with its severity settled. `name` is unique in the plan and part of the slot's key."""

    name: str
    operator: str
    severity: float
    when: When = ALWAYS
    tools: tuple[str, ...] = ()
    """Names or globs of the tools it may touch; empty: all."""
    window: Window = WHOLE
    text: str = ""
    """A regular expression that the clean text must hold; empty: any text."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """The operator's own settings, where they aren't its defaults."""
    prompt: str = ""
    """What a model that writes for the operator is told besides."""
    observation: str = ""
    """What marks the observation in users' messages; empty: the rule acts where its operator does."""
    version: int = 1
    """The operator's, when the plan was made."""
    entries: Mapping[str, float] = field(default_factory=dict)
    """Weights of pack entries, by names or globs, where they aren't all 1."""

    def key(self, plan: Plan, place: str) -> str:
        """What the rule's hidden state is drawn by, at one site or link of the session."""
        return f"{plan.seed}|{plan.scope}|{plan.scope_key}|{self.name}|{place}"


NO_RULES: Mapping[str, ActiveRule] = MappingProxyType({})


class ActiveRule(msgspec.Struct, frozen=True, gc=False):
    """A rule of a plan with its installed operator, and all that follows from the two alone."""

    rule: CompiledRule
    entry: Registered
    operator: Operator | None
    """Ours, with the rule's options; None: each draw asks the registry's entry, since a third party's may run
    in a sandbox, and options that don't fit fail where they are used."""
    always: bool
    """Whether its schedule, the probability apart, lets it act on every occasion."""
    certain: bool
    """Whether nothing but its own draw keeps it from acting on any item of its site."""
    line: str
    """What its slots have in common (`identity.slot_on`)."""
    site: Site
    """Where it acts: the operator's own site, or users' texts where it acts on observations in these."""
    scoped: bool
    """Whether it picks among the items of its site: the occasions of all others are the same ones."""
    assurance: str
    """The sentence of an event's note that says how the task can still be solved."""
    until_exposed: When | None
    """The schedule by which it acts until it has injected once; None: always by its own."""
    entries: EntryWeights = ()
    """The rule's, as its targets' branches have them."""


@dataclass(frozen=True, slots=True)
class Seed:
    """What a session's draws follow from: they are the same for all sessions of one `key` in its `scope`."""

    number: int
    key: str
    scope: str = "session"

    def __post_init__(self) -> None:
        if self.scope not in SCOPES:
            raise ValueError(f"seed scope {self.scope!r}: use one of {', '.join(SCOPES)}")


@dataclass(frozen=True, slots=True)
class Assignment:
    """The dose of one session. Where `noise_type` or `level` is None, the profile decides."""

    arm: str
    noise_type: str | None = None
    level: int | None = None
    curriculum_version: int | None = None
    at_least_one: bool = False
    """Whether each rule acts at the first place that it has, also where the profile doesn't say so."""
    allowed_types: tuple[str, ...] | None = None
    """The types that the session's first request allows: one of them is drawn, if there are any. None: it
    isn't known."""

    def __post_init__(self) -> None:
        if self.arm not in (CLEAN, NOISY):
            raise ValueError(f"arm {self.arm!r}: use 'clean' or 'noisy'")


@dataclass(frozen=True)
class Plan(StoredData):
    """What one session gets. `arm` is `clean` (no rules) or `noisy`; `noise_type` an operator where
    exactly one acts."""

    stored_as: ClassVar = "plan"

    profile: str
    profile_version: int
    seed: int
    scope: str
    scope_key: str
    arm: str
    level: int | None = None
    noise_type: str | None = None
    allowed_types: tuple[str, ...] | None = None
    """The types that the session's first request allowed, of which one was drawn. None: the plan was made
    before the tools and the first message were known, or its type didn't depend on them."""
    rules: tuple[CompiledRule, ...] = ()
    bounds: Bounds = DEFAULT
    assume_tools: str = "declared"
    tool_classes: Mapping[str, str] = field(default_factory=dict)
    curriculum_version: int | None = None
    expected_turns: int = 12
    user_can_answer: bool = True
    evidence: bool = False
    """Whether all evidence decides a tool's class; in plans of older stores its name's first word does."""
    phrases: Half = Half.TRAIN
    """The half of the phrase packs that operators draw from."""
    generator: int = 1
    """The version of the random generator that the plan was made for."""
    packs: tuple[str, ...] = ()
    """The phrase packs that its operators may draw from (`Pack.edition`). Plans of older stores don't say."""

    def class_of(self, tool: str, schemas: Iterable[ToolSchema] = ()) -> ToolClass:
        """The class of a tool that is declared by these schemas, if by any."""
        if self.evidence:
            return classify(tool, self.tool_classes, schemas)
        return find_declared(tool, self.tool_classes) or classify_by_first_word(tool)

    def slot_line(self, rule: CompiledRule, place: str) -> str:
        """What the keys of a rule's slots at a site, or at one link or tool of it, have in common."""
        return slot_line(self.seed, self.scope, self.scope_key, rule.name or rule.operator, place)

    @cached_property
    def session_key(self) -> str:
        """Seeds what operators draw once for the whole session."""
        return f"{self.seed}|{self.scope}|{self.scope_key}"

    @cached_property
    def rules_by_site(self) -> Mapping[Site, Mapping[str, ActiveRule]]:
        """The rules for each site that has some, by their names, in the order they act. Every turn asks for
        them, and they follow from the plan alone.
        """
        operators = registry.operators()
        found: dict[Site, list[ActiveRule]] = {}
        for rule in self.rules:
            if (entry := operators.get(rule.operator)) is not None:
                active = _activate(self, rule, entry)
                found.setdefault(active.site, []).append(active)
        for site in (Site.USER_TEXT, Site.TOOL_RESULT):
            # Rules that destroy a text come first, since a destroyed text needs no other noise. Rules on
            # observations do too: other noise on the user's text must not change the observations' marks.
            found.get(site, []).sort(key=lambda one: not (one.entry.fault or one.rule.observation))
        return {site: {one.rule.name: one for one in ours} for site, ours in found.items()}


def _operator(rule: CompiledRule, entry: Registered) -> Operator | None:
    with suppress(Exception):
        return None if entry.origin else entry.with_options(rule.options)
    return None


def _activate(plan: Plan, rule: CompiledRule, entry: Registered) -> ActiveRule:
    """The rule in a plan. All but its `line` is the same for all sessions that share it."""
    bounds, known = _active.get(id(rule), (None, None))
    alike = bounds is plan.bounds or bounds == plan.bounds
    if known is None or known.rule is not rule or known.entry is not entry or not alike:
        if len(_active) >= _MOST_COMPILED:
            _active.clear()
        known = _make_active(rule, entry, plan.bounds)
        _active[id(rule)] = plan.bounds, known
    return msgspec.structs.replace(known, line=plan.slot_line(rule, known.site.value))


def _make_active(rule: CompiledRule, entry: Registered, bounds: Bounds) -> ActiveRule:
    site = Site.USER_TEXT if rule.observation else entry.site
    must, free = rule.when.at_least_one, replace(rule.when, probability=1.0, at_least_one=False)
    always = rule.window == WHOLE and free == ALWAYS
    scoped = bool(rule.tools or rule.text or rule.observation)
    return ActiveRule(
        rule,
        entry,
        operator=_operator(rule, entry),
        always=always,
        certain=always and not scoped and rule.when.probability >= 1.0 and not must,
        line="",
        site=site,
        scoped=scoped,
        assurance=why_solvable(entry, bounds),
        until_exposed=rule.when.without_chance() if must else None,
        entries=tuple(rule.entries.items()),
    )


def make_plan(
    profile: Profile,
    seed: Seed,
    assignment: Assignment | None = None,
    *,
    labels: Mapping[str, Any] | None = None,
    user_can_answer: bool | None = None,
    phrases: Half | None = None,
    tool_classes: Sequence[Mapping[str, ToolClass] | None] = (),
) -> Plan:
    """Make the plan of a session under a profile. Without an `assignment` the session is noisy.

    The level settles the severities that the profile leaves to its levels; level 0 is clean. The noise type
    (a name or an alias) keeps that operator's rules only; without it a `one_of` profile draws one, by weight.
    `user_can_answer` and `phrases` override the profile's; tables of `tool_classes`, the strongest
    first, go before the profile's own. There are no rules beyond the profile's `coverage`, nor where the
    session's `labels` don't match the profile's.

    ProfileError where the profile has no such level or type.
    """
    dose = assignment or Assignment(NOISY)
    level = _settle_level(profile, dose.level)
    rules: tuple[CompiledRule, ...] = ()
    noise_type: str | None = None
    if dose.arm == NOISY and (profile.rules or dose.noise_type is not None):
        key = f"{seed.number}|{seed.scope}|{seed.key}|{profile.name}"
        noise_type = _settle_type(profile, dose, f"type|{key}")
        covered = profile.coverage >= 1.0 or draw_once(f"coverage|{key}") < profile.coverage
        if covered and (not profile.labels or _match_labels(profile, labels or {})):
            rules = _find_rules(profile, level, noise_type, at_least_one=dose.at_least_one)
    return Plan(
        profile=profile.name,
        profile_version=profile.version,
        seed=seed.number,
        scope=seed.scope,
        scope_key=seed.key,
        arm=dose.arm,
        level=level,
        noise_type=noise_type,
        allowed_types=dose.allowed_types,
        rules=rules,
        bounds=profile.bounds,
        assume_tools=profile.assume_tools,
        tool_classes=merge_tables(*tool_classes, profile.tool_classes),
        curriculum_version=dose.curriculum_version,
        expected_turns=profile.expected_turns,
        user_can_answer=profile.user_can_answer if user_can_answer is None else user_can_answer,
        evidence=True,
        phrases=phrases or profile.phrases,
        generator=GENERATOR,
        packs=list_versions(frozenset(rule.operator for rule in rules)),
    )


def _match_labels(profile: Profile, labels: Mapping[str, Any]) -> bool:
    return all(
        name in labels and fnmatchcase(str(labels[name]), pattern) for name, pattern in profile.labels.items()
    )


def _settle_level(profile: Profile, level: int | None) -> int | None:
    if level is None:
        return profile.level if profile.level is not None else profile.highest_level
    highest = profile.highest_level
    if 0 <= level <= (highest or 0):
        return level
    if highest is None:
        fix = f"has no levels, so level {level} can't be: give it `levels`, or use a profile that has them"
    else:
        fix = f"has levels 0 to {highest}, not {level}: use these"
    raise ProfileError(f"profile {profile.name!r} {fix}")


def _settle_type(profile: Profile, dose: Assignment, key: str) -> str | None:
    offered, noise_type = profile.types, dose.noise_type
    if noise_type is not None:
        name = registry.resolve(noise_type).name
        if name not in offered:
            fix = f"use one of {', '.join(offered)}, or add a rule" if offered else "name another profile"
            raise ProfileError(f"profile {profile.name!r} has no rule for noise type {noise_type!r}: {fix}")
        return name
    if profile.compose is not Compose.ONE_OF:
        return next(iter(offered)) if len(offered) == 1 else None
    drawn = [name for name in offered if name in (dose.allowed_types or offered)]
    return SeededRandom(key).weighted(drawn, [offered[name] for name in drawn])


def _find_rules(
    profile: Profile, level: int | None, kept: str | None, *, at_least_one: bool
) -> tuple[CompiledRule, ...]:
    """As `_compile_rules`. Sessions whose profile, level and type are the same share their rules."""
    key = id(profile), level, kept, at_least_one
    compiled = _compiled.get(key)
    if compiled is None or compiled[0] is not profile or not all(map(_is_current, compiled[1])):
        if len(_compiled) >= _MOST_COMPILED:
            _compiled.clear()
        rules = _compile_rules(profile, level, kept, at_least_one=at_least_one)
        compiled = _compiled[key] = profile, rules
    return compiled[1]


def _is_current(rule: CompiledRule) -> bool:
    entry = registry.operators().get(rule.operator)
    return entry is not None and entry.version == rule.version


def _compile_rules(
    profile: Profile, level: int | None, kept: str | None, *, at_least_one: bool
) -> tuple[CompiledRule, ...]:
    if level == 0:
        return ()
    at_least_one = at_least_one or profile.at_least_one
    out: list[CompiledRule] = []
    seen: dict[str, int] = {}
    for at, rule in enumerate(profile.rules):
        for one in (rule, *rule.companions):
            number = seen[one.operator] = seen.get(one.operator, 0) + 1
            severity = one.severity
            if severity is None:
                severity = 0.0 if level is None else profile.levels[level]
            if severity > 0 and kept in (None, rule.operator):
                name = one.operator if number == 1 else f"{one.operator}#{number}"
                # A companion isn't what the session was assigned.
                must = one is rule and at_least_one and not one.when.at_least_one
                compiled = CompiledRule(
                    name,
                    one.operator,
                    severity,
                    replace(one.when, at_least_one=True) if must else one.when,
                    one.where.tools,
                    _window(profile, one, at),
                    one.where.text,
                    one.options,
                    one.prompt,
                    one.where.observation,
                    registry.operators()[one.operator].version,
                    one.entries,
                )
                out.append(compiled)
    return tuple(out)


def _window(profile: Profile, rule: Companion, at: int) -> Window:
    if profile.compose is Compose.SEQUENCE:
        return at / len(profile.rules), (at + 1) / len(profile.rules)
    return rule.when.during or (STAGES[rule.when.stage] if rule.when.stage else WHOLE)
