"""A slow tool under the fast one's name, which has become an abbreviation."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.schema.distractor import Distractor
from crosswind.injectors.operators.schema.price import TAKES_LONGER
from crosswind.injectors.targets import Recovery


@operator(
    "schema.misleading_time_abbreviated",
    site=Site.TOOL_SCHEMA,
    recovery=Recovery.OTHER_TOOL,
    aliases=("TD_AB", "TimeDesc-Abbr"),
    source="RobustBench-TC, table 1 and appendix C (Reward)",
)
class MisleadingTimeAbbreviated(Distractor):
    """The true tool is renamed (`mutation_type.find` to `mut_type.find`), and a slower one has its old name.

    The old name is the distractor's alone: a call of it never reaches the agent's tool. Both keep the true
    description, and the distractor's adds that it takes longer. The list is shuffled; the query has no cue.
    Severity: the share of tools that this befalls. A name without a longer word is left alone.
    """

    suffix = ""
    wordings = TAKES_LONGER
