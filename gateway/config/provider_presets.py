"""How upstreams want to be spoken to, and the presets: one entry per provider or server, chosen by
`dialect:`. Adding a provider is adding an entry here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from crosswind.gateway.config.sections import Section

AuthStyle = Literal["bearer", "api-key", "x-api-key", "x-goog-api-key", "none", "passthrough"]
Protocol = Literal["chat", "responses", "completions", "embeddings", "messages"]
DuplicateNames = Literal["allowed", "suffixed"]

EVERY_PROTOCOL: tuple[Protocol, ...] = ("chat", "responses", "completions", "embeddings", "messages")


class Dialect(Section):
    """What differs between upstreams that speak the same protocols."""

    join: str = ""
    """The path between a base that has none and what follows `/v1` in a request."""
    auth: AuthStyle = "bearer"
    """The header that takes the upstream's key."""
    query: Mapping[str, str] = {}
    """Added to each request's query where the client doesn't give them."""
    duplicate_tool_names: DuplicateNames = "allowed"
    """Whether two tools of a request may have one name, or need a suffix to tell them apart."""
    protocols: tuple[Protocol, ...] = EVERY_PROTOCOL
    token_ids: bool = False
    """It offers `return_token_ids`."""


DIALECTS: Mapping[str, Dialect] = {
    "openai": Dialect(join="/v1", protocols=("chat", "responses", "completions", "embeddings")),
    # Azure's v1 API. The dated one needs `join: /openai/deployments/NAME` and `query: {api-version: ...}`.
    "azure": Dialect(
        join="/openai/v1", auth="api-key", protocols=("chat", "responses", "completions", "embeddings")
    ),
    # Gemini's surface for OpenAI clients; it refuses two tools of one name.
    "gemini": Dialect(
        join="/v1beta/openai", duplicate_tool_names="suffixed", protocols=("chat", "embeddings")
    ),
    "anthropic": Dialect(
        join="/v1", auth="x-api-key", duplicate_tool_names="suffixed", protocols=("messages",)
    ),
    "openrouter": Dialect(join="/api/v1"),
    "ollama": Dialect(join="/v1", auth="none"),
    "vllm": Dialect(join="/v1", token_ids=True),
}
