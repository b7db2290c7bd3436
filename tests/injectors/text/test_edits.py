"""Patterns of phrases, tried letter by letter, find what the phrases side by side find."""

from __future__ import annotations

import re

from hypothesis import example, given, settings
from hypothesis import strategies as st

from crosswind.injectors.operators.words.descriptions import SAME_PHRASES
from crosswind.injectors.text.edits import compile_phrases

PHRASES = [group[0] for group in SAME_PHRASES]
ALPHABET = "aabbc d'’-.ſkKK\u0301"


def side_by_side(words: list[str]) -> re.Pattern[str]:
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    alternatives = "|".join(re.escape(word) for word in longest_first)
    return re.compile(rf"(?<![\w'’@#/.-])(?:{alternatives})(?![\w'’@/-])", re.IGNORECASE)


@settings(max_examples=200, deadline=None)
@given(
    words=st.lists(st.text("abc d'.k", min_size=1, max_size=5), min_size=1, max_size=8),
    text=st.text(ALPHABET, max_size=40),
)
@example(words=["a", "a b", "ab", "a b c"], text="A b, ab a B c a")
def test_the_same_phrases_are_found(words: list[str], text: str) -> None:
    expected = [match.span() for match in side_by_side(words).finditer(text)]
    assert [match.span() for match in compile_phrases(*words).finditer(text)] == expected


@settings(max_examples=100, deadline=None)
@given(
    said=st.lists(
        st.sampled_from([*PHRASES, "order", "#W12", "not"]).flatmap(
            lambda word: st.sampled_from([word, word.upper(), word.title(), f"{word}-", f"{word}."])
        ),
        max_size=20,
    )
)
def test_our_own_phrases_are_found_as_ever(said: list[str]) -> None:
    text = " ".join(said)
    expected = [match.group() for match in side_by_side(PHRASES).finditer(text)]
    assert [match.group() for match in compile_phrases(*PHRASES).finditer(text)] == expected
