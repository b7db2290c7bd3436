"""Advertisements, trivial features and products that nobody looks for, on a shop's pages."""

from __future__ import annotations

import re
from typing import Any

from crosswind.injectors.operators.state.scene import end_of_state
from crosswind.injectors.streams import Stream
from crosswind.injectors.text.edits import edit

CLOTHES = [
    "rompers",
    "jumpsuits",
    "blouses",
    "cardigans",
    "pajamas",
    "loungewear",
    "tunics",
    "hoodies",
    "knitwear",
    "sweaters",
    "basics",
]
PRAISE = (
    "new arrivals",
    "selling fast",
    "back in stock",
    "fan favourites",
    "hand-picked",
    "top-rated",
    "trending",
)
PRODUCTS = [
    "romper",
    "jumpsuit",
    "blouse",
    "tunic",
    "sweater",
    "hoodie",
    "cardigan",
    "bodysuit",
    "dress",
    "coverall",
    "camisole",
]
FLAWS = (
    "overpriced",
    "out of stock",
    "without reviews",
    "with a broken zip",
    "wrongly tagged",
    "with faded colour",
)
FEATURES = (
    "fabric: machine wash cold",
    "shipping note: ships within a week",
    "sizing tip: runs half a size large",
    "brand story: known for cosy minimalism",
    "packaging: folded in a paper bag",
    "care: do not iron over the print",
    "layering: wears well under a coat",
    "warehouse tag: popular for errands",
    "seams: delicate stitching",
)
SHARE = 0.5
"""The paper's alpha: the share of a result page's ten extra slots that a volume of 100 fills."""

_RESULTS = re.compile(r"\bPage \d+\b|\bTotal results\b|\bresults\b", re.IGNORECASE)


def entries(text: str, volume: int, rng: Stream) -> list[dict[str, Any]]:
    """Result page: min(⌊(volume/100)·α·10⌋, 10) entries. Product page: max(1, ⌊volume/25⌋) features and
    max(1, ⌊volume/30⌋) advertisements. One insertion, behind the page's own content."""
    if volume <= 0:
        return []
    if _RESULTS.search(text):
        count = min(int(volume * SHARE * 10 / 100), 10)
        lines = [_advertisement(rng) if rng.chance(0.5) else _product(rng) for _ in range(count)]
    else:
        features = rng.shuffled(FEATURES)
        lines = [features[at % len(features)] for at in range(max(1, volume // 25))]
        lines += [_advertisement(rng) for _ in range(max(1, volume // 30))]
    between = " [SEP] " if "[SEP]" in text else "\n"
    return [edit(end_of_state(text), "", "".join(between + line for line in lines))] if lines else []


def _advertisement(rng: Stream) -> str:
    return f"[AD] {rng.choice(PRAISE)}: see our {rng.choice(CLOTHES)} today!"


def _product(rng: Stream) -> str:
    return f"{rng.choice(PRODUCTS)}, {rng.choice(FLAWS)} (can't be chosen)"
