"""What a shell does with one message of a tool leg."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

import msgspec


class Act(StrEnum):
    """What becomes of a message. The package's docstring says how a shell carries each out."""

    PASS = "pass"
    REPLACE = "replace"
    ANSWER = "answer"
    CLOSE = "close"
    DROP = "drop"


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    act: Act = Act.PASS
    body: bytes = b""
    """Of REPLACE, ANSWER and CLOSE."""
    wait_s: float = 0.0
    """How long to wait before."""
    status: int = 200
    """Of an ANSWER over HTTP."""
    retry_after_s: int | None = None
    close: Literal["cut", "reset", "end"] = "cut"
    sent: bytes = b""
    """What of an answer is sent before CLOSE."""
    copy: bytes = b""
    """What is sent to the server besides."""
    name: str | None = None
    """The tool's true name, where the message was changed to it."""
    key: object = None
    """Of the call that it is about: a cancelled one's wait ends."""


PASS = Decision()
DROP = Decision(act=Act.DROP)
