"""What a protocol's codec is, and how one is found: a module of this package per protocol, with a `CODEC`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from typing import Protocol

from crosswind.gateway.errors import ServiceError
from crosswind.gateway.protocols.answer import AnswerReader
from crosswind.gateway.protocols.history import Mask
from crosswind.gateway.protocols.history_cache import HistoryCache
from crosswind.gateway.protocols.message_format import MessageFormat
from crosswind.gateway.protocols.provider_errors import ProviderErrors
from crosswind.gateway.protocols.request import Request, SplitBody
from crosswind.gateway.protocols.server_history import ServerHistories
from crosswind.gateway.protocols.tool_mapping import ToolMapping
from crosswind.gateway.protocols.tools import ReadTools, ToolReader
from crosswind.injectors.conversation import Conversation


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
    def message_format(self) -> MessageFormat:
        """How a message of its history reads."""
        ...

    @property
    def read_tools(self) -> ReadTools:
        """How its `tools` member reads."""
        ...

    @property
    def system_member(self) -> str | None:
        """The member that holds a system prompt, where it isn't one of the messages."""
        ...

    @property
    def returns_tokens(self) -> bool:
        """Whether engines that give token ids give them on this route."""
        ...

    def split(self, body: bytes, reader: SessionReader | None = None) -> SplitBody | None:
        """None where the body is no request that we can read: it is then forwarded as it came. `reader`: of
        the session that it most likely belongs to; what comes out is the same.
        """
        ...

    def read(self, split: SplitBody, reader: SessionReader, mask: Mask) -> Request:
        """Read what is new in a body since the session's last turn."""
        ...

    @property
    def provider_errors(self) -> ProviderErrors | None:
        """Injected provider errors in this protocol's form; None where no agent speaks it."""
        ...

    @property
    def tool_mapping(self) -> ToolMapping | None:
        """How the client's world is closed; None where the protocol has no tools."""
        ...

    def capture_edits(
        self, request: Request, *, training: bool, top: int
    ) -> tuple[dict[str, bytes | None], tuple[str, ...]]:
        """The members that token capture adds or changes, and the sampling knobs that it neutralised
        (training only). `top`: of how many likeliest tokens it asks the log-probabilities. Asked where
        `tokens` only.
        """
        ...

    def answer_reader(self, request: Request, *, captured: bool) -> AnswerReader:
        """A reader for the answer to a request."""
        ...

    def error_body(self, error: ServiceError) -> bytes:
        """An error of ours as the protocol's body."""
        ...

    def error_event(self, error: ServiceError) -> bytes:
        """An error of ours as the protocol's event, for a stream that can't be completed."""
        ...


class SessionReader:
    """What a session has read in one protocol: its histories, also those that the upstream holds, and its
    tools.
    """

    def __init__(self, codec: Codec) -> None:
        self._messages = codec.message_format
        self.server_histories = ServerHistories(codec.message_format)
        self.histories = HistoryCache(codec.message_format, self.server_histories.items)
        self.recalled = 0
        """How many of the session's responses are known, as `TurnLine.responses` has them."""
        self.tools = ToolReader(codec.read_tools)

    def read_request(
        self, split: SplitBody, mask: Mask, *, choices: int = 1, asked: frozenset[str] = frozenset()
    ) -> Request:
        """Read a body that holds its whole history."""
        document = split.document
        length = len(split.spans)
        history = self.histories.read(document.body, split.first, split.spans, mask, split.known)
        items = history.items(length)
        model = document.value("model")
        return Request(
            split=split,
            message_format=self._messages,
            steps=tuple(history.steps[:length]),
            conversation=Conversation(items, self.tools.read(document.raw("tools"))),
            model=model if isinstance(model, str) else None,
            stream=document.value("stream") is True,
            choices=choices,
            requested=asked,
        )


@cache
def codecs() -> Mapping[str, Codec]:
    """The codecs by the path of their route: the `CODEC` of each protocol's module `codec`."""
    package = importlib.import_module("crosswind.gateway.protocols")
    found: list[Codec] = [
        importlib.import_module(f"{package.__name__}.{protocol.name}.codec").CODEC
        for protocol in pkgutil.iter_modules(package.__path__)
        if protocol.ispkg
    ]
    return {codec.path: codec for codec in found}


def codec_named(name: str) -> Codec | None:
    """The codec that a turn's record names."""
    return next((codec for codec in codecs().values() if codec.name == name), None)
