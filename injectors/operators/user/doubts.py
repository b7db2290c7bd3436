"""A doubt that a user voices in one message and settles in the next."""

from __future__ import annotations

from typing import Any

from crosswind.injectors.operators.user.choices import choices, values
from crosswind.injectors.operators.user.opposites import OTHERS
from crosswind.injectors.operators.user.sentences import is_prose, joint, sentence_spans
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, UserTarget
from crosswind.injectors.text.edits import edit


def doubted(target: UserTarget, rng: Stream) -> Draw | None:
    """A doubt of one of the message's choices or values behind it; what it is about is owed from then on."""
    text = target.text
    found = sorted({*choices(target, sentence_spans(text)), *values(target)})
    if not found:
        return None
    start, end = rng.choice(found)
    word = text[start:end]
    others = [other for other in OTHERS.get(word, ()) if other not in text]
    other = rng.choice(others) if others else "another one"
    doubt = f"I am not sure any more whether it is {word} or {other}, so ask me before you rely on it."
    return {"edits": [_behind(target, doubt)], "final": [], "owed": [word]}


def settlement(target: UserTarget) -> Draw | None:
    """The true values of what was in doubt, behind the next message."""
    if not is_prose(target.text):
        return None
    values = ", ".join(target.owed)
    sentence = f"To settle what I was in doubt about, and this is final: {values}."
    return {"edits": [_behind(target, sentence)], "final": list(target.owed), "settles": list(target.owed)}


def _behind(target: UserTarget, sentence: str) -> dict[str, Any]:
    return edit(len(target.text), "", f"{joint(target.text)}{sentence}")
