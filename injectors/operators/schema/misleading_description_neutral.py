"""A dear tool whose name says nothing."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.schema.distractor import Distractor
from crosswind.injectors.operators.schema.price import COSTS_MORE
from crosswind.injectors.targets import Recovery


@operator(
    "schema.misleading_description_neutral",
    site=Site.TOOL_SCHEMA,
    recovery=Recovery.OTHER_TOOL,
    aliases=("CD_NT", "MisDesc-N"),
    source="RobustBench-TC, table 1 and appendix C (Reward)",
)
class MisleadingDescriptionNeutral(Distractor):
    """A tool `X_1` stands beside `X`, and its description owns up that it costs more.

    The true tool is as it was, and the right one under the cost cue that the query has in the benchmark
    (`user.cost_cue`). The list is shuffled. Severity: the share of tools that have such a neighbour.
    """

    suffix = "_1"
    wordings = COSTS_MORE
