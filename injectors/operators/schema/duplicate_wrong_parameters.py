"""A second tool of the same name that takes other things."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.schema.duplicate import Duplicate
from crosswind.injectors.targets import Recovery


@operator(
    "schema.duplicate_wrong_parameters",
    site=Site.TOOL_SCHEMA,
    recovery=Recovery.IGNORE,
    aliases=("same_name_C", "Dup-WrongP"),
    source="RobustBench-TC, table 1 and appendix C (Action)",
)
class DuplicateWrongParameters(Duplicate):
    """A tool is listed twice: once as it is, once without description and with parameters that it doesn't
    take.

    A call carries no sign which of the two was meant: one that follows the wrong parameters reaches the
    agent's tool, which refuses it. Severity: the share of tools that are listed twice.
    """

    description = "none"
    parameters = "wrong"
