"""A result that shows its resource as it was some time ago."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from crosswind.injectors.conversation import Site, ToolResult
from crosswind.injectors.guard.tool_evidence import words_of
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.tool.cut_ways import changes_something
from crosswind.injectors.operators.tool.facts import Fact, FactKind
from crosswind.injectors.operators.tool.false_values.enumerated import (
    LONGEST_RESULT,
    MOST_RESULTS,
    list_options,
)
from crosswind.injectors.operators.tool.false_values.false_figures import move_figure
from crosswind.injectors.operators.tool.false_values.figures import read_figure
from crosswind.injectors.operators.tool.false_values.lists import shorten_list
from crosswind.injectors.operators.tool.false_values.parts import Wholes
from crosswind.injectors.operators.tool.false_values.ties import find_free
from crosswind.injectors.operators.tool.false_values.values import (
    Alternatives,
    draw_other,
    find_earlier_word,
    is_state,
    move_time,
    replace_spans,
    spread,
)
from crosswind.injectors.operators.tool.result_facts import find_facts
from crosswind.injectors.operators.words import fields
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.stacks.kinds import find_kinds
from crosswind.injectors.stacks.model import ToolKind
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, ToolResultTarget
from crosswind.injectors.text.json_leaves import follow
from crosswind.injectors.text.json_payload import is_container, parse_json
from crosswind.injectors.values.forms import find_forms
from crosswind.injectors.values.parameters import ValueType


@operator(
    "tool.stale_resource",
    site=Site.TOOL_RESULT,
    recovery=Recovery.RETRY,
    source="RobustBench-TC, appendix N (5), named there as future work; the form is ours",
    effect=Effect.FALSIFIES,
    version=6,
)
class StaleResource:
    """The call succeeds and shows the thing as it was some time ago.

    Severity: the probability that an eligible result is stale. What this session saw earlier of the same
    resource (the same call, or the same id) stands in the place of what changed since. Where it saw nothing
    else, one to three facts that change as time goes by are as they may have been: a status as the one
    before it in the schema or in its lifecycle, a person, a place or a plan as another one, a date or a
    time before it was put off, a counter lower, another amount a little off, and the record's own times
    earlier; what else the result says contradicts none of them, and nothing says how old it is. A plain
    list that states no such fact lacks its last one or two elements. The receipt of a change has no earlier
    state, and what lasts (a colour, a size, a medium, an author, a date of birth, what a dated report says)
    was no other. The same call made again gives the present state, from the second time on.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        hit, count = rng.chance(severity), rng.integer(1, 3)
        if not hit or target.prior_faults or changes_something(target):
            return None
        facts = find_free(target, find_facts(target))
        drawn = _find_seen(target, facts) or _draw_earlier(target, facts, rng, count)
        drawn |= _draw_times(facts, drawn, rng)
        edits = spread(target.text, facts, drawn) if drawn else shorten_list(target, rng, last=True)
        if not edits:
            return None
        return {"old": [list(one) for one in edits], "count": len(drawn) or 1}

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        count = draw["count"]
        what = "value is" if count == 1 else "values are"
        return Result(
            replace_spans(target.text, draw["old"]),
            f"The result of {target.tool} came from an old cache: {count} {what} out of date.",
        )


def _find_seen(target: ToolResultTarget, facts: list[Fact]) -> dict[int, str]:
    """The facts that this session saw otherwise before, with what they were when it last did."""
    value = parse_json(target.text)
    results = [one for one in target.branch.earlier if isinstance(one, ToolResult)][-MOST_RESULTS:]
    if not is_container(value) or not results:
        return {}
    names = {id(record): name for name, record in _records(value).items()}
    for result in reversed(results):
        earlier = parse_json(result.text) if len(result.text) <= LONGEST_RESULT else None
        if not is_container(earlier):
            continue
        same = (result.call.name, result.call.arguments) == (target.tool, target.arguments)
        records = _records(earlier)
        was = {
            at: _find_former(fact, value, records.get(names.get(id(follow(value, fact.place[:-1])))))
            or (same and _find_former(fact, value, follow(earlier, fact.place[:-1])))
            for at, fact in enumerate(facts)
            if fact.place
        }
        if found := {at: text for at, text in was.items() if text}:
            return found
    return {}


