"""Results that hold false facts, and show that they do: contradicted, out of date, or made up."""

from __future__ import annotations

import json
import re
from typing import Any

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.insertion import is_plain_text
from crosswind.injectors.operators.tool.values import (
    draw_other,
    find_earlier,
    find_figures,
    is_number,
    replace_spans,
    rewrite_json,
    scale,
)
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, ToolResultTarget
from crosswind.injectors.text.json_leaves import (
    can_be_marked,
    dump_like,
    list_facts,
    list_leaves,
    replace_leaves,
)
from crosswind.injectors.text.json_payload import RESTATED, is_container, parse_json

DISPUTE = "\nConsistency check failed: the source has {} here."
"""How plain text contradicts itself."""


@operator(
    "tool.erroneous",
    site=Site.TOOL_RESULT,
    recovery=Recovery.RETRY,
    aliases=("error",),
    source="AgentNoiseBench section 2.2.1, appendix B (Erroneous Outputs); NoisyAgent section 3.1 (3)",
    effect=Effect.REPLACES,
)
class Erroneous:
    """One to three facts of a result are false, and contradicted by what stands beside them.

    Severity is both how likely and how much: a result is hit with probability severity, and then 1 fact is
    false, and more, binomial with mean 2 x severity (2 trials). A false value is another word of the same
    kind (a status, a cabin, a colour), another number of the same size, or another code of the result. The
    agent can always tell: a field beside the false one gives the true value again (`total` and
    `total_on_file`), plain text says that a check failed. Ids, codes, addresses, counts and what the call's
    arguments hold stay, and nothing is dropped.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        hit = rng.chance(severity)
        count = 1 + rng.successes(2, severity)
        if not hit:
            return None
        value = parse_json(target.text)
        if is_container(value):
            return _draw_false_leaves(value, target, count, rng)
        return _draw_false_figures(target, count, rng) if is_plain_text(value, target.text) else None

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        count = len(draw["false"])
        note = f"{count} {'fact' if count == 1 else 'facts'} in the result of {target.tool} made false."
        if "end" not in draw:
            text = replace_spans(target.text, draw["false"])
            truths = " and ".join(target.text[start:end] for start, end, _ in draw["false"])
            return Result(text + DISPUTE.format(truths), note)
        edits = []
        value = json.loads(target.text)
        for place, false in draw["false"]:
            truth = value
            for key in place:
                truth = truth[key]
            edits += [(place, false), ([*place[:-1], f"{place[-1]}{draw['end']}"], truth)]
        return Result(dump_like(replace_leaves(value, edits), like=target.text), note)


def _draw_false_leaves(value: object, target: ToolResultTarget, count: int, rng: SeededRandom) -> Draw | None:
    found = [(place, leaf) for place, leaf in list_facts(value, target) if isinstance(place[-1], str)]
    end = rng.choice(RESTATED)
    # Where a clean field already has that ending, a restated one couldn't be told from it.
    if any(end in str(key) for place, _ in list_leaves(value) for key in place):
        return None
    peers = [leaf for _, leaf in found]
    false = [[place, draw_other(leaf, peers, rng)] for place, leaf in rng.shuffled(found)]
    kept = [one for one in false if one[1] is not None][:count]
    return {"false": kept, "end": end} if kept else None


def _draw_false_figures(target: ToolResultTarget, count: int, rng: SeededRandom) -> Draw | None:
    chosen = sorted(rng.sample(find_figures(target), count))
    drawn = [(start, end, figure, scale(figure, rng.uniform(1.2, 1.9))) for start, end, figure in chosen]
    false = [[start, end, wrong] for start, end, figure, wrong in drawn if wrong != figure]
    return {"false": false} if false else None


STALE = "stale"
"""The field by which an old result says that it is one."""


@operator(
    "tool.stale_resource",
    site=Site.TOOL_RESULT,
    recovery=Recovery.RETRY,
    source="RobustBench-TC, appendix N (5), named there as future work; the form is ours",
    effect=Effect.REPLACES,
)
class StaleResource:
    """The call succeeds and shows the thing as it was some time ago.

    Severity: the probability that an eligible result is stale. A stale result shows one to three of its facts
    as they may have been: a status as the one before it in its lifecycle (`shipped` for `delivered`), a
    number as another of its size. The agent can always tell: the result says `"stale": true`. Only JSON
    objects and arrays with such facts can be stale.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        hit, count = rng.chance(severity), rng.integer(1, 3)
        value = parse_json(target.text)
        if not hit or not is_container(value) or not can_be_marked(value, STALE):
            return None
        old = [[place, _before(leaf, rng)] for place, leaf in rng.shuffled(list_facts(value, target))]
        edits = [one for one in old if one[1] is not None][:count]
        return {"leaves": edits} if edits else None

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        text = rewrite_json(target.text, draw["leaves"], STALE)
        count = len(draw["leaves"])
        what = "value is" if count == 1 else "values are"
        return Result(
            text, f"The result of {target.tool} came from an old cache: {count} {what} out of date."
        )


def _before(leaf: Any, rng: SeededRandom) -> Any | None:
    return draw_other(leaf, (), rng) if is_number(leaf) else find_earlier(leaf)


ERRORS, ADMISSION = "errors", ["the backend was not reached; the values shown were generated"]
"""The field by which a made-up result says that it is one, and what the field holds."""

_DATE_OR_TIME = re.compile(r"\d{4}-\d\d|\d\d?:\d\d|\d\d?[./]\d\d?[./]\d\d")


@operator(
    "tool.fabricated_observation",
    site=Site.TOOL_RESULT,
    recovery=Recovery.RETRY,
    source="RobustBench-TC, appendix N (1), named there as future work; the form is ours",
    effect=Effect.REPLACES,
)
class FabricatedObservation:
    """A plausible record, made up, stands in place of the true one.

    Severity: the probability that an eligible result is made up. The record has the true one's fields; every
    fact for which a false value of the same kind is at hand is false, and all digits of ids and codes are 0,
    so that they are nobody's. The agent can always tell: the ids are not those that it asked for, and
    `errors` says that the values were generated. Only JSON objects and arrays are made up.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        hit = rng.chance(severity)
        value = parse_json(target.text)
        if not hit or not is_container(value) or not can_be_marked(value, ERRORS):
            return None
        stated = list_facts(value, target)
        peers = [leaf for _, leaf in stated]
        false = [[place, draw_other(leaf, peers, rng)] for place, leaf in stated]
        blank = [[place, _blank(leaf)] for place, leaf in list_leaves(value) if _blank(leaf) != leaf]
        edits = [one for one in false if one[1] is not None] + blank
        return {"leaves": edits} if edits else None

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        text = rewrite_json(target.text, draw["leaves"], ERRORS, ADMISSION)
        return Result(
            text, f"The result of {target.tool} was made up: {len(draw['leaves'])} values are false."
        )


def _blank(leaf: Any) -> Any:
    """Replace the digits of an id or code with zeros; leave anything else unchanged."""
    if not isinstance(leaf, str) or _DATE_OR_TIME.search(leaf) or len(leaf.split()) != 1:
        return leaf
    return re.sub(r"[0-9]", "0", leaf)
