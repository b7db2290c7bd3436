"""Settings of the language model that writes noise, and of the model that judges its texts."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from crosswind.gateway.config.sections import Positive, Seconds, ServerKey
from crosswind.gateway.config.upstream import BaseUrl


class ChatModel(ServerKey):
    """A model behind an OpenAI-compatible server."""

    url: BaseUrl
    """The server's base URL with its version segment: http://host:8000/v1."""
    model: str
    """Its name in requests."""
    timeout: Seconds = 30.0
    """Seconds for one call, from connecting to the last byte."""
    max_tokens: Positive = 1024
    temperature: Annotated[float, Field(ge=0, le=2)] = 1.0


class Judge(ChatModel):
    """A model that scores the written texts from 1 to 5."""

    least: Annotated[float, Field(ge=1, le=5)] = 4.0
    """Texts with a lower score are refused."""
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0


class NoiseModel(ChatModel):
    """A model that writes noise. If it fails or is late, operators fall back to their rules."""

    operators: tuple[str, ...] = ("*",)
    """Names or globs of the operators that it writes for, among those that accept a model's text."""
    wait: Annotated[float, Field(ge=0)] = 2.0
    """Seconds that a request waits for texts. 0: use only the texts that are already cached."""
    concurrency: Positive = 8
    """Concurrent calls per process."""
    failures: Positive = 3
    """Failed calls in a row after which the model isn't called for `pause` seconds."""
    pause: Seconds = 30.0
    judge: Judge | None = None
