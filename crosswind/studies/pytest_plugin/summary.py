"""What is printed at the end of pytest's run: the figures over all marked tests."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from crosswind.figures.attempts import Attempt
from crosswind.figures.figures import measure
from crosswind.studies.components import kind_of
from crosswind.studies.drop.sections import describe
from crosswind.studies.drop.text import write_text


def encode(attempts: Iterable[Attempt]) -> str:
    return msgspec.json.encode(list(attempts)).decode()


def summarise(encoded: Iterable[str]) -> list[str]:
    """The figures of the attempts of these tests."""
    attempts = [one for text in encoded for one in msgspec.json.decode(text, type=list[Attempt])]
    return write_text(describe(measure(attempts, kind_of))).rstrip().splitlines()
