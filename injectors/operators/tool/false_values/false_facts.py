"""Results that hold false facts and don't say so: another read of the same tells."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.tool.facts import FactKind
from crosswind.injectors.operators.tool.false_values.lists import shorten_list
from crosswind.injectors.operators.tool.false_values.lone_facts import draw_lone
from crosswind.injectors.operators.tool.false_values.parts import Wholes
from crosswind.injectors.operators.tool.false_values.receipts import draw_of_receipt
from crosswind.injectors.operators.tool.false_values.ties import find_free, writes
from crosswind.injectors.operators.tool.false_values.values import (
    Alternatives,
    draw_other,
    replace_spans,
    spread,
)
from crosswind.injectors.operators.tool.result_facts import find_facts
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, ToolResultTarget


@operator(
    "tool.erroneous",
    site=Site.TOOL_RESULT,
    recovery=Recovery.RETRY,
    aliases=("error",),
    source="AgentNoiseBench section 2.2.1, appendix B (Erroneous Outputs); NoisyAgent section 3.1 (3)",
    effect=Effect.FALSIFIES,
    version=7,
)
class Erroneous:
    """One to three facts of a result are false, and the result doesn't say so.

    Severity is both how likely and how much: a result is hit with probability severity, and then 1 fact is
    false, and more, binomial with mean 2 x severity (2 trials). A false value is plausible: another value
    that the tool's own schema enumerates or that the same field has elsewhere, a date near, an amount 2 to
    45 % off and as round, a count some more or fewer, a place or a person like this one, a postcode that is
    all that was asked for. It contradicts nothing beside it: a part is no more than its whole, and what
    follows from another part of the result, such as a sum, or what a write says of itself, stays as it is
    (but for how far it has come: `pending`), and a name changes wherever it stands. Ids, codes, card and
    list numbers, addresses and what the call's arguments hold stay, all other bytes too. Where no fact
    stands so, one may still be false that keeps its place among others: a time before the next one, the
    lower end of a range, a list that lacks an element, what is further along than a write says. The same
    call made again tells the truth, from the second time on.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        hit, count = rng.chance(severity), 1 + rng.successes(2, severity)
        return draw_false_facts(target, rng, count) if hit else None

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        count = draw["count"]
        what = "fact was" if count == 1 else "facts were"
        note = f"{count} {what} made false in the result of {target.tool}."
        return Result(replace_spans(target.text, draw["false"]), note)


@operator(
    "tool.fabricated_observation",
    site=Site.TOOL_RESULT,
    recovery=Recovery.RETRY,
    source="RobustBench-TC, appendix N (1), named there as future work; the form is ours",
    effect=Effect.FALSIFIES,
    version=6,
)
class FabricatedObservation:
    """A plausible result, made up, stands in place of the true one.

    Severity: the probability that an eligible result is made up. It answers the same call in the same form,
    ids included, and every fact for which a false value of the same kind is at hand is false. Nothing says
    so, and nothing that is left contradicts it. A plain list that states no fact lacks an element or two. The
    same call made again tells the truth, from the second time on.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        return draw_false_facts(target, rng, None) if rng.chance(severity) else None

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        text = replace_spans(target.text, draw["false"])
        count = draw["count"]
        what = "fact is" if count == 1 else "facts are"
        return Result(text, f"The result of {target.tool} was made up: {count} {what} false.")


def draw_false_facts(target: ToolResultTarget, rng: SeededRandom, most: int | None) -> Draw | None:
    """Draw false values for so many facts (None: all). None where there are none, and where the call has
    met a fault already: two lies that agree would pass for the truth.
    """
    if target.prior_faults:
        return None
    stated = find_facts(target)
    facts = find_free(target, stated)
    alternatives = Alternatives(target, facts)
    drawn: dict[int, str] = {}
    taken: set[tuple[tuple[str, ...], str]] = set()
    # A whole that may not be false itself counts, too.
    wholes, known = Wholes(stated), dict[int, str]()
    places = {id(one): at for at, one in enumerate(stated)}
    numbers = [places[id(one)] for one in facts]
    order = rng.shuffled(range(len(facts)))
    for at in sorted(order, key=lambda at: alternatives.is_guessed(facts[at])):
        false = draw_other(facts[at], alternatives, rng)
        said = facts[at].words, false or ""
        if (
            false is not None
            and false != facts[at].text
            and (facts[at].kind is FactKind.FLAG or said not in taken)
            and wholes.are_kept(numbers[at], false, known)
        ):
            drawn[at] = known[numbers[at]] = false
            taken.add(said)
            if len(drawn) == most:
                break
    if not drawn:
        draw = draw_of_receipt if writes(target) else draw_lone
        other = None if most is None else draw(target, stated, rng)
        edits = [other] if other is not None else shorten_list(target, rng, last=False)
        return {"false": [list(one) for one in edits], "count": 1} if edits else None
    return {"false": [list(one) for one in spread(target.text, facts, drawn)], "count": len(drawn)}