def _find_former(fact: Fact, value: Any, record: Any) -> str | None:
    """What an earlier record says in the fact's place, where that is something else of the same type."""
    now = follow(value, fact.place)
    was = record.get(fact.place[-1]) if isinstance(record, dict) else None
    if was is None or type(was) is not type(now) or (isinstance(now, str) and now != fact.text):
        return None
    shown = was if isinstance(was, str) else json.dumps(was)
    return shown if isinstance(was, str | int | float) and was != now else None


def _records(value: Any) -> dict[tuple[str, Any] | None, dict[str, Any]]:
    """The objects of a result that have an id, by it."""
    found: dict[tuple[str, Any] | None, dict[str, Any]] = {}
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            for key, one in part.items():
                if isinstance(one, str | int) and _ID.search(key):
                    found[key, one] = part
                    break
            pending += part.values()
        elif isinstance(part, list):
            pending += part[:400]
    return found


_ID = re.compile(r"(?:^|_)id$|[a-z]Id$|^uuid$|(?:^|_)number$|^name$")


def _draw_earlier(
    target: ToolResultTarget, facts: list[Fact], rng: SeededRandom, count: int
) -> dict[int, str]:
    """Draw an earlier state of one to three facts: statuses and counters go before other amounts."""
    if ToolKind.FUNCTION in find_kinds(target, ""):
        return {}  # What is computed has no earlier state.
    alternatives = Alternatives(target, facts)
    drawn: dict[int, str] = {}
    wholes = Wholes(facts)
    order = rng.shuffled(range(len(facts)))
    for at in sorted(order, key=lambda at: not _changes(target, facts[at])):
        was = _draw_before(target, facts[at], alternatives, rng)
        if was is not None and was != facts[at].text and wholes.are_kept(at, was, drawn):
            drawn[at] = was
            if len(drawn) == count:
                break
    return drawn


def _changes(target: ToolResultTarget, fact: Fact) -> bool:
    """Whether a fact is of the kind that changes as time goes by."""
    if fact.kind is FactKind.WORD:
        return find_earlier_word(fact.text, list_options(target, fact)) is not None
    return fact.kind is FactKind.FIGURE and not fields.COUNTERS.isdisjoint(fact.words)


def _draw_before(
    target: ToolResultTarget, fact: Fact, alternatives: Alternatives, rng: SeededRandom
) -> str | None:
    if _lasts(fact) or _is_dated(fact, target):
        return None
    match fact.kind:
        case FactKind.WORD:
            options = list_options(target, fact)
            was = find_earlier_word(fact.text, options)
            if was is None and not options and not fact.prose and not is_state(fact.text):
                was = draw_other(fact, alternatives, rng)
            return None if was is None or alternatives.is_repeated(fact, was) else was
        case FactKind.FIGURE if fields.FIXED.isdisjoint(fact.words):
            return _draw_figure_before(fact, rng)
        case FactKind.FLAG if not (fields.SENSED | _TURNING).isdisjoint(fact.words):
            return draw_other(fact, alternatives, rng)
        case FactKind.DATE | FactKind.TIME if fields.UPDATES.isdisjoint(fact.words):
            return _draw_earlier_time(fact, rng)
    return None


def _lasts(fact: Fact) -> bool:
    """Whether a fact was no other before: how a thing is built, too, but for a size in bytes."""
    built = not _BUILT.isdisjoint((*fact.words, fact.field.lower()))
    grows = fact.kind is FactKind.FIGURE and not fields.AMOUNTS.isdisjoint(fact.words)
    return not _LASTING.isdisjoint(fact.words) or (built and not grows)


