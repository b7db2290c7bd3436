"""The language model that writes noise where an operator may have one write, and the one that judges it."""

from __future__ import annotations

import os
from functools import cached_property
from typing import Annotated, Self

from pydantic import Field, SecretStr, field_validator, model_validator

from crosswind.gateway.config.sections import Positive, Seconds, Section
from crosswind.gateway.config.upstream import http_url


class ChatModel(Section):
    """A model behind an OpenAI-compatible server."""

    url: str
    """The server's base URL with its version segment: http://host:8000/v1."""
    model: str
    """Its name in requests."""
    key: SecretStr | None = None
    key_env: str | None = None
    """The environment variable that holds the key."""
    timeout: Seconds = 30.0
    """For one call, from connecting to the last byte."""
    max_tokens: Positive = 1024
    temperature: Annotated[float, Field(ge=0, le=2)] = 1.0

    @field_validator("url")
    @classmethod
    def _http(cls, value: str) -> str:
        return http_url(value)

    @model_validator(mode="after")
    def _one_key(self) -> Self:
        if self.key is not None and self.key_env is not None:
            raise ValueError("give either `key` or `key_env`")
        if self.key_env is not None and not os.environ.get(self.key_env):
            raise ValueError(f"the variable {self.key_env} (key_env) is not set; set it")
        return self

    @cached_property
    def secret(self) -> str | None:
        """The key, wherever it was given."""
        if self.key is not None:
            return self.key.get_secret_value()
        return os.environ[self.key_env] if self.key_env else None


class Judge(ChatModel):
    """A model that scores what the other one wrote, from 1 to 5."""

    least: Annotated[float, Field(ge=1, le=5)] = 4.0
    """What scores less is refused."""
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0


class NoiseModel(ChatModel):
    """A model that writes noise. Whatever it does, traffic goes on: by rule, where its text isn't there."""

    operators: tuple[str, ...] = ("*",)
    """Names or globs of the operators for which it writes, of those that may have one write."""
    wait: Annotated[float, Field(ge=0)] = 2.0
    """How long a request waits for texts, in seconds. 0: what isn't at hand already is done by rule."""
    concurrency: Positive = 8
    """Calls at a time, per process."""
    failures: Positive = 3
    """Calls in a row that fail, after which none is made for `pause` seconds."""
    pause: Seconds = 30.0
    judge: Judge | None = None
