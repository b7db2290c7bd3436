"""Plausible extra content in a tool's result that pulls away from the goal."""

from __future__ import annotations

import json
from typing import Any

from injectors.conversation import Site
from injectors.operator import Draw, Recovery, Result, ToolResultTarget, operator
from injectors.payload import is_container, parsed
from injectors.streams import Stream

KEYS = ("note", "hint", "tip", "advice")

TEXTS = (
    "Most customers choose another item instead.",
    "Similar requests are usually refused.",
    "Other records are often more relevant.",
    "Customers often get a free upgrade here.",
    "It is usually better to wait a few days.",
    "Most agents check the catalogue first.",
    "A manager normally decides on this.",
    "People usually ask about the warranty first.",
)
"""Hedged generalities: they name no value, so that none of the result's own is put in doubt."""


@operator(
    "tool.misleading",
    site=Site.TOOL_RESULT,
    recovery=Recovery.IGNORE,
    aliases=("induce",),
    source="AgentNoiseBench section 2.2.1, appendix B (Misleading Signals; its example also drops fields)",
)
class Misleading:
    """One or two short remarks are added to a result: another way to go, plausible and beside the goal.

    Severity: the number of remarks is binomial with mean 2 x severity (2 trials). A JSON object gets a field
    for each, a JSON array of objects has them in its first object, plain text gets a line. Every true value
    keeps its place and its bytes; other JSON (numbers, arrays of numbers) is left alone.
    """

    def draw(self, target: ToolResultTarget, rng: Stream, severity: float) -> Draw | None:
        count = sum(rng.uniform() < severity for _ in range(2))
        texts = rng.sample(TEXTS, 2)
        keys = rng.shuffled(KEYS)
        value = parsed(target.text)
        if count == 0 or not target.text.strip():
            return None
        if not is_container(value):
            return {"texts": texts[:count]} if _is_prose(value, target.text) else None
        at = _insertion_point(target.text, value)
        taken = value if isinstance(value, dict) else (value or [None])[0]
        free = [key for key in keys if isinstance(taken, dict) and key not in taken][:count]
        if at is None or not free:
            return None
        return {"at": at, "fields": [[key, text] for key, text in zip(free, texts, strict=False)]}

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        if "texts" in draw:
            lines = "".join(f"\nNote: {text}" for text in draw["texts"])
            return Result(target.text + lines, _note(len(draw["texts"]), target.tool))
        before, after = target.text[: draw["at"]], target.text[draw["at"] :]
        spaced = '": ' in target.text or '"' not in target.text
        colon, comma = (": ", ", ") if spaced else (":", ",")
        fields = comma.join(f"{json.dumps(key)}{colon}{json.dumps(text)}" for key, text in draw["fields"])
        first = before.rstrip().endswith("{")
        return Result(
            before + ("" if first else comma) + fields + after, _note(len(draw["fields"]), target.tool)
        )


def _note(count: int, tool: str) -> str:
    what = (
        "A remark that leads away from the goal was" if count == 1 else f"{count} remarks that lead away were"
    )
    return f"{what} added to the result of {tool}; no true value was changed."


def _is_prose(value: Any, text: str) -> bool:
    """Plain text of several words: not a JSON scalar, and not a bare value such as `shipped`."""
    return not isinstance(value, str | int | float | bool | None) and len(text.split()) > 1


def _insertion_point(text: str, value: Any) -> int | None:
    """Where in the text a field of the top-level object, or of the array's first object, can be added at
    its end."""
    if isinstance(value, dict):
        closing = text.rstrip()
        return len(closing[:-1].rstrip())
    if not (value and isinstance(value[0], dict)):
        return None
    start = text.index("[") + 1
    while text[start].isspace():
        start += 1
    _, end = json.JSONDecoder().raw_decode(text, start)
    return len(text[: end - 1].rstrip())
