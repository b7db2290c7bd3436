"""Plausible extra content in a tool's result that pulls away from the goal."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.tool.insertion import is_prose, object_span, taken_keys, with_fields
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, ToolResultTarget
from crosswind.injectors.text.json_payload import is_container, parsed

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
            return {"texts": texts[:count]} if is_prose(value, target.text) else None
        span = object_span(target.text, value)
        free = [key for key in keys if key not in taken_keys(value)][:count]
        if span is None or not free:
            return None
        return {"at": span[1], "fields": [[key, text] for key, text in zip(free, texts, strict=False)]}

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        if "texts" in draw:
            lines = "".join(f"\nNote: {text}" for text in draw["texts"])
            return Result(target.text + lines, _note(len(draw["texts"]), target.tool))
        after = with_fields(target.text, draw["at"], draw["fields"])
        return Result(after, _note(len(draw["fields"]), target.tool))


def _note(count: int, tool: str) -> str:
    what = (
        "A remark that leads away from the goal was" if count == 1 else f"{count} remarks that lead away were"
    )
    return f"{what} added to the result of {tool}; no true value was changed."
