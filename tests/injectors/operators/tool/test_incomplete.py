"""Results with a part missing."""

from __future__ import annotations

import json

from crosswind.injectors.text.json_payload import NOT_JSON, parse_json
from tests.injectors.operators.acting import BAGGAGE, BAGGAGE_TEXT, PASSAGE, outcomes, repeated


def test_the_example_of_partial_output_drops_fields_and_can_be_told_from_a_whole_one() -> None:
    """AgentNoiseBench, appendix B: two of six fields and the closing brace are missing, the rest is true."""
    ways = set()
    for text in outcomes("tool.incomplete"):
        noisy = parse_json(text)
        ways.add(noisy is NOT_JSON)
        if noisy is NOT_JSON:
            assert BAGGAGE_TEXT.startswith(text) and text != BAGGAGE_TEXT
        else:
            assert noisy["incomplete"] is True
            assert noisy.items() < (BAGGAGE | {"incomplete": True}).items()
    assert ways == {True, False}


def test_the_benchmarks_profile_tells_the_whole_at_the_second_call() -> None:
    clean = json.dumps(BAGGAGE)
    looks = [repeated("agentnoisebench/incomplete", clean, seed=seed) for seed in range(20)]
    assert 8 < sum(first != clean for first, *_ in looks) < 20
    assert all(sum(look != clean for look in one) <= 1 for one in looks)


def test_plain_text_is_cut_and_says_so() -> None:
    for text in outcomes("tool.incomplete", PASSAGE):
        assert text.endswith(" [truncated]") and PASSAGE.startswith(text.removesuffix(" [truncated]"))
