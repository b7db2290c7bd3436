"""A second tool of the same name that says it does what another one does."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.schema.duplicate import Duplicate
from crosswind.injectors.targets import Recovery


@operator(
    "schema.duplicate_swapped",
    site=Site.TOOL_SCHEMA,
    recovery=Recovery.IGNORE,
    aliases=("same_name_E", "Dup-SwapDP"),
    source="RobustBench-TC, table 1 and appendix C (Action)",
)
class DuplicateSwapped(Duplicate):
    """A tool is listed twice: once as it is, once with another tool's description and with wrong
    parameters.

    A call carries no sign which of the two was meant: one that follows the wrong parameters reaches the
    agent's tool, which refuses it. Severity: the share of tools that are listed twice. A list in which no
    other tool has a description is left alone.
    """

    description = "another's"
    parameters = "wrong"
