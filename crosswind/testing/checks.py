"""What the providers accept in a request: its members, and the tools and schemas that it declares."""

from __future__ import annotations

import re
from typing import Any

from crosswind.testing.dialogue import DeclaredTool
from crosswind.testing.errors import refuse
from crosswind.testing.replies import ReceivedRequest


def _members(names: str) -> frozenset[str]:
    return frozenset(names.split())


# A test holds these to the providers' own SDKs, which the package itself doesn't need.
CHAT = _members(
    """
    audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens
    messages metadata modalities model moderation n parallel_tool_calls prediction presence_penalty
    prompt_cache_key prompt_cache_options prompt_cache_retention reasoning_effort response_format
    safety_identifier seed service_tier stop store stream stream_options temperature tool_choice tools
    top_logprobs top_p user verbosity web_search_options
    """
)
COMPLETIONS = _members(
    """
    best_of echo frequency_penalty logit_bias logprobs max_tokens model n presence_penalty prompt seed
    stop stream stream_options suffix temperature top_p user
    """
)
EMBEDDINGS = _members(
    """
    dimensions encoding_format input model stream user
    """
)
RESPONSES = _members(
    """
    access_programs background context_management conversation image include input instructions
    max_output_tokens max_tool_calls metadata model moderation parallel_tool_calls previous_response_id
    prompt prompt_cache_key prompt_cache_options prompt_cache_retention reasoning safety_identifier
    service_tier store stream stream_options temperature text tool_choice tools top_logprobs top_p
    truncation user
    """
)
MESSAGES = _members(
    """
    cache_control container context_management diagnostics inference_geo max_tokens mcp_servers messages
    metadata model output_config service_tier speed stop_sequences stream system temperature thinking
    tool_choice tools top_k top_p user_profile_id workspace_id
    """
)
COUNT_TOKENS = _members(
    """
    cache_control messages model output_config speed system thinking tool_choice tools user_profile_id
    workspace_id
    """
)


def check_members(body: Any, known: frozenset[str], message: str) -> None:
    """400 for a member that the provider does not know."""
    for name in body:
        refuse(name not in known, message.format(name), name, "unknown_parameter")


_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
_ANTHROPIC_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}\Z")


def openai_tool(function: Any, where: str) -> DeclaredTool:
    """A function as Chat Completions and Responses declare it."""
    refuse(not isinstance(function, dict), f"Invalid type for '{where}': expected an object.", where)
    name = function.get("name")
    refuse(
        not isinstance(name, str) or not _NAME.match(name),
        f"Invalid '{where}.name': string does not match pattern. Expected '^[a-zA-Z0-9_-]+$'.",
        f"{where}.name",
        "invalid_value",
    )
    parameters = function.get("parameters") or {"type": "object", "properties": {}}
    refuse(
        not isinstance(parameters, dict) or parameters.get("type") != "object",
        f"Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \"object\"'.",
        f"{where}.parameters",
        "invalid_function_parameters",
    )
    if function.get("strict"):
        check_strict(parameters, f"Invalid schema for function '{name}'", where)
    return DeclaredTool(name, function.get("description") or "", parameters)


def anthropic_tool(tool: Any, where: str) -> DeclaredTool:
    """A tool as Messages declares it."""
    name, schema = tool.get("name"), tool.get("input_schema")
    refuse(not isinstance(name, str), f"{where}.name: Field required")
    refuse(
        not _ANTHROPIC_NAME.match(name),
        f"{where}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'",
    )
    refuse(not isinstance(schema, dict), f"{where}.input_schema: Field required")
    refuse(schema.get("type") != "object", f"{where}.input_schema.type: Input should be 'object'")
    return DeclaredTool(name, tool.get("description") or "", schema)


def check_strict(schema: Any, message: str, where: str) -> None:
    """400 unless every object is closed and all its properties are required."""
    if not isinstance(schema, dict):
        return
    if schema.get("type") == "object" or "properties" in schema:
        properties = schema.get("properties", {})
        refuse(
            schema.get("additionalProperties") is not False,
            f"{message}: 'additionalProperties' is required to be supplied and to be false.",
            where,
            "invalid_function_parameters",
        )
        refuse(
            set(schema.get("required", ())) != set(properties),
            f"{message}: 'required' is required to be supplied and to be an array including every key in "
            "properties.",
            where,
            "invalid_function_parameters",
        )
        for one in properties.values():
            check_strict(one, message, where)
    for one in schema.get("$defs", {}).values():
        check_strict(one, message, where)
    check_strict(schema.get("items"), message, where)
    for one in schema.get("anyOf", ()):
        check_strict(one, message, where)


def read_body(request: ReceivedRequest) -> Any:
    """The body of a request: an object."""
    try:
        body = request.json
    except ValueError:
        body = None
    refuse(not isinstance(body, dict), "We could not parse the JSON body of your request.")
    return body
