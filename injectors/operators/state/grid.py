"""Things outside a grid: lines behind its description, at coordinates that nobody can reach."""

from __future__ import annotations

import re
from typing import Any

from crosswind.injectors.operators.state.scene import end_of_state
from crosswind.injectors.streams import Stream
from crosswind.injectors.text.edits import edit

THINGS = (
    "broken crate",
    "sealed door",
    "pile of rubble",
    "faded sign",
    "leaking pipe",
    "loose tile",
    "stack of boxes",
)
PLACES = (
    "outside the room",
    "beyond the wall",
    "out of reach",
    "behind a collapsed wall",
    "in a blocked corridor",
)
PER_LINE = 10
"""The volume of one line, as the paper counts it: 80 is 8 lines."""

_NUMBER = re.compile(r"(?<!\d)\d{1,4}(?!\d)")


def lines(text: str, volume: int, rng: Stream) -> list[dict[str, Any]]:
    """max(1, ⌊volume/10⌋) lines as one insertion. Their rows and columns are greater than any number in the
    text, so outside whatever grid it describes; no two are the same."""
    if volume <= 0:
        return []
    outside = max((int(number) for number in _NUMBER.findall(text)), default=0) + 1
    made: list[str] = []
    row = outside
    for _ in range(max(1, volume // PER_LINE)):
        column = outside + rng.integer(0, 9)
        made.append(f"\n({row}, {column}) shows a {rng.choice(THINGS)} ({rng.choice(PLACES)}; unreachable).")
        row += rng.integer(1, 3)
    return [edit(end_of_state(text), "", "".join(made))]
