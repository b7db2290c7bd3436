"""How a protocol closes the client's world: tools, calls and results as the policy meets them, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gateway.protocols.answer import AnswerReader
from gateway.protocols.request import Request
from gateway.protocols.world import Carrying, InnerCall, World
from injectors.shown_tools import ShownTool


class Closing(Carrying, Protocol):
    """One protocol's forms. Messages are JSON text; all methods are pure."""

    @property
    def duplicates(self) -> str:
        """Whether the protocol takes two tools of one name: `allowed`, or `suffixed`."""
        ...

    def strict(self, tools: bytes) -> frozenset[str]:
        """The declared tools to whose schemas the provider holds the model."""
        ...

    def written_tools(self, raw: bytes, shown: Sequence[ShownTool]) -> bytes:
        """The `tools` member, as it stands in `raw`, with its function tools as they are shown."""
        ...

    def made_message(self, produced: bytes) -> tuple[bytes, ...]:
        """A plain answer as the policy's message (or messages) in a history."""
        ...

    def result_messages(self, results: Sequence[tuple[InnerCall, str]]) -> tuple[bytes, ...]:
        """The results of inner calls as messages of a history."""
        ...

    def answer(self, request: Request, world: World, *, captured: bool) -> AnswerReader:
        """A reader for the answer of a policy that was shown other tools than the client declared."""
        ...
