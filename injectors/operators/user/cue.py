"""A preference that the user appends, and that makes a tempting tool's name tempting."""

from __future__ import annotations

from collections.abc import Sequence

from crosswind.injectors.operators.user.sentences import appended, is_prose
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, UserTarget


def draw_cue(wordings: Sequence[str], target: UserTarget, rng: Stream, severity: float) -> Draw | None:
    """One of the wordings, in a share `severity` of the messages."""
    present, wording = rng.chance(severity), rng.choice(wordings)
    return {"cue": wording} if present and is_prose(target.text) else None


def with_cue(target: UserTarget, draw: Draw) -> str:
    """The message with the drawn preference behind it."""
    return appended(target.text, (draw["cue"],))
