"""Values that the user says wrongly in their place and corrects behind: the guard reads what is meant."""

from __future__ import annotations

from collections.abc import Iterator

from crosswind.injectors.targets import Draw
from crosswind.injectors.text import entities
from crosswind.injectors.text.quotations import find_quotations


def list_corrected(draw: Draw) -> Iterator[tuple[str, str, int]]:
    """The values that a draw exchanges for a wrong one, each with that one and its place in the new text.

    A word that denies or limits a request is no value, and a value stays that no later edit says again.
    """
    said, moved, edits = draw.get("wrong"), 0, draw.get("edits", ())
    for index, edit in enumerate(edits):
        was, now = edit["was"], edit["now"]
        if isinstance(said, dict) and now in said.get(was, ()):
            denies = not entities.LOGIC_WORDS.isdisjoint(was.lower().split())
            behind = (later["now"] for later in edits[index + 1 :])
            if not denies and any(_says(inserted, was) for inserted in behind):
                yield was, now, edit["at"] + moved
        moved += len(now) - len(was)


def _says(inserted: str, value: str) -> bool:
    """Whether the text says the value by itself, outside a quotation."""
    at, quoted = 0, find_quotations(inserted)
    while (found := entities.find_whole(inserted, value, at)) >= 0:
        at = found + len(value)
        if not any(one.start < at and found < one.end for one in quoted):
            return True
    return False


def correct(after: str, draw: Draw) -> str:
    """The text with each such value back in its place. One in a quotation stays lost: nobody corrects what
    has to be passed on as it is."""
    for value, wrong, at in list_corrected(draw):
        end = at + len(wrong)
        if not after.startswith(wrong, at):
            continue
        restored = f"{after[:at]}{value}{after[end:]}"
        quoted = find_quotations(restored)
        if not any(one.start < at + len(value) and at < one.end for one in quoted):
            after = restored
    return after
