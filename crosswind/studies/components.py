"""Which component of an agent's decision process each operator perturbs."""

from __future__ import annotations

from functools import cache

from crosswind.figures.attempts import Component
from crosswind.injectors import registry
from crosswind.injectors.conversation import Site
from crosswind.injectors.targets import Effect

_REWARD = ("user.cost_cue", "user.speed_cue", "schema.misleading_")
"""As RobustBench-TC has them: what an action seems to cost."""
_WORDING = ("schema.paraphrase_", "schema.reorder", "schema.type_mismatch")
"""Of the noise on tools, what tells of the same tools in another way."""


@cache
def kind_of(operator: str) -> tuple[str, Component | None]:
    """An operator's kind, which its name begins with, and its component; None for one that isn't installed.

    The components of the operators that RobustBench-TC has are the paper's. The others follow their site:
    what replaces a result or breaks an exchange is a transition, what changes a text is an observation.
    """
    kind = operator.partition(".")[0]
    entry = registry.operators().get(operator)
    if entry is None:
        return kind, None
    if operator.startswith(_REWARD):
        return kind, Component.REWARD
    if entry.site is Site.TOOL_SCHEMA:
        return kind, Component.OBSERVATION if operator.startswith(_WORDING) else Component.ACTION
    if entry.site in (Site.TRANSPORT, Site.MODEL_RESPONSE):
        return kind, Component.TRANSITION
    if entry.site is Site.TOOL_RESULT and entry.effect is Effect.REPLACES:
        return kind, Component.TRANSITION
    return kind, Component.OBSERVATION
