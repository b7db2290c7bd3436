"""Results with a part missing."""

from __future__ import annotations

from crosswind.injectors.text.json_payload import NOT_JSON, parse_json
from tests.injectors.operators.acting import BAGGAGE, BAGGAGE_TEXT, PASSAGE, outcomes


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


def test_plain_text_is_cut_and_says_so() -> None:
    for text in outcomes("tool.incomplete", PASSAGE):
        assert text.endswith(" [truncated]") and PASSAGE.startswith(text.removesuffix(" [truncated]"))
