"""Which members a request may have: as the providers' own SDKs list them."""

from __future__ import annotations

from typing import Any

from anthropic.types import message_count_tokens_params, message_create_params
from openai.types import completion_create_params, embedding_create_params
from openai.types.chat import completion_create_params as chat_create_params
from openai.types.responses import response_create_params


def _members(typed: Any) -> frozenset[str]:
    return frozenset(typed.__annotations__) | {"stream"}


CHAT = _members(chat_create_params.CompletionCreateParamsBase)
COMPLETIONS = _members(completion_create_params.CompletionCreateParamsBase)
EMBEDDINGS = _members(embedding_create_params.EmbeddingCreateParams)
RESPONSES = _members(response_create_params.ResponseCreateParamsBase)
MESSAGES = _members(message_create_params.MessageCreateParamsBase) | {
    "context_management",
    "mcp_servers",
    "temperature",
    "top_k",
    "top_p",
}
COUNT_TOKENS = _members(message_count_tokens_params.MessageCountTokensParams) - {"stream"}
