"""The members that the scripted provider takes are those of the providers' own SDKs."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic.types import message_count_tokens_params, message_create_params
from openai.types import completion_create_params, embedding_create_params
from openai.types.chat import completion_create_params as chat_create_params
from openai.types.responses import response_create_params

from crosswind.testing import checks

BETA = {"context_management", "mcp_servers", "temperature", "top_k", "top_p"}
"""Of Messages, in the SDK's beta types only."""


@pytest.mark.parametrize(
    ("known", "typed", "more"),
    [
        (checks.CHAT, chat_create_params.CompletionCreateParamsBase, {"stream"}),
        (checks.COMPLETIONS, completion_create_params.CompletionCreateParamsBase, {"stream"}),
        (checks.EMBEDDINGS, embedding_create_params.EmbeddingCreateParams, {"stream"}),
        (checks.RESPONSES, response_create_params.ResponseCreateParamsBase, {"stream"}),
        (checks.MESSAGES, message_create_params.MessageCreateParamsBase, {"stream"} | BETA),
        (checks.COUNT_TOKENS, message_count_tokens_params.MessageCountTokensParams, set()),
    ],
)
def test_the_members_are_the_sdks(known: frozenset[str], typed: Any, more: set[str]) -> None:
    assert known == set(typed.__annotations__) | more
