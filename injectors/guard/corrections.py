"""Values that the user says wrongly in their place and corrects behind: the guard reads what is meant."""

from __future__ import annotations

from collections.abc import Iterator

from crosswind.injectors.targets import Draw
from crosswind.injectors.text import entities


def list_corrected(draw: Draw) -> Iterator[tuple[str, str, int]]:
    """The values that a draw exchanges for a wrong one, each with that one and its place in the new text."""
    said, moved = draw.get("wrong"), 0
    for edit in draw.get("edits", ()):
        was, now = edit["was"], edit["now"]
        if isinstance(said, dict) and now in said.get(was, ()):
            yield was, now, edit["at"] + moved
        moved += len(now) - len(was)


def correct(after: str, draw: Draw) -> str:
    """The text with each such value back in its place; a value that isn't said behind it stays lost."""
    for value, wrong, at in list_corrected(draw):
        end = at + len(wrong)
        if after.startswith(wrong, at) and entities.find_whole(after, value, end) >= 0:
            after = f"{after[:at]}{value}{after[end:]}"
    return after
