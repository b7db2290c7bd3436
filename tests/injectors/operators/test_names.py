"""The papers' code and display names of our operators."""

from __future__ import annotations

from crosswind.injectors import registry

ALIASES = {
    "schema.duplicate_description": "same_name_B Dup-Desc",
    "schema.duplicate_description_wrong_parameters": "same_name_D Dup-DescWP",
    "schema.duplicate_no_description": "same_name_A Dup-NoDesc",
    "schema.duplicate_swapped": "same_name_E Dup-SwapDP",
    "schema.duplicate_wrong_parameters": "same_name_C Dup-WrongP",
    "schema.misleading_description": "CD MisDesc",
    "schema.misleading_description_abbreviated": "CD_AB MisDesc-Abbr",
    "schema.misleading_description_neutral": "CD_NT MisDesc-N",
    "schema.misleading_time": "TD TimeDesc",
    "schema.misleading_time_abbreviated": "TD_AB TimeDesc-Abbr",
    "schema.misleading_time_neutral": "TD_NT TimeDesc-N",
    "schema.paraphrase_parameter": "paraphrase_parameter_description ParamPara",
    "schema.paraphrase_tool": "paraphrase_tool_description ToolPara",
    "schema.redundant_tool": "redundant RedunTool",
    "tool.auth_error": "transient_auth_error AuthErr",
    "tool.erroneous": "error",
    "tool.execution_failure": "failure",
    "tool.incomplete": "incomplete",
    "tool.malformed_response": "transient_malformed_response Malform",
    "tool.misleading": "induce",
    "tool.rate_limit": "transient_rate_limit RateLim",
    "tool.redundant": "tool-redundancy",
    "tool.schema_drift": "transient_schema_drift SchemaD",
    "tool.server_error": "transient_server_error 5xxErr",
    "tool.timeout": "transient_timeout Timeout",
    "transport.latency": "latency",
    "user.ambiguous": "ambiguity",
    "user.boundary_probing": "boundary",
    "user.inconsistent": "conflict",
    "user.interaction_pattern": "interaction_pattern",
    "user.out_of_scope": "out-of-scope",
    "user.paraphrase": "query_paraphrase QueryPara",
    "user.redundant": "user-redundancy",
    "user.topic_drift": "topic_shift",
    "user.typos": "realistic_typos Typo",
}


def test_the_papers_names_are_aliases() -> None:
    found = {name: " ".join(entry.aliases) for name, entry in registry.operators().items() if entry.aliases}
    assert found == ALIASES
    for name, aliases in ALIASES.items():
        assert {registry.resolve(alias).name for alias in aliases.split()} == {name}
