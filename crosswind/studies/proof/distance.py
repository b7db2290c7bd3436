"""How far an injection is from what it replaced: words edited, milliseconds waited, requests repeated."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from typing import Any

_WORD = re.compile(r"\w+")
_BYTES = 2048
"""The size of the answer for which a bandwidth is told in milliseconds."""


def unit_of(operator: str, site: str) -> str:
    """In what the distance of an operator's injections is told."""
    if operator == "transport.duplicated_delivery":
        return "requests repeated"
    return "ms" if site == "transport" else "words edited"


def distance(event: Mapping[str, Any]) -> float:
    """The distance of one event that took place, in its operator's unit."""
    if event["site"] != "transport":
        return float(words_edited(event["before"], event["after"]))
    settings = json.loads(event["after"])
    if settings["kind"] == "duplicate":
        return float(settings["times"]) - 1.0
    if "bytes_per_s" in settings:
        return 1000.0 * _BYTES / float(settings["bytes_per_s"])
    return float(settings.get("delay_ms", settings.get("stall_ms", 0.0)))


def words_edited(before: str, after: str) -> int:
    """Words that were put in, taken out or exchanged (of a run of other length the longer side counts)."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    blocks = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return sum(max(b - a, d - c) for tag, a, b, c, d in blocks if tag != "equal")
