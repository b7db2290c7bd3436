"""A second tool of the same name that says nothing of itself."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.schema.duplicate import Duplicate
from crosswind.injectors.targets import Recovery


@operator(
    "schema.duplicate_no_description",
    site=Site.TOOL_SCHEMA,
    recovery=Recovery.IGNORE,
    aliases=("same_name_A", "Dup-NoDesc"),
    source="RobustBench-TC, table 1 and appendix C (Action)",
)
class DuplicateNoDescription(Duplicate):
    """A tool is listed twice: once as it is, once without description and parameters.

    A call carries no sign which of the two was meant, so it reaches the agent's tool as it is. Severity: the
    share of tools that are listed twice.
    """

    description = "none"
    parameters = "none"
