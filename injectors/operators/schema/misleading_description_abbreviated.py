"""A dear tool under the cheap one's name, which has become an abbreviation."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.schema.distractor import Distractor
from crosswind.injectors.operators.schema.price import COSTS_MORE
from crosswind.injectors.targets import Recovery


@operator(
    "schema.misleading_description_abbreviated",
    site=Site.TOOL_SCHEMA,
    recovery=Recovery.OTHER_TOOL,
    aliases=("CD_AB", "MisDesc-Abbr"),
    source="RobustBench-TC, table 1 and appendices C and O (Reward)",
)
class MisleadingDescriptionAbbreviated(Distractor):
    """The true tool is renamed (`country_info.capital` to `cou_info.cap`), and a dearer one has its old name.

    The old name is the distractor's alone: a call of it never reaches the agent's tool. Both keep the true
    description, and the distractor's adds that it costs more. The list is shuffled; the query has no cue.
    Severity: the share of tools that this befalls. A name without a longer word is left alone.
    """

    suffix = ""
    wordings = COSTS_MORE
