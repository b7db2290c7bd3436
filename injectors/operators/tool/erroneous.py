"""A tool's result that holds false facts, and disputes them itself."""

from __future__ import annotations

import json

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.tool.figures import figures, rewritten, scaled
from crosswind.injectors.operators.tool.insertion import is_prose
from crosswind.injectors.operators.tool.wrong_values import other
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, ToolResultTarget
from crosswind.injectors.text.json_leaves import changed, facts, leaves, written
from crosswind.injectors.text.json_payload import RESTATED, is_container, parsed

DISPUTE = "\nConsistency check failed: the source has {} here."
"""How plain text contradicts itself."""


@operator(
    "tool.erroneous",
    site=Site.TOOL_RESULT,
    recovery=Recovery.RETRY,
    aliases=("error",),
    source="AgentNoiseBench section 2.2.1, appendix B (Erroneous Outputs); NoisyAgent section 3.1 (3)",
    fault=True,
)
class Erroneous:
    """One to three facts of a result are false, and contradicted by what stands beside them.

    Severity is both how likely and how much: a result is hit with probability severity, and then 1 fact is
    false, and more, binomial with mean 2 x severity (2 trials). False is another word of the same kind (a
    status, a cabin, a colour), another number of the same size, or another code of the result. The agent can
    always tell: a field beside the false one gives the true value again (`total` and `total_on_file`), plain
    text says that a check failed. Ids, codes, addresses, counts and what the call's arguments hold stay, and
    nothing is dropped.
    """

    def draw(self, target: ToolResultTarget, rng: Stream, severity: float) -> Draw | None:
        hit = rng.chance(severity)
        count = 1 + sum(rng.uniform() < severity for _ in range(2))
        if not hit:
            return None
        value = parsed(target.text)
        if is_container(value):
            return _falsified(value, target, count, rng)
        return _refigured(target, count, rng) if is_prose(value, target.text) else None

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        count = len(draw["false"])
        note = f"{count} {'fact' if count == 1 else 'facts'} in the result of {target.tool} made false."
        if "end" not in draw:
            text = rewritten(target.text, draw["false"])
            truths = " and ".join(target.text[start:end] for start, end, _ in draw["false"])
            return Result(text + DISPUTE.format(truths), note)
        edits = []
        value = json.loads(target.text)
        for place, false in draw["false"]:
            truth = value
            for key in place:
                truth = truth[key]
            edits += [(place, false), ([*place[:-1], f"{place[-1]}{draw['end']}"], truth)]
        return Result(written(changed(value, edits), like=target.text), note)


def _falsified(value: object, target: ToolResultTarget, count: int, rng: Stream) -> Draw | None:
    found = [(place, leaf) for place, leaf in facts(value, target) if isinstance(place[-1], str)]
    end = rng.choice(RESTATED)
    if any(end in str(key) for place, _ in leaves(value) for key in place):
        return None
    peers = [leaf for _, leaf in found]
    false = [[place, other(leaf, peers, rng)] for place, leaf in rng.shuffled(found)]
    kept = [one for one in false if one[1] is not None][:count]
    return {"false": kept, "end": end} if kept else None


def _refigured(target: ToolResultTarget, count: int, rng: Stream) -> Draw | None:
    chosen = sorted(rng.sample(figures(target), count))
    drawn = [(start, end, figure, scaled(figure, rng.uniform(1.2, 1.9))) for start, end, figure in chosen]
    false = [[start, end, wrong] for start, end, figure, wrong in drawn if wrong != figure]
    return {"false": false} if false else None
