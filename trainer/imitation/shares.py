"""How much of what the warm-up shows: shares of demonstrations with noise, and what the demonstrator then
does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from crosswind.injectors.streams import Stream


@dataclass(frozen=True, slots=True)
class Shares:
    """Shares of all demonstrations; the rest stays clean. At most 1 in all.

    Few show recovery, so that there is something left for reinforcement learning to find.
    """

    retry: float = 0.04
    """A result is destroyed; the call is repeated and the truth comes."""
    give_up: float = 0.06
    """A result is destroyed; the policy gives up."""
    user: float = 0.04
    """The user's messages are noisy; the policy does what it would have done."""
    ignore: float = 0.05
    """A misleading remark stands in a result; the policy takes no notice."""
    follow: float = 0.03
    """A misleading remark stands in a result; the policy gives up on the task and repeats the remark."""

    def __post_init__(self) -> None:
        for name, share in self.as_dict().items():
            if not 0.0 <= share <= 1.0:
                raise ValueError(f"share {name} is {share}: it must be from 0 to 1")
        if (total := sum(self.as_dict().values())) > 1.0:
            raise ValueError(f"the shares add up to {total:g}: together they may be 1 at most")

    def as_dict(self) -> dict[str, float]:
        """The shares by name."""
        return {field.name: float(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def parse(cls, text: str) -> Shares:
        """Shares as the command line gives them: `retry=0.04,user=0.1`. The others keep their default."""
        given: dict[str, float] = {}
        known = [field.name for field in fields(cls)]
        for part in filter(None, text.split(",")):
            name, _, value = part.partition("=")
            if name not in known:
                raise ValueError(f"share {name!r} is unknown: use {', '.join(known)}")
            try:
                given[name] = float(value)
            except ValueError:
                raise ValueError(f"share {name} is {value!r}: it must be a number") from None
        return cls(**given)

    def draw(self, rng: Stream) -> str | None:
        """Which variant a demonstration becomes; None: it stays clean."""
        shares: Mapping[str, float] = self.as_dict()
        point = rng.uniform()
        for name, share in shares.items():
            point -= share
            if point < 0:
                return name
        return None
