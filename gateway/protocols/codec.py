"""A protocol's codec, and how a request finds it. The package's docstring says what a protocol brings."""

from __future__ import annotations

import importlib
import pkgutil
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache
from typing import Any

from crosswind.gateway.errors import ConfigurationError, ServiceError
from crosswind.gateway.protocols.answer import AnswerReader
from crosswind.gateway.protocols.frame import Frame, FrameCache, RequestOptions
from crosswind.gateway.protocols.history import Mask
from crosswind.gateway.protocols.history_cache import HistoryCache
from crosswind.gateway.protocols.message_format import MessageFormat
from crosswind.gateway.protocols.provider_errors import ProviderErrors
from crosswind.gateway.protocols.request import NO_PARAMETERS, Request, SplitBody
from crosswind.gateway.protocols.server_history import ServerHistories
from crosswind.gateway.protocols.tool_mapping import ToolMapping
from crosswind.gateway.protocols.tools import TOOL_LISTS
from crosswind.injectors.conversation import Conversation, ToolSchema

REQUEST_ID = b"x-request-id"
"""The header in which most providers name a request."""


class Codec(ABC):
    """One protocol: a body to a conversation and back, an answer to a record, an error in its own form."""

    name: str
    """The name of its folder, which turns are recorded under and the configuration's `protocols` lists."""
    root = "/v1"
    """The first segment of its routes, which an upstream's base URL has too."""
    path: str
    """Its route behind the root: a regular expression, whose named groups are given to `split`."""
    resources: tuple[str, ...] = ()
    """The first segments of routes behind the root that belong to the protocol too, and are passed through.
    """
    client_header: bytes | None = None
    """A header that its clients send with every request, also on routes of no protocol."""
    request_id_header = REQUEST_ID
    """The header in which its providers name a request."""
    operation = "chat"
    """The operation's name in traces (`gen_ai.operation.name`)."""
    message_format: MessageFormat
    """How a message of its history is read and written."""
    history_member = "messages"
    """The member of a body that holds the history."""
    system_member: str | None = None
    """The member that holds a system prompt, where it isn't one of the messages."""
    returns_tokens = False
    """Whether engines that give token ids give them on this route."""
    tool_mapping: ToolMapping | None = None
    """How its tools and calls are mapped; None if it has no tools."""
    provider_errors: ProviderErrors | None = None
    """How its providers word their faults; None if faults of the model don't apply."""

    def __init__(self) -> None:
        self._frames = FrameCache()

    def split(
        self, body: bytes, reader: SessionReader | None = None, parameters: Mapping[str, str] = NO_PARAMETERS
    ) -> SplitBody | None:
        """Split a body into its messages; None if it is no request that we can read, which is then forwarded
        unchanged. `reader`: the one of its likely session, which spares work and changes no result.
        `parameters`: the named groups of `path`; a stored body comes without.
        """
        histories = None if reader is None else reader.histories
        return SplitBody.of_messages(body, self.history_member, self._frames, histories, parameters)

    def read(self, split: SplitBody, reader: SessionReader, mask: Mask) -> Request:
        """Read what is new in a body since the session's last turn."""
        return reader.read_request(split, mask)

    def read_options(self, frame: Frame) -> RequestOptions:
        """Read what a frame asks for. It is read once, while the frame stays."""
        return RequestOptions(frame.value("stream") is True, self.declared_tools(frame))

    def declared_tools(self, frame: Frame) -> tuple[ToolSchema, ...]:
        """The tools that a frame declares."""
        return TOOL_LISTS.read(self.read_tools, frame.raw("tools"))

    def read_tools(self, declared: Any) -> list[ToolSchema]:
        """Read a decoded `tools` member, whatever it is."""
        return [] if self.tool_mapping is None else self.tool_mapping.read_schemas(declared)

    def capture_edits(
        self, request: Request, *, training: bool, top: int
    ) -> tuple[dict[str, bytes | None], tuple[str, ...]]:
        """The members that token capture adds or changes, and the sampling knobs that it neutralises
        (training only). `top`: of how many likeliest tokens it asks the log-probabilities.
        """
        return {}, ()

    @abstractmethod
    def answer_reader(self, request: Request, *, captured: bool) -> AnswerReader:
        """A reader for the answer to a request."""

    def error_body(self, error: ServiceError) -> bytes:
        """An error of ours as the protocol's body: OpenAI's, which most protocols share."""
        return error.body()

    def error_event(self, error: ServiceError) -> bytes:
        """An error of ours as the event that ends a stream."""
        return b"data: " + self.error_body(error) + b"\n\n"


