"""No phrase of a pack reads like a secret: the record would show other words than the policy saw."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from crosswind.gateway.recorder.redaction import Redactor
from crosswind.injectors.packs.draw import fill
from crosswind.injectors.packs.load import load_all
from crosswind.injectors.packs.model import Pack
from crosswind.injectors.packs.parts import CONVERSATION_SLOTS
from crosswind.injectors.seeded_random import SeededRandom

SEEDS = 4


@pytest.mark.parametrize("pack", load_all(), ids=lambda pack: pack.name)
def test_none_is_masked(pack: Pack) -> None:
    redactor, slots = Redactor("redact"), dict.fromkeys(CONVERSATION_SLOTS, "x")
    for entry in pack.entries:
        for seed in range(SEEDS):
            text = fill(entry.text, slots, SeededRandom(f"{entry.id}|{seed}"))
            for one in _show(entry.key, text) if entry.key else [text]:
                raw = json.dumps({"messages": [{"role": "tool", "content": one}]}).encode()
                assert redactor.mask(raw) == raw, entry.id


def _show(key: str, text: str) -> Iterator[str]:
    """A field as results show it, in either naming convention."""
    first, *others = key.split("_")
    for named in (key, first + "".join(word.title() for word in others)):
        yield f'{{"status": 1, "{named}": {text}}}'
