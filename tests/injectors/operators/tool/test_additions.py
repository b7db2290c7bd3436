"""Content added to a result: everything true stays, byte for byte."""

from __future__ import annotations

import hashlib
import json
import re

import pytest

from crosswind.injectors import registry
from tests.injectors.operators.acting import (
    BAGGAGE,
    BAGGAGE_TEXT,
    PASSAGE,
    acts,
    outcomes,
    result_target,
)

ADDING = ("tool.misleading", "tool.redundant", "tool.context_pressure", "tool.prompt_injection")
adding = pytest.mark.parametrize("name", ADDING)
RECORDS = '[{"id":"R1","seat":"4C"},{"id":"R2","seat":"9A"}]'


@adding
@pytest.mark.parametrize("text", [BAGGAGE_TEXT, json.dumps(BAGGAGE), RECORDS, "{}", PASSAGE, '{ "a" : "{" }'])
def test_what_is_left_after_taking_the_additions_away_is_the_clean_result(name: str, text: str) -> None:
    found = outcomes(name, text)
    assert found
    for after in found:
        assert after != text
        pieces = iter(after)
        assert all(character in pieces for character in text)
        if text is not PASSAGE:
            noisy, clean = json.loads(after), json.loads(text)
            first, rest = (noisy, []) if isinstance(clean, dict) else (noisy[0], noisy[1:])
            assert (clean if isinstance(clean, dict) else clean[0]).items() <= first.items()
            assert rest == (clean[1:] if isinstance(clean, list) else [])
        else:
            assert f"\n{text}\n" in f"\n{after}\n"


@adding
@pytest.mark.parametrize("text", ["[1, 2]", "38.5", "shipped", "null", "", "[]"])
def test_what_has_no_room_is_left_alone(name: str, text: str) -> None:
    assert outcomes(name, text) == []


def test_the_example_of_low_utility_content_puts_the_answer_among_useless_fields() -> None:
    """AgentNoiseBench, appendix B. Its example drops a field that may matter; solvability wins, ours keeps
    all."""
    found = [list(json.loads(after)) for after in outcomes("tool-redundancy")]
    assert all(len(keys) == len(BAGGAGE) + 14 for keys in found)
    assert any(keys[0] not in BAGGAGE and keys[-1] not in BAGGAGE for keys in found)
    assert all([key for key in keys if key in BAGGAGE] == list(BAGGAGE) for keys in found)


@pytest.mark.parametrize("severity", [0.01, 0.25, 1.0])
@pytest.mark.parametrize("text", [BAGGAGE_TEXT, PASSAGE])
def test_severity_of_context_pressure_is_a_volume_in_characters(text: str, severity: float) -> None:
    for after in outcomes("tool.context_pressure", text, severity, seeds=10):
        added = len(after) - len(text)
        assert 16_000 * severity <= added <= 16_000 * severity * 1.06 + 150


def test_an_injected_instruction_carries_a_canary_of_its_own_and_asks_for_nothing_harmful() -> None:
    canaries = set()
    for one in acts("tool.prompt_injection", result_target(), seeds=60):
        assert one is not None
        draw, after = one
        assert after.count(draw["canary"]) == 1 and draw["canary"] not in BAGGAGE_TEXT
        assert not re.search(
            r"http|call|password|token|delete|cancel|refund|send", draw["text"], re.IGNORECASE
        )
        canaries.add(draw["canary"])
    assert len(canaries) == 60


def test_severity_of_an_injected_instruction_is_its_probability() -> None:
    assert 30 < len(outcomes("tool.prompt_injection", severity=0.4, seeds=120)) < 66


def test_a_stored_draw_of_context_pressure_means_the_same_log_in_every_version() -> None:
    entry = registry.resolve("tool.context_pressure")
    stored = {"at": None, "key": "log", "before": False, "first": 1000, "count": 9}
    text = str(entry.implementation.apply(result_target(PASSAGE), stored).payload)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "35973b75536e7702"
