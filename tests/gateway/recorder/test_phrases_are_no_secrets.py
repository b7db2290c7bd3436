"""No phrase of a pack reads like a secret: the record would show other words than the policy saw."""

from __future__ import annotations

import json

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
            shown = [text, f"{entry.key}: {text}", f'{{"status": 1, "{entry.key}": {text}}}']
            for one in shown if entry.key else [text]:
                raw = json.dumps({"messages": [{"role": "tool", "content": one}]}).encode()
                assert redactor.mask(raw) == raw, entry.id
