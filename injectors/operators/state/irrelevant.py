"""Goal-irrelevant state text in an observation."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.insertion import find_insertion_points, insert_fields, list_fields
from crosswind.injectors.operators.state.scenes import Scene, find_end, find_gaps, find_goal, recognise_scene
from crosswind.injectors.operators.words.scenes import (
    DATA_FIELDS,
    FOREIGN_ENTRIES,
    FOREIGN_OPENING,
    GRID_PLACES,
    GRID_THINGS,
    HOUSEHOLD_LOOKS,
    HOUSEHOLD_OBJECTS,
    HOUSEHOLD_SENTENCES,
    SHOP_CLOTHES,
    SHOP_FEATURES,
    SHOP_FLAWS,
    SHOP_PRAISE,
    SHOP_PRODUCTS,
)
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, ToolResultTarget
from crosswind.injectors.text.edits import apply_edits, make_edit
from crosswind.injectors.text.json_payload import parse_json

MOST = 400
"""The volume ε at severity 1, in characters."""

PER_SENTENCE, PER_LINE = 12, 10
"""The volume of a household sentence and of a grid line, as the paper counts it: 300 is 25 sentences."""

SHARE = 0.5
"""The paper's alpha: the share of a result page's ten extra slots that a volume of 100 fills."""

_RESULTS = re.compile(r"\bPage \d+\b|\bTotal results\b|\bresults\b", re.IGNORECASE)
_NUMBER = re.compile(r"(?<!\d)\d{1,4}(?!\d)")
_ID = re.compile(r"(?<!\d)\d{1,6}(?!\d)")


@operator(
    "state.irrelevant",
    site=Site.TOOL_RESULT,
    recovery=Recovery.IGNORE,
    source="State augmentation (Generalization Tax), section 6 and appendix C",
    effect=Effect.ADDS,
)
class IrrelevantState:
    """State text that has nothing to do with the goal, added to an observation.

    Severity: the volume ε is 400 x severity characters, counted as the paper counts it: ⌊ε/12⌋ sentences on
    household objects at random places of a room, ⌊ε/10⌋ lines on things outside a coordinate grid, entries,
    features and advertisements on a shop's page. Ours: fields of ε characters in JSON, and a piece of a
    shop's page (ε characters) in any other text. Ids are new to the scene. The goal, instructions, lists of
    actions and every word of the observation stay unchanged. In users' messages it acts where a rule's
    `observation` marks one.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        text, volume = target.text, round(MOST * severity)
        scene = recognise_scene(text)
        if scene is None:
            return None
        if scene is not Scene.DATA:
            edits = _INSERTIONS[scene](target, volume, rng)
            return {"scene": scene.value, "edits": edits} if edits else None
        value = parse_json(text)
        span = find_insertion_points(text, value)
        fields = _draw_fields(list_fields(value), text, volume, rng) if span else []
        if span is None or not fields:
            return None
        return {"scene": scene.value, "at": span[1], "fields": [list(field) for field in fields]}

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        if "fields" in draw:
            after = insert_fields(target.text, draw["at"], [(key, value) for key, value in draw["fields"]])
        else:
            after = apply_edits(target.text, draw["edits"])
        added = len(after) - len(target.text)
        note = (
            f"{added} characters of irrelevant state ({draw['scene']}) were added to {target.tool}'s result."
        )
        return Result(after, note)


