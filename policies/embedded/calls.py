"""Tool calls in sampled text, in the form that Hermes models made common: <tool_call>{"name": …, "arguments":
{…}}</tool_call>.

A call that isn't well formed stays in the content as it is: nothing of what was sampled is lost or mended.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

OPENING, CLOSING = "<tool_call>", "</tool_call>"
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class ParsedText:
    """Plain content."""

    text: str


@dataclass(frozen=True, slots=True)
class ParsedCall:
    """A well-formed call. `arguments` is the JSON text as it was sampled."""

    name: str
    arguments: str


Part = ParsedText | ParsedCall


def parse_call(body: str) -> ParsedCall | None:
    """The call that stands between the markers; None where it isn't {"name": string, "arguments": object}."""
    try:
        value = json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return None
    if value.keys() != {"name", "arguments"} or not isinstance(value["arguments"], dict):
        return None
    return ParsedCall(
        value["name"], _raw_arguments(body) or json.dumps(value["arguments"], ensure_ascii=False)
    )


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _raw_arguments(body: str) -> str | None:
    """The arguments' own characters, where they come last, as in every call of a well-trained policy."""
    _, found, rest = body.rpartition('"arguments":')
    start = len(rest) - len(rest.lstrip())
    try:
        _, end = _DECODER.raw_decode(rest, start)
    except ValueError:
        return None
    return rest[start:end] if found and rest[end:].strip() == "}" else None


class CallParser:
    """Splits text that arrives piece by piece. What may yet become a call is held back until then."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> list[Part]:
        """The parts that are certain now, in order."""
        self._held += text
        parts: list[Part] = []
        while self._held:
            before, opening, after = self._held.partition(OPENING)
            if not opening:
                keep = _partial_opening(self._held)
                _add_text(parts, self._held[: len(self._held) - keep])
                self._held = self._held[len(self._held) - keep :]
                break
            body, closing, rest = after.partition(CLOSING)
            _add_text(parts, before)
            self._held = opening + after
            if not closing:
                break
            call = parse_call(body)
            if call is None:
                _add_text(parts, opening + body + closing)
            else:
                parts.append(call)
            self._held = rest
        return parts

    def finish(self) -> list[Part]:
        """What was held back: no call came of it."""
        held, self._held = self._held, ""
        return [ParsedText(held)] if held else []


def _partial_opening(text: str) -> int:
    """How many characters at the end may be the beginning of an opening marker."""
    for length in range(min(len(OPENING) - 1, len(text)), 0, -1):
        if OPENING.startswith(text[-length:]):
            return length
    return 0


def _add_text(parts: list[Part], text: str) -> None:
    if not text:
        return
    if parts and isinstance(parts[-1], ParsedText):
        parts[-1] = ParsedText(parts[-1].text + text)
    else:
        parts.append(ParsedText(text))
