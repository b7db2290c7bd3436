"""What a protocol's codec is, and how one is found: a module of this package per protocol, with a `CODEC`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from gateway.errors import ServiceError
from gateway.protocols.format import MessageFormat
from gateway.protocols.history import Histories, Mask
from gateway.protocols.request import Request, SplitBody
from gateway.protocols.tools import ReadTools, ToolReader
from gateway.sse import Event
from gateway.trajectory.record import Completion


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stream's event as far as relaying it goes. `raw` is what the client gets of it: nothing drops it."""

    raw: bytes
    calls_tools: bool = False
    completing: bool = False
    """Clients act on it: it is held until its turn is on record."""
    ended: bool = False
    """Nothing comes after it."""


class AnswerReader(Protocol):
    """Collects one answer, plain or streamed, and says what the client gets of it."""

    @property
    def prompt_ids(self) -> list[int] | None:
        """The prompt's token ids, where the engine gave them."""
        ...

    @property
    def usage(self) -> Mapping[str, Any]:
        """The usage as the upstream reported it."""
        ...

    @property
    def error(self) -> Mapping[str, Any] | None:
        """An error that the answer itself carries, in a 200's stream for one."""
        ...

    def read_body(self, body: bytes) -> bytes:
        """Read a plain answer; gives the body for the client: the very same object where nothing changed."""
        ...

    def read_event(self, event: Event) -> Chunk:
        """Read one event of a streamed answer."""
        ...

    @property
    def finished(self) -> bool:
        """Whether the answer came to its end."""
        ...

    def produced(self) -> bytes:
        """The answer as one plain body: what came, or what a stream's events amount to."""
        ...

    def text(self, name: str) -> str | None:
        """A text member of the answer's head: `id`, `model`."""
        ...

    def completions(self) -> tuple[Completion, ...]:
        """The choices as sampled."""
        ...

    def fitness(self) -> str:
        """FIT, or the first reason why this answer can't be trained on."""
        ...


class Codec(Protocol):
    """One protocol: body to conversation and back, answer to record, error to the protocol's own shape."""

    @property
    def name(self) -> str:
        """Recorded as the turn's protocol."""
        ...

    @property
    def path(self) -> str:
        """The route under /v1."""
        ...

    @property
    def messages(self) -> MessageFormat:
        """How a message of its history reads."""
        ...

    @property
    def tools(self) -> ReadTools:
        """How its `tools` member reads."""
        ...

    @property
    def tokens(self) -> bool:
        """Whether engines that give token ids give them on this route."""
        ...

    def split(self, body: bytes) -> SplitBody | None:
        """None where the body is no request that we can read: it is then forwarded as it came."""
        ...

    def read(self, split: SplitBody, reader: Reader, mask: Mask) -> Request:
        """Read what is new in a body since the session's last turn."""
        ...

    def capture_edits(
        self, request: Request, *, training: bool
    ) -> tuple[dict[str, bytes | None], tuple[str, ...]]:
        """The members that token capture adds or changes, and the sampling knobs that it neutralised
        (training only). Asked where `tokens` only.
        """
        ...

    def answer(self, request: Request, *, captured: bool) -> AnswerReader:
        """A reader for the answer to a request."""
        ...

    def error(self, error: ServiceError) -> bytes:
        """An error of ours as the protocol's body."""
        ...

    def error_event(self, error: ServiceError) -> bytes:
        """An error of ours as the protocol's event, for a stream that can't be completed."""
        ...


class Reader:
    """What a session has read in one protocol: its histories and its tools."""

    def __init__(self, codec: Codec) -> None:
        self.histories = Histories(codec.messages)
        self.tools = ToolReader(codec.tools)


@cache
def codecs() -> Mapping[str, Codec]:
    """The codecs by the path of their route."""
    package = importlib.import_module("gateway.protocols")
    modules = [
        importlib.import_module(f"{package.__name__}.{found.name}")
        for found in pkgutil.iter_modules(package.__path__)
    ]
    found: list[Codec] = [module.CODEC for module in modules if hasattr(module, "CODEC")]
    return {codec.path: codec for codec in found}


def codec_named(name: str) -> Codec | None:
    """The codec that a turn's record names."""
    return next((codec for codec in codecs().values() if codec.name == name), None)
