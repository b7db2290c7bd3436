"""A tool's response that no longer matches its schema."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.tool.fixed_error import FixedError
from crosswind.injectors.targets import Recovery


@operator(
    "tool.schema_drift",
    site=Site.TOOL_RESULT,
    recovery=Recovery.RETRY,
    aliases=("transient_schema_drift", "SchemaD"),
    source="RobustBench-TC, table 1 and appendix G (Transition)",
    fault=True,
)
class SchemaDrift(FixedError):
    """A message that the response broke its declared schema stands in place of the result.

    The words are those of the benchmark's appendix G (its table 1 has others). Severity: the probability that
    an eligible call fails so; the benchmark's own setting is severity 1 with `first_call: true`.
    """

    text = (
        "Schema validation failed: "
        "the response did not match the tool’s declared output schema (extra/missing fields)."
    )
    what = "the response broke its declared schema"