class SessionReader:
    """What a session has read in one protocol: histories, also those that the upstream holds, and tools."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._format = codec.message_format
        self.server_histories = ServerHistories(self._format)
        self.histories = HistoryCache(self._format, self.server_histories.items)
        self.recalled = 0
        """How many of the session's responses are known, as `TurnLine.responses` has them."""

    def read_options(self, frame: Frame) -> RequestOptions:
        """What a frame asks for, which is read once."""
        if frame.options is None:
            frame.options = self._codec.read_options(frame)
        return frame.options

    def read_request(self, split: SplitBody, mask: Mask, options: RequestOptions | None = None) -> Request:
        """Read a body that holds its whole history."""
        frame, length = split.frame, len(split.spans)
        options = options or self.read_options(frame)
        history = (
            self.histories.read(split.body, frame, split.spans, mask, split.known)
            if length
            else self.histories.empty()
        )
        return Request(
            split=split,
            frame=frame,
            message_format=self._format,
            steps=tuple(history.steps if length == len(history.steps) else history.steps[:length]),
            chain=history.steps[length - 1].received if length else None,
            history=history,
            conversation=Conversation(history.items(length), options.tools),
            model=split.model,
            stream=options.stream,
            choices=options.choices,
            requested=options.requested,
        )


@cache
def codecs() -> Mapping[str, Codec]:
    """All codecs by name: the `CODEC` of the module `codec` in each folder of this package. Raises
    ConfigurationError if a folder has none that can be imported.
    """
    package = importlib.import_module("crosswind.gateway.protocols")
    folders = (module.name for module in pkgutil.iter_modules(package.__path__) if module.ispkg)
    found = map(_load_codec, folders)
    return {codec.name: codec for codec in found}


def _load_codec(folder: str) -> Codec:
    try:
        codec: Codec = importlib.import_module(f"crosswind.gateway.protocols.{folder}.codec").CODEC
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(
            f"the protocol in gateway/protocols/{folder} can't be loaded: {error}; complete or remove it"
        ) from error
    return codec


@cache
def api_roots() -> frozenset[str]:
    """The roots of all protocols: requests under them go to an upstream."""
    return frozenset(codec.root for codec in codecs().values())


@cache
def _literal_paths() -> Mapping[str, Codec]:
    return {codec.root + codec.path: codec for codec in codecs().values()}


def find_codec(path: str) -> tuple[Codec, Mapping[str, str]] | None:
    """The protocol to whose turns a path, with its root, leads, and the parameters in the path."""
    codec = _literal_paths().get(path)
    if codec is not None:
        return codec, NO_PARAMETERS
    for codec in codecs().values():
        if found := re.fullmatch(codec.root + codec.path, path):
            return codec, found.groupdict()
    return None


def codec_of_resource(path: str) -> Codec | None:
    """The protocol to which a route behind the root (`/messages/count_tokens`) belongs."""
    resource = path.strip("/").partition("/")[0]
    return next((codec for codec in codecs().values() if resource in codec.resources), None)


def codec_of_client(headers: Mapping[bytes, bytes], path: str) -> Codec | None:
    """The protocol in which a client understands errors on a route of no protocol, if that can be told."""
    sent = (codec for codec in codecs().values() if codec.client_header in headers)
    return next(sent, None) or codec_of_resource(path)


def write_refusal(head: bytes, error: ServiceError) -> bytes:
    """An error's body for the client whose request begins so, as far as its headers tell its protocol."""
    names = {line.partition(b":")[0].strip().lower(): b"" for line in head.split(b"\r\n")[1:]}
    codec = codec_of_client(names, "")
    return error.body() if codec is None else codec.error_body(error)


def codec_named(name: str) -> Codec | None:
    """The codec that a turn's record names."""
    return codecs().get(name)
