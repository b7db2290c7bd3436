"""Validate what third parties' operators return: draws that can be stored, payloads that fit the site."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from crosswind.injectors.conversation import Site
from crosswind.injectors.faults import Fault, fault_from
from crosswind.injectors.targets import Draw, Result, ToolChange


class OperatorFailed(Exception):
    """A third party's operator broke the contract; the message says how, as part of a sentence."""


LONGEST = 4 << 20
"""Characters of a text, at most."""


def check_draw(name: str, draw: object) -> Draw | None:
    """The draw as it will be stored, as JSON data. OperatorFailed if it isn't."""
    if draw is None:
        return None
    try:
        stored = _to_json(draw)
    except (TypeError, ValueError, RecursionError) as error:
        raise OperatorFailed(f"{name} drew what is no JSON data ({error})") from error
    if not isinstance(stored, dict):
        raise OperatorFailed(f"{name} drew {type(draw).__name__}, not a mapping")
    return stored


def _to_json(draw: object) -> Any:
    try:
        return msgspec.json.decode(msgspec.json.encode(draw))
    except UnicodeEncodeError:
        # A lone surrogate, which Python clients send: it is stored escaped.
        return json.loads(json.dumps(draw, allow_nan=False))


def check_result(name: str, site: Site, result: object) -> Result:
    """The result with a payload for the operator's site; a fault's settings become the fault. OperatorFailed
    where it has none.
    """
    if not isinstance(result, Result):
        raise OperatorFailed(f"{name} gave {type(result).__name__}, not a Result")
    if not isinstance(result.note, str):
        raise OperatorFailed(f"{name} gave a note that is no text")
    try:
        return Result(_check_payload(site, result.payload), result.note)
    except ValueError as error:
        raise OperatorFailed(f"{name} gave {error}") from error


def _check_payload(site: Site, payload: object) -> str | ToolChange | Fault:
    if site in (Site.TRANSPORT, Site.MODEL_RESPONSE):
        return fault_from(payload.settings() if isinstance(payload, Fault) else payload)
    if site is Site.TOOL_SCHEMA:
        if not isinstance(payload, ToolChange):
            raise ValueError(f"{type(payload).__name__}, not a ToolChange")
        return payload
    if not isinstance(payload, str):
        raise ValueError(f"{type(payload).__name__} in place of a text")
    if len(payload) > LONGEST:
        raise ValueError(f"a text of {len(payload)} characters")
    return payload
