"""For which operators a configured model writes, and what may be used of what it wrote."""

from __future__ import annotations

from fnmatch import fnmatchcase

from crosswind.gateway.config.noise_model import NoiseModel
from crosswind.gateway.trajectory.generated_text import GeneratedText
from crosswind.injectors.wording import Given


def writes_for(model: NoiseModel, operator: str) -> bool:
    """Whether the configuration has the model write for the operator."""
    return any(fnmatchcase(operator, pattern) for pattern in model.operators)


def seen_by_judge(model: NoiseModel, text: GeneratedText) -> bool:
    """Whether a text is judged, where there is a judge."""
    return model.judge is None or text.score is not None


def usable(model: NoiseModel, text: GeneratedText) -> Given:
    """What an operator may use of a text: nothing that the judge refused."""
    if model.judge is not None and text.score is not None and text.score < model.judge.least:
        why = f"the judge gave {text.score:g} of 5, where {model.judge.least:g} is the least"
        return Given(None, why=why)
    return Given(text.text, text.model)
