"""A second tool of the same name that says what it does, and takes nothing."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.schema.duplicate import Duplicate
from crosswind.injectors.targets import Recovery


@operator(
    "schema.duplicate_description",
    site=Site.TOOL_SCHEMA,
    recovery=Recovery.IGNORE,
    aliases=("same_name_B", "Dup-Desc"),
    source="RobustBench-TC, table 1 and appendix C (Action)",
)
class DuplicateDescription(Duplicate):
    """A tool is listed twice: once as it is, once with its description and without parameters.

    A call carries no sign which of the two was meant, so it reaches the agent's tool as it is. Severity: the
    share of tools that are listed twice.
    """

    description = "own"
    parameters = "none"
