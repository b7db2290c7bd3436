"""Values that are said wrongly and corrected behind: what the guard takes for a correction."""

from __future__ import annotations

from typing import Any

import pytest

from crosswind.injectors.guard.corrections import correct
from crosswind.injectors.text.edits import apply_edits, make_edit


def corrected(text: str, value: str, rival: str, behind: str) -> tuple[str, str]:
    """What the guard reads, and what is right, where a rival takes the value's first place."""
    edits = [make_edit(text.index(value), value, rival)]
    if behind:
        edits.append(make_edit(len(text), "", behind))
    draw: dict[str, Any] = {"edits": edits, "wrong": {value: [rival]}, "final": [value]}
    return correct(apply_edits(text, edits), draw), text + behind


def test_a_value_that_the_draw_says_again_is_restored() -> None:
    read, right = corrected("Come on May 14, please.", "May 14", "May 15", " Sorry, May 14.")
    assert read == right


@pytest.mark.parametrize(
    ("text", "value", "rival", "behind"),
    [
        ("Refund order 48213377, then archive order 48213377.", "48213377", "48213378", ""),
        ("Book a table on May 14 at 'May 14 Bistro'.", "May 14", "May 15", ""),
        ("Refund order 48213377, then archive order 48213377.", "48213377", "48213378", " Thanks."),
        ("Do not book Berlin.", "not", "definitely", " Or not, whatever."),
        ("Post 'come on May 14' for me.", "May 14", "May 15", " Sorry, May 14."),
        ("Come on May 14, please.", "May 14", "May 15", " We met at the 'May 14 Bistro'."),
    ],
)
def test_a_value_that_only_the_user_says_again_stays_lost(
    text: str, value: str, rival: str, behind: str
) -> None:
    read, right = corrected(text, value, rival, behind)
    assert read != right
