"""A piece of quite another environment's observation: a screen in the scene that shows a shop's page."""

from __future__ import annotations

from typing import Any

from crosswind.injectors.operators.state.scene import end_of_state
from crosswind.injectors.operators.state.shop_pages import FLAWS, PRODUCTS
from crosswind.injectors.streams import Stream
from crosswind.injectors.text.edits import edit

OPENING = "Elsewhere, a monitor shows a shopping page."
ENTRIES = ("It lists a {}, {}.", "Below is a {}, {}.", "It also offers a {}, {}.")


def page(text: str, volume: int, rng: Stream) -> list[dict[str, Any]]:
    """Sentences of `volume` characters on average as one insertion behind the observation."""
    point = rng.uniform()
    room = float(volume)
    shown: list[str] = []
    while room > 0:
        entry = rng.choice(ENTRIES).format(rng.choice(PRODUCTS), rng.choice(FLAWS))
        sentence = entry if shown else OPENING
        if room < len(sentence) and point >= room / len(sentence):
            break
        shown.append(sentence)
        room -= len(sentence) + 1
    return [edit(end_of_state(text), "", "\n" + " ".join(shown))] if shown else []
