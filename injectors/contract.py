"""What an operator may give: checked of third parties' operators, whose authors may have erred."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import msgspec

from crosswind.injectors.conversation import Site
from crosswind.injectors.targets import Draw, Result, ToolChange


class OperatorFailed(Exception):
    """A third party's operator did what none may; the message says what, as part of a sentence."""


LONGEST = 4 << 20
"""Characters of a text, at most."""
LONGEST_WAIT_MS = 600_000.0

_WAITS = ("delay_ms", "hang_ms", "stall_ms")
_NUMBERS = (
    *_WAITS,
    *("bytes_per_s", "status", "keep", "times", "after_events", "pick", "retry_after_s"),
)
_PLACES = ("request", "response", "stream", "instead", "after")


def checked_draw(name: str, draw: object) -> Draw | None:
    """The draw as it will be stored, JSON data. OperatorFailed where it is none."""
    if draw is None:
        return None
    try:
        stored = _stored(draw)
    except (TypeError, ValueError, RecursionError) as error:
        raise OperatorFailed(f"{name} drew what is no JSON data ({error})") from error
    if not isinstance(stored, dict):
        raise OperatorFailed(f"{name} drew {type(draw).__name__}, not a mapping")
    return stored


def _stored(draw: object) -> Any:
    try:
        return msgspec.json.decode(msgspec.json.encode(draw))
    except UnicodeEncodeError:
        # A lone surrogate, which Python clients send: it is stored escaped.
        return json.loads(json.dumps(draw, allow_nan=False))


def checked_result(name: str, site: Site, result: object) -> Result:
    """The result, if it is one for the operator's site. OperatorFailed where it isn't."""
    if not isinstance(result, Result):
        raise OperatorFailed(f"{name} gave {type(result).__name__}, not a Result")
    if not isinstance(result.note, str):
        raise OperatorFailed(f"{name} gave a note that is no text")
    wrong = _wrong_payload(site, result.payload)
    if wrong is not None:
        raise OperatorFailed(f"{name} gave {wrong}")
    return result


def _wrong_payload(site: Site, payload: object) -> str | None:
    if site in (Site.USER_TEXT, Site.TOOL_RESULT):
        if not isinstance(payload, str):
            return f"{type(payload).__name__} in place of a text"
        return f"a text of {len(payload)} characters" if len(payload) > LONGEST else None
    if site is Site.TOOL_SCHEMA:
        return None if isinstance(payload, ToolChange) else f"{type(payload).__name__}, not a ToolChange"
    if not isinstance(payload, Mapping):
        return f"{type(payload).__name__} in place of settings"
    return _wrong_settings(payload)


def _wrong_settings(settings: Mapping[str, Any]) -> str | None:
    if settings.get("where") not in _PLACES:
        return f"`where` {settings.get('where')!r:.40}: use one of {', '.join(_PLACES)}"
    for name in _NUMBERS:
        value = settings.get(name, 0)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or value < 0:
            return f"`{name}` {value!r:.40}: use a number from 0"
    longest = max(settings.get(name, 0) for name in _WAITS)
    return f"a wait of {longest:g} ms: use {LONGEST_WAIT_MS:g} at most" if longest > LONGEST_WAIT_MS else None
