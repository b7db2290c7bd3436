"""vLLM: started and watched, or attached to where it runs already."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from crosswind.policies.server import ServeRequest


class VllmServer:
    """Serves from child processes, or from servers of somebody else's starting."""

    name: ClassVar[str] = "vllm"

    @classmethod
    def serve(cls, request: ServeRequest, say: Callable[[str], None]) -> None:
        from crosswind.policies.vllm.serve import serve

        serve(request, say)
