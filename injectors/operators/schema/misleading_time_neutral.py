"""A slow tool whose name says nothing."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.schema.distractor import Distractor
from crosswind.injectors.operators.schema.price import TAKES_LONGER
from crosswind.injectors.targets import Recovery


@operator(
    "schema.misleading_time_neutral",
    site=Site.TOOL_SCHEMA,
    recovery=Recovery.OTHER_TOOL,
    aliases=("TD_NT", "TimeDesc-N"),
    source="RobustBench-TC, table 1 and appendix C (Reward)",
)
class MisleadingTimeNeutral(Distractor):
    """A tool `X_1` stands beside `X`, and its description owns up that it takes longer.

    The true tool is as it was, and the right one under the speed cue that the query has in the benchmark
    (`user.speed_cue`). The list is shuffled. Severity: the share of tools that have such a neighbour.
    """

    suffix = "_1"
    wordings = TAKES_LONGER
