"""Goal-irrelevant state text in an observation."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.phrases import list_own
from crosswind.injectors.operators.state.fields import (
    OPERATOR,
    Drawn,
    draw_fields,
    fill_volume,
    list_fields,
    list_unmet,
    tells_year,
)
from crosswind.injectors.operators.state.scenes import Scene, find_end, find_gaps, find_goal, recognise_scene
from crosswind.injectors.operators.words.scenes import (
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
from crosswind.injectors.packs.domains import split_words
from crosswind.injectors.packs.draw import fill, shuffle_entries
from crosswind.injectors.packs.model import Entry
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, ToolResultTarget
from crosswind.injectors.text.edits import apply_edits, make_edit
from crosswind.injectors.text.json_payload import parse_json
from crosswind.injectors.text.languages import UNABLE

MOST = 400
"""The volume ε at severity 1, in characters."""

PER_SENTENCE, PER_LINE = 12, 10
"""The volume of a household sentence and of a grid line, as the paper counts it: 300 is 25 sentences."""

ELSEWHERE = 5
"""JSON and other texts get a fifth of the volume: as much as the paper gives a shop's page or a grid."""

SHARE = 0.5
"""The paper's alpha: the share of a result page's ten extra slots that a volume of 100 fills."""

_RESULTS = re.compile(r"\bPage \d+\b|\bTotal results\b|\bresults\b", re.IGNORECASE)
_NUMBER = re.compile(r"(?<!\d)\d{1,4}(?!\d)")


_NUMBERED = re.compile(rf"\b({'|'.join(HOUSEHOLD_OBJECTS)}) (\d{{1,6}})\b", re.IGNORECASE)


@operator(
    OPERATOR,
    site=Site.TOOL_RESULT,
    recovery=Recovery.IGNORE,
    source="State augmentation (Generalization Tax), section 6 and appendix C",
    effect=Effect.ADDS,
    version=9,
)
class IrrelevantState:
    """State text that has nothing to do with the goal, added to an observation.

    Severity: the volume ε is 400 x severity characters, counted as the paper counts it: ⌊ε/12⌋ sentences on
    household objects at random places of a room, ⌊ε/10⌋ lines on things outside a coordinate grid, entries,
    features and advertisements on a shop's page. In JSON, and in any other text, which the paper doesn't
    have, ε / 5 characters from the general English phrase pack. An object gets fields of what the tool's
    name says that it is about, of any record where it has an id, and of any answer. An error, a bare list
    and what a shell prints stay clean. Other text gets lines of its own kind, or none. Objects of a room are
    of types that it hasn't, or have new numbers. The goal, instructions, lists of actions and every word of
    the observation stay unchanged. In users' messages it acts where a rule's `observation` marks one.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        volume = round(MOST * severity)
        scene = recognise_scene(target.text)
        if scene is None:
            return None
        if scene in _INSERTIONS:
            edits = _INSERTIONS[scene](target, volume, rng)
            return {"scene": scene.value, "edits": edits} if edits else None
        if (why := _find_obstacle(target, scene)) is not None:
            return {"scene": scene.value, "edits": [], UNABLE: why} if volume else None
        draw_facts = draw_fields if scene is Scene.DATA else _draw_lines
        names, added = draw_facts(target, volume / ELSEWHERE, rng)
        if not added:
            return None
        edits = [make_edit(at, "", text) for at, text in sorted(added, key=lambda one: one[0])]
        return {"scene": scene.value, "phrases": names, "edits": edits}

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
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
    that is named beside the scene is none of them.
    """
    text, beside = target.text, target.beside
    lowered = f"{text}\n{find_goal(beside)}".lower()
    absent = [name for name in HOUSEHOLD_OBJECTS if name not in lowered]
    places = find_gaps(text)
    # As in the scene, things of one type are numbered: on from those that are there.
    numbers = dict.fromkeys(HOUSEHOLD_OBJECTS, 0)
    for name, number in _NUMBERED.findall(f"{text}\n{beside}"):
        numbers[name.lower()] = max(numbers[name.lower()], int(number))
    made: list[dict[str, Any]] = []
    for _ in range(volume // PER_SENTENCE):
        name = rng.choice(absent or HOUSEHOLD_OBJECTS)
        numbers[name] += 1
        thing = f"{name} {numbers[name]}"
        sentence = rng.choice(HOUSEHOLD_SENTENCES).format(thing, rng.choice(HOUSEHOLD_LOOKS))
        made.append(make_edit(rng.choice(places), "", f" {sentence}"))
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


def _find_obstacle(target: ToolResultTarget, scene: Scene) -> str | None:
    """Why nothing that belongs to the result can be added to it."""
    if scene is not Scene.DATA:
        if SHELL & set(split_words(target.tool)):
            return NO_LINES
        return None if list_own(target, OPERATOR, "line")[1] else NO_KIND
    value = parse_json(target.text)
    if not isinstance(value, dict) or not value:
        return NO_OBJECT
    if any(value.get(key) for key in ERRORS):
        return AN_ERROR
    return None if list_fields(target, value) else NO_KIND


NO_OBJECT = "the result is no object with fields"
NO_KIND = "no phrase pack has fields of this result's kind"
AN_ERROR = "the result is an error"
NO_LINES = "the result is what a shell prints or a file holds"
ERRORS = ("error", "errors", "Error", "exception", "error_message", "errorMessage")
SHELL = frozenset(
    """bash shell terminal command cat ls cd grep pwd wc du tail head diff git pytest file files""".split()
)


def _draw_lines(target: ToolResultTarget, volume: float, rng: SeededRandom) -> Drawn:
    """Draw lines of `volume` characters on average, behind the observation."""
    setting, own = list_own(target, OPERATOR, "line")
    end, dated = find_end(target.text), tells_year(target.text)

    def write(entry: Entry) -> tuple[int, str] | None:
        odd = dated and "{time}" in entry.text
        return None if odd else (end, f"\n{fill(entry.text, {}, rng)}")

    return fill_volume(shuffle_entries(rng, list_unmet(target, own), setting.entries), volume, rng, write)


_INSERTIONS: Mapping[Scene, Callable[[ToolResultTarget, int, SeededRandom], list[dict[str, Any]]]] = {
    Scene.HOUSEHOLD: _draw_household_sentences,
    Scene.SHOP: _draw_shop_entries,
    Scene.GRID: _draw_grid_lines,
}
"""The scenes of the paper."""