def _draw_household_sentences(
    target: ToolResultTarget, volume: int, rng: SeededRandom
) -> list[dict[str, Any]]:
    """Draw ⌊volume/12⌋ sentences at random places, each on an object with an id that is new to the scene.

    Its type is one that neither the scene nor a goal beside it mentions, as long as there is one. An object
    that is named beside the scene is left out.
    """
    text, beside = target.text, target.beside
    lowered = f"{text}\n{find_goal(beside)}".lower()
    absent = [name for name in HOUSEHOLD_OBJECTS if name not in lowered]
    places = find_gaps(text)
    # Ids continue after the scene's own, so that no object can be taken for one of them.
    last_id = max(map(int, _ID.findall(text)), default=0)
    made: list[dict[str, Any]] = []
    for number in range(1, volume // PER_SENTENCE + 1):
        thing = f"{rng.choice(absent or HOUSEHOLD_OBJECTS)} {last_id + number}"
        sentence = rng.choice(HOUSEHOLD_SENTENCES).format(thing, rng.choice(HOUSEHOLD_LOOKS))
        place = rng.choice(places)
        if not re.search(rf"\b{thing}\b", beside, re.IGNORECASE):
            made.append(make_edit(place, "", f" {sentence}"))
    return sorted(made, key=lambda one: one["at"])


def _draw_grid_lines(target: ToolResultTarget, volume: int, rng: SeededRandom) -> list[dict[str, Any]]:
    """Draw max(1, ⌊volume/10⌋) lines as one insertion. Their rows and columns are greater than any number in
    the text, so outside the grid that it describes; no two are the same.
    """
    if volume <= 0:
        return []
    # Greater than every number in the text, so outside the grid whatever its size.
    outside = max((int(number) for number in _NUMBER.findall(target.text)), default=0) + 1
    made: list[str] = []
    row = outside
    for _ in range(max(1, volume // PER_LINE)):
        column = outside + rng.integer(0, 9)
        made.append(
            f"\n({row}, {column}) shows a {rng.choice(GRID_THINGS)} ({rng.choice(GRID_PLACES)}; unreachable)."
        )
        row += rng.integer(1, 3)
    return [make_edit(find_end(target.text), "", "".join(made))]


def _draw_shop_entries(target: ToolResultTarget, volume: int, rng: SeededRandom) -> list[dict[str, Any]]:
    """Draw one insertion behind the page's own content. Result page: min(⌊(volume/100)·α·10⌋, 10) entries.
    Product page: max(1, ⌊volume/25⌋) features and max(1, ⌊volume/30⌋) advertisements.
    """
    text = target.text
    if volume <= 0:
        return []
    if _RESULTS.search(text):
        count = min(int(volume * SHARE * 10 / 100), 10)
        lines = [_draw_advertisement(rng) if rng.chance(0.5) else _draw_product(rng) for _ in range(count)]
    else:
        features = rng.shuffled(SHOP_FEATURES)
        lines = [features[at % len(features)] for at in range(max(1, volume // 25))]
        lines += [_draw_advertisement(rng) for _ in range(max(1, volume // 30))]
    between = " [SEP] " if "[SEP]" in text else "\n"
    return [make_edit(find_end(text), "", "".join(between + line for line in lines))] if lines else []


def _draw_advertisement(rng: SeededRandom) -> str:
    return f"[AD] {rng.choice(SHOP_PRAISE)}: see our {rng.choice(SHOP_CLOTHES)} today!"


def _draw_product(rng: SeededRandom) -> str:
    return f"{rng.choice(SHOP_PRODUCTS)}, {rng.choice(SHOP_FLAWS)} (can't be chosen)"


def _draw_foreign_page(target: ToolResultTarget, volume: int, rng: SeededRandom) -> list[dict[str, Any]]:
    """Draw a piece of a shop's page, of `volume` characters on average, as one insertion behind the
    observation.
    """
    point = rng.uniform()
    room = float(volume)
    shown: list[str] = []
    while room > 0:
        entry = rng.choice(FOREIGN_ENTRIES).format(rng.choice(SHOP_PRODUCTS), rng.choice(SHOP_FLAWS))
        sentence = entry if shown else FOREIGN_OPENING
        if room < len(sentence) and point >= room / len(sentence):
            break
        shown.append(sentence)
        room -= len(sentence) + 1
    return [make_edit(find_end(target.text), "", "\n" + " ".join(shown))] if shown else []


def _draw_fields(taken: set[str], text: str, volume: int, rng: SeededRandom) -> list[tuple[str, str]]:
    """Draw fields of `volume` characters of JSON on average. The scene has none of their names or values."""
    point = rng.uniform()
    room = float(volume)
    chosen: list[tuple[str, str]] = []
    for key in rng.shuffled(list(DATA_FIELDS)):
        value = rng.choice(DATA_FIELDS[key])
        if key in taken or key in text or value in text:
            continue
        length = len(json.dumps({key: value}))
        # The last one comes with the probability that makes the volume right on average.
        if room < length:
            return [*chosen, (key, value)] if point < room / length else chosen
        chosen.append((key, value))
        room -= length
    return chosen


_INSERTIONS: Mapping[Scene, Callable[[ToolResultTarget, int, SeededRandom], list[dict[str, Any]]]] = {
    Scene.HOUSEHOLD: _draw_household_sentences,
    Scene.SHOP: _draw_shop_entries,
    Scene.GRID: _draw_grid_lines,
    Scene.OTHER: _draw_foreign_page,
}
