"""A slow tool whose name says that it is fast."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.schema.distractor import Distractor
from crosswind.injectors.operators.schema.price import TAKES_LONGER
from crosswind.injectors.targets import Recovery


@operator(
    "schema.misleading_time",
    site=Site.TOOL_SCHEMA,
    recovery=Recovery.OTHER_TOOL,
    aliases=("TD", "TimeDesc"),
    source="RobustBench-TC, table 1 and appendix C (Reward)",
)
class MisleadingTime(Distractor):
    """A tool `X_Fast` stands beside `X`, and its description owns up that it takes longer.

    The name tempts, the description tells the truth; the true tool is as it was, and the right one under
    the speed cue that the query has in the benchmark (`user.speed_cue`). The list is shuffled. Severity:
    the share of tools that have such a neighbour.
    """

    suffix = "_Fast"
    wordings = TAKES_LONGER
