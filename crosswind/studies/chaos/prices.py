"""What tokens cost."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for a million tokens that go in, and that come out."""

    tokens_in: float
    tokens_out: float

    def of(self, tokens_in: int, tokens_out: int) -> float:
        return (tokens_in * self.tokens_in + tokens_out * self.tokens_out) / 1e6


def parse_price(given: str) -> Price:
    """Read IN/OUT, as in `1.25/10`. Raises ValueError."""
    try:
        numbers = [float(one) for one in given.split("/")]
    except ValueError:
        numbers = []
    if len(numbers) != 2 or not all(math.isfinite(one) and one >= 0 for one in numbers):
        raise ValueError(
            f"{given!r} is no price; write dollars for a million tokens as IN/OUT, as in 1.25/10"
        )
    return Price(*numbers)
