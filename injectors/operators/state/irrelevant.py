"""Goal-irrelevant state text in an observation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.insertion import insert_fields, object_span, taken_keys
from crosswind.injectors.operators.state import foreign, grid, household, key_values, shop_pages
from crosswind.injectors.operators.state.scene import Scene, scene_of
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, ToolResultTarget
from crosswind.injectors.text.edits import edited
from crosswind.injectors.text.json_payload import parsed

MOST = 400
"""The volume ε at severity 1, in characters."""

_PACKS: Mapping[Scene, Callable[[str, int, Stream], list[dict[str, Any]]]] = {
    Scene.SHOP: shop_pages.entries,
    Scene.GRID: grid.lines,
    Scene.OTHER: foreign.page,
}


@operator(
    "state.irrelevant",
    site=Site.TOOL_RESULT,
    recovery=Recovery.IGNORE,
    source="State augmentation (Generalization Tax), section 6 and appendix C",
)
class Irrelevant:
    """State text that has nothing to do with the goal, added to an observation.

    Severity: the volume ε is 400 x severity characters, counted as the paper counts it: ⌊ε/12⌋ sentences on
    household objects at random places of a room, ⌊ε/10⌋ lines on things outside a coordinate grid, entries,
    features and advertisements on a shop's page. Ours: fields of ε characters in JSON, and a piece of a
    shop's page (ε characters) in any other text. Ids are new to the scene; goal, instructions and lists of
    actions are left as they are, and so is every word of the observation. In users' messages it acts where a
    rule's `observation` marks one.
    """

    def draw(self, target: ToolResultTarget, rng: Stream, severity: float) -> Draw | None:
        text, volume = target.text, round(MOST * severity)
        scene = scene_of(text)
        if scene is None:
            return None
        if scene is not Scene.DATA:
            edits = _edits(scene, target, volume, rng)
            return {"scene": scene.value, "edits": edits} if edits else None
        value = parsed(text)
        span = object_span(text, value)
        fields = key_values.fields(taken_keys(value), text, volume, rng) if span else []
        if span is None or not fields:
            return None
        return {"scene": scene.value, "at": span[1], "fields": [list(field) for field in fields]}

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        if "fields" in draw:
            after = insert_fields(target.text, draw["at"], [(key, value) for key, value in draw["fields"]])
        else:
            after = edited(target.text, draw["edits"])
        added = len(after) - len(target.text)
        note = (
            f"{added} characters of irrelevant state ({draw['scene']}) were added to {target.tool}'s result."
        )
        return Result(after, note)


def _edits(scene: Scene, target: ToolResultTarget, volume: int, rng: Stream) -> list[dict[str, Any]]:
    if scene is Scene.HOUSEHOLD:
        return household.sentences(target.text, volume, rng, target.beside)
    return _PACKS[scene](target.text, volume, rng)
