"""The tools that a client declares, read once per wording: clients resend them with every turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.protocols.document import decode
from injectors.conversation import ToolSchema

ReadTools = Callable[[Any], list[ToolSchema]]
"""Reads the decoded `tools` member of a protocol; never raises."""


class ToolReader:
    """Remembers the last wording."""

    def __init__(self, read: ReadTools) -> None:
        self._read = read
        self._raw = b""
        self._tools: tuple[ToolSchema, ...] = ()

    def read(self, raw: bytes | None) -> tuple[ToolSchema, ...]:
        """The tools of a body's member as it stands; None: it has none."""
        if raw is None:
            return ()
        if raw != self._raw:
            self._raw, self._tools = raw, tuple(self._read(decode(raw)))
        return self._tools
