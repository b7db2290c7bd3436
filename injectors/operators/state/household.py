"""Household objects that nobody asked for: single sentences at random places of a room's description."""

from __future__ import annotations

import re
from typing import Any

from crosswind.injectors.operators.state.scene import gaps, goal_in
from crosswind.injectors.streams import Stream
from crosswind.injectors.text.edits import edit

OBJECTS = [
    "bowl",
    "cup",
    "pan",
    "spoon",
    "fork",
    "knife",
    "plate",
    "mug",
    "bottle",
    "can",
    "glass",
    "basket",
    "tray",
    "vase",
    "jar",
    "container",
    "jug",
    "thermos",
    "pitcher",
    "dish",
    "tumbler",
    "sponge",
    "towel",
    "napkin",
    "rack",
    "coaster",
    "utensil",
    "lid",
]
LOOKS = (
    "cracked",
    "dirty",
    "dusty",
    "sticky",
    "rusty",
    "greasy",
    "smudged",
    "faded",
    "slightly burnt",
    "wrapped in foil",
    "wet on the outside",
    "tipped over",
    "long unused",
)
SENTENCES = (
    "There is a {} here that looks {}.",
    "In the corner stands a {} that seems {}.",
    "Your eye falls on a {}, apparently {}.",
    "A {} lies about, {}.",
)
PER_SENTENCE = 12
"""The volume of one sentence, as the paper counts it: 300 is 25 sentences."""


def sentences(text: str, volume: int, rng: Stream, beside: str = "") -> list[dict[str, Any]]:
    """⌊volume/12⌋ sentences as insertions, each on an object whose id the scene doesn't have: of a type that
    neither it nor a goal beside it mentions, as long as there is one; none that is named beside it."""
    lowered = f"{text}\n{goal_in(beside)}".lower()
    absent = [name for name in OBJECTS if name not in lowered]
    places = gaps(text)
    ids = {int(found) for found in re.findall(r"(?<!\d)\d{1,6}(?!\d)", text)}
    fresh = max(ids, default=0)
    made: list[dict[str, Any]] = []
    for number in range(1, volume // PER_SENTENCE + 1):
        thing = f"{rng.choice(absent or OBJECTS)} {fresh + number}"
        sentence = rng.choice(SENTENCES).format(thing, rng.choice(LOOKS))
        place = rng.choice(places)
        if not re.search(rf"\b{thing}\b", beside, re.IGNORECASE):
            made.append(edit(place, "", f" {sentence}"))
    return sorted(made, key=lambda one: one["at"])
