"""A scripted provider as the model that writes texts for noise."""

from __future__ import annotations

from typing import Any

from crosswind.testing import Answer, MessageItem, ScriptedProvider, Step


def writer(*steps: Step | str) -> ScriptedProvider:
    """A model that writes these texts one after the other, or by these steps."""
    return ScriptedProvider(
        *(Answer(step) if isinstance(step, str) else step for step in steps), strict=False
    )


def configured(scribe: ScriptedProvider, **more: Any) -> dict[str, Any]:
    """The setting `noise_model` for it."""
    return {"url": scribe.base_url, "model": "scribe", "wait": 10.0, **more}


def prompts(scribe: ScriptedProvider) -> list[tuple[str, str]]:
    """The system prompts and materials that it was given."""
    asked = ([item.text for item in one.items if isinstance(item, MessageItem)] for one in scribe.dialogues)
    return [(system, material) for system, material in asked]
