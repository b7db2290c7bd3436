"""Dialects of upstreams, and their presets by provider or server (`dialect:`). Add a provider here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from pkgutil import iter_modules
from typing import Literal

from crosswind.gateway.config.sections import Section

AuthStyle = Literal["bearer", "api-key", "x-api-key", "x-goog-api-key", "none", "passthrough"]
DuplicateNames = Literal["allowed", "suffixed"]

# Protocols go by the names of their folders, which are only listed: that room lies above this one.
PROTOCOLS = tuple(
    found.name for found in iter_modules([str(Path(__file__).parents[1] / "protocols")]) if found.ispkg
)


class Dialect(Section):
    """The differences between upstreams that speak the same protocols."""

    join: str = ""
    """The path for a base URL without one; it replaces `/v1` of the request's path."""
    auth: AuthStyle = "bearer"
    """The header that carries the upstream's key."""
    query: Mapping[str, str] = {}
    """Query parameters added to each request unless the client gives them."""
    duplicate_tool_names: DuplicateNames = "allowed"
    """Whether two tools of a request may have the same name, or a suffix must distinguish them."""
    protocols: tuple[str, ...] = PROTOCOLS
    token_ids: bool = False
    """Whether it offers `return_token_ids`."""


DIALECTS: Mapping[str, Dialect] = {
    "openai": Dialect(join="/v1", protocols=("chat", "responses", "completions", "embeddings")),
    # Azure's v1 API. The dated one needs `join: /openai/deployments/NAME` and `query: {api-version: ...}`.
    "azure": Dialect(
        join="/openai/v1", auth="api-key", protocols=("chat", "responses", "completions", "embeddings")
    ),
    # Gemini's surface for OpenAI clients; it refuses two tools with the same name.
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
