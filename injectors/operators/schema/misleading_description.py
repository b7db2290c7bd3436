"""A dear tool whose name says that it is cheap."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.schema.distractor import Distractor
from crosswind.injectors.operators.schema.price import COSTS_MORE
from crosswind.injectors.targets import Recovery


@operator(
    "schema.misleading_description",
    site=Site.TOOL_SCHEMA,
    recovery=Recovery.OTHER_TOOL,
    aliases=("CD", "MisDesc"),
    source="RobustBench-TC, table 1 and appendix C (Reward)",
)
class MisleadingDescription(Distractor):
    """A tool `X_Budget` stands beside `X`, and its description owns up that it costs more.

    The name tempts, the description tells the truth; the true tool is as it was, and the right one under
    the cost cue that the query has in the benchmark (`user.cost_cue`). The list is shuffled. Severity:
    the share of tools that have such a neighbour.
    """

    suffix = "_Budget"
    wordings = COSTS_MORE
