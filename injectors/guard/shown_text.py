"""The guard for a user's text as it is shown in the end, after all operators.

Each operator is judged by what it makes of the text that it was given (`solvability`). That isn't enough:
what one has said, the next may repeat, misspell or contradict. So the text that an operator leaves is held
against the user's own words, too, and against what the operators before it have settled. The operator that
breaks something is taken back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.guard.corrections import list_corrected
from crosswind.injectors.targets import Draw
from crosswind.injectors.text import entities
from crosswind.injectors.text.quotations import find_open_end

FINAL, WRONG = "final", "wrong"
"""Members of a draw: what the user settles on, and what they say in its place before."""

DENIED = "denied"
"""Member of a draw: what the user names behind the value, and says there that it isn't so."""

OWED, WITHHELD, COARSE = "owed", "withheld", "coarse"
"""Members of a draw: what the user doubts until a later message, and what they tell when asked: nothing of
the one, less exact words for the other."""

_SETTLED = frozenset((FINAL, WRONG, OWED, WITHHELD, COARSE))
"""Members of draws that settle a value, or put it in doubt: most draws have none."""


def check_shown_text(
    clean: str, tools: Sequence[ToolSchema], earlier: Sequence[Draw], draw: Draw, before: str, after: str
) -> str | None:
    """Why the policy may not be shown `after`, all operators considered; None if it may.

    `clean` is what the user said, `earlier` are the draws that made `before` of it, and `draw` makes `after`
    of that.
    """
    earlier = [one for one in earlier if not _SETTLED.isdisjoint(one)]
    draws = earlier if _SETTLED.isdisjoint(draw) else [*earlier, draw]
    open_end = find_open_end(clean)
    if open_end is not None and after.partition(open_end)[2].strip():
        return f"it would have added to what is to be passed on word for word: {open_end!r:.60}"
    withheld = [value for one in draws for value in (*_texts(one, WITHHELD), *_texts(one, COARSE))]
    wrong = [one for one in draws if WRONG in one]
    moved = [*withheld, *(value for one in wrong for value, _, _ in list_corrected(one))]
    for lost in entities.find_all_lost(_leave_out(clean, moved), after, tools):
        if not any(lost in value for value in moved):
            return f"it would have changed {lost!r:.60}, which the task may depend on"
    for value in (value for one in earlier for value in (*_texts(one, FINAL), *_texts(one, OWED))):
        if _count(after, value) < _count(before, value):
            return f"it would have changed {value!r:.60}, which the user settles on"
    for rival, value in (pair for one in draws for pair in _find_contradictions(one)):
        if _find_last(after, rival) > _find_last(after, value):
            return f"it would have left {rival!r:.60} as what the user says last, and not {value!r:.60}"
    return None


def _leave_out(text: str, values: Sequence[str]) -> str:
    """The text without these values: what is told less exactly may be in words that stand elsewhere, too."""
    for value in values:
        if value and (at := entities.find_whole(text, value, 0)) >= 0:
            text = f"{text[:at]}{text[at + len(value) :]}"
    return text


def contradicts(draw: Draw) -> bool:
    """Whether it puts something in doubt, to be settled in this message or in a later one."""
    return bool(draw.get(FINAL) or draw.get(OWED))


def _find_contradictions(draw: Draw) -> Iterator[tuple[str, str]]:
    """What is said wrongly, each with the value that has to come last."""
    said, denied = draw.get(WRONG), _texts(draw, DENIED)
    for value, wrong in said.items() if isinstance(said, dict) else ():
        yield from ((str(one), str(value)) for one in wrong if one not in denied)


def _texts(draw: Draw, member: str) -> list[str]:
    values = draw.get(member)
    return [value for value in values if isinstance(value, str)] if isinstance(values, list | tuple) else []


def _count(text: str, value: str) -> int:
    count, at = 0, 0
    while value and (found := entities.find_whole(text, value, at)) >= 0:
        count, at = count + 1, found + len(value)
    return count


def _find_last(text: str, value: str) -> int:
    """Where the text says this for the last time, in either case; -1 where it doesn't."""
    last, at, text, value = -1, 0, text.lower(), value.lower()
    while value and (found := entities.find_whole(text, value, at)) >= 0:
        last, at = found, found + len(value)
    return last
