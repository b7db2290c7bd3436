"""What a text transcript says, and the registry of its formats."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Protocol, TypeVar

import structlog

from crosswind.injectors.conversation import ToolCall

_log = structlog.get_logger("crosswind.transcripts")
T = TypeVar("T")


class Speaker(Enum):
    """Whose words a piece of a user's message is."""

    USER = "user"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a user's message. What lies between the pieces is the agent's template, or the policy's own
    words.
    """

    start: int
    end: int
    speaker: Speaker
    call: ToolCall | None = None
    """The call that a result answers, if it can be told."""


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A user's message: its pieces in order, and what the policy said in it, by step."""

    pieces: tuple[Piece, ...]
    steps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PolicyMessage:
    """A text of the policy's, without what its agent has written into it."""

    said: str
    calls: tuple[ToolCall, ...] = ()
    step: str = ""
    """The step as the history of a `UserMessage` will have it."""


class TranscriptFormat(Protocol):
    """How one kind of agent writes calls and results as text. Both methods are pure, and never raise."""

    markers: tuple[str, ...]
    """A text without any of these isn't written so: it isn't read."""

    def read_policy(self, text: str) -> PolicyMessage | None:
        """Read a text of the policy's; None: it isn't written so."""
        ...

    def read_user(self, text: str, calls: Sequence[ToolCall]) -> UserMessage | None:
        """Read a text of a user's message; None: it isn't written so. `calls` are those in the policy's
        message before it.
        """
        ...


@cache
def transcript_formats() -> tuple[TranscriptFormat, ...]:
    package = importlib.import_module("crosswind.gateway.transcripts.formats")
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    return tuple(importlib.import_module(f"{package.__name__}.{name}").FORMAT for name in names)


@cache
def markers() -> re.Pattern[str]:
    """Finds the markers of all formats: a text without any of them is no transcript."""
    return re.compile("|".join(re.escape(marker) for one in transcript_formats() for marker in one.markers))


def read_policy(text: str) -> PolicyMessage | None:
    """Read a text of the policy's in the first format that it is written in."""
    return _read(lambda one: one.read_policy(text)) if markers().search(text) else None


def read_user(text: str, calls: Sequence[ToolCall]) -> UserMessage | None:
    """Read a text of a user's message in the first format that it is written in."""
    return _read(lambda one: one.read_user(text, calls)) if markers().search(text) else None


def _read(read: Callable[[TranscriptFormat], T | None]) -> T | None:
    for one in transcript_formats():
        try:
            found = read(one)
        except Exception as error:
            # A format that fails must not break traffic: the text is read as any other.
            _log.warning("a transcript can't be read", format=type(one).__name__, error=repr(error))
            continue
        if found is not None:
            return found
    return None


def make_step(*parts: str) -> str:
    """What the policy said in a step, whatever the spaces around its parts."""
    return "\x1f".join(part.strip() for part in parts)
