"""Where an added tool comes to stand, what it takes, and how a description goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import ToolTarget


def drawn_place(target: ToolTarget, rng: Stream) -> str:
    """The declared tool behind which the added one stands, each as likely; "" stands for the first place."""
    return rng.choice(["", *(tool.name for tool in target.declared)])


def drawn_order(rng: Stream) -> str:
    """The seed of a shuffle."""
    return f"{rng.integer(0, 2**32 - 1):08x}"


def no_parameters() -> dict[str, Any]:
    """The schema of a tool that takes nothing."""
    return {"type": "object", "properties": {}}


def of_object(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as a whole schema: clients leave the type or the properties out."""
    return {**parameters, "type": "object", "properties": dict(parameters.get("properties") or {})}


def with_sentence(description: str, sentence: str) -> str:
    """The description with one more sentence."""
    said = description.rstrip()
    if not said:
        return sentence
    return f"{said}{'' if said[-1] in '.!?:;' else '.'} {sentence}"
