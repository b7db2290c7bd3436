"""vLLM with our extension in it: it has the embedded engine's routes, so that little is left to say here."""

from __future__ import annotations

from typing import ClassVar

from crosswind.policies.publishers.embedded import EmbeddedEngine


class VllmEngine(EmbeddedEngine):
    """Implements `crosswind.policies.engine.Engine`."""

    name: ClassVar[str] = "vllm"
