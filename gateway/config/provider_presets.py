"""How upstreams want to be spoken to, and the presets: one entry per provider or server, chosen by
`dialect:`. Adding a provider is adding an entry here.
"""

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
    """What differs between upstreams that speak the same protocols."""

    join: str = ""
    """The path between a base that has none and what follows `/v1` in a request."""
    auth: AuthStyle = "bearer"
    """The header that takes the upstream's key."""
    query: Mapping[str, str] = {}
    """Added to each request's query where the client doesn't give them."""
    duplicate_tool_names: DuplicateNames = "allowed"
    """Whether two tools of a request may have one name, or need a suffix to tell them apart."""
    protocols: tuple[str, ...] = PROTOCOLS
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