def _is_dated(fact: Fact, target: ToolResultTarget) -> bool:
    """Whether a fact stands in a report, which says what it said on its day."""
    words = {*fact.words, *words_of(target.tool)}
    written = not _WRITTEN.isdisjoint(words) and _AGEING.isdisjoint(words)
    return fact.prose and written and any(kind is ValueType.DATE for *_, kind in find_forms(fact.frame.text))


_WRITTEN = frozenset("report reports minutes certificate article transcript review letter bericht".split())
_AGEING = frozenset("weather status traffic live forecast".split())
"""Words of the names of texts that say what was so on their day, and of reports on what is so now."""


def _draw_earlier_time(fact: Fact, rng: SeededRandom) -> str | None:
    """An earlier date or time, in its own form; None where none is at hand."""
    for _ in range(4):
        was = move_time(fact, -rng.integer(1, 9), -rng.integer(1, 19), rng)
        if was is not None and _is_earlier(was, fact.text):
            return was
    return None


def _is_earlier(was: str, now: str) -> bool:
    """Whether one of two dates or times in the same form is the earlier one, as far as their numbers tell."""
    if _DIGITS.sub("0", was) != _DIGITS.sub("0", now):
        return False
    numbers = [[int(one) for one in _DIGITS.findall(text)] for text in (was, now)]
    if _FALLING.match(now):
        return numbers[0] < numbers[1]
    return was != now and all(first <= last for first, last in zip(*numbers, strict=True))


_DIGITS = re.compile(r"\d+")
_FALLING = re.compile(r"\d{4}\D|\d{1,2}:")
"""Forms that have the largest unit first."""


def _draw_figure_before(fact: Fact, rng: SeededRandom) -> str | None:
    value = read_figure(fact.text)
    counter = not fields.COUNTERS.isdisjoint(fact.words)
    share = rng.uniform(0.02, 0.05 if _is_measured(fact) else 0.15)
    less = counter or rng.chance(0.5)
    if value is None or (counter and value < 1):
        return None
    step = max(abs(value) * share, 1.0 if fact.text.isdigit() else 0.0)
    less = less and value >= step
    return move_figure(fact, value - step if less else value + step)


def _is_measured(fact: Fact) -> bool:
    return not (fields.MEASURED | fields.BOUNDED).isdisjoint(fact.about)


_TURNING = frozenset(
    "online available stock unread recording draft paid enabled busy read shipped muted".split()
)
"""Words of flags that change as time goes by."""
_LASTING = frozenset(
    """colour color material medium technique title author artist painter composer
    director publisher style language languages genre sector gender sex country nationality birth born founded
    issued created made built signed joined published fuel transmission kind category cuisine brand maker
    binding origin destination season period current now today farbe couleur fecha_nacimiento since""".split()
)
"""Words of fields whose values last, or say what time it is."""
_BUILT = frozenset(
    """size sizes dimension dimensions capacity shape layout model floor storey
    größe groesse kapazität kapazitaet etage tamaño tamano capacidad talla taille capacité capacite""".split()
)
"""Words of fields that say how a thing is built."""


def _draw_times(facts: list[Fact], drawn: Mapping[int, str], rng: SeededRandom) -> dict[int, str]:
    """How fresh the record says that it is, all by the same time earlier."""
    days, hours = -rng.integer(1, 9), -rng.integer(2, 20)
    times = {
        at: was
        for at, fact in enumerate(facts)
        if fact.kind in (FactKind.DATE, FactKind.TIME, FactKind.EPOCH)
        and at not in drawn
        and not fields.UPDATES.isdisjoint(fact.words)
        and (was := move_time(fact, days, hours, rng)) is not None
        and (fact.kind is FactKind.EPOCH or _is_earlier(was, fact.text))
    }
    return times
