"""What a call's own arguments hold."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.injectors.operators.tool.values import find_neighbours
from crosswind.injectors.operators.words.vocabularies import VOCABULARIES
from crosswind.injectors.targets import ToolClass, ToolResultTarget
from crosswind.injectors.text.json_leaves import asked_for

PIECES = st.lists(st.sampled_from([*'ab_1 .-"', "½", "²", "é", "\u0301", "ab", "aa", "\n"]), max_size=14)


@settings(max_examples=300, deadline=None)
@given(text=PIECES.map("".join), arguments=PIECES.map("".join))
def test_a_value_is_asked_for_where_it_stands_as_a_whole_word(text: str, arguments: str) -> None:
    target = ToolResultTarget("", 0, "get", arguments, ToolClass.READ_ONLY)
    expected = bool(text) and re.search(rf"(?<!\w){re.escape(text)}(?!\w)", arguments) is not None
    assert asked_for(text, target) is expected


def test_each_word_has_its_neighbours_in_the_first_list_that_has_it() -> None:
    lists = [[word.lower() for word in words] for words in VOCABULARIES]
    for word in {word for words in lists for word in words}:
        first = next(words for words in lists if word in words)
        at = first.index(word)
        assert [one.lower() for one in find_neighbours(word)] == [
            *first[max(0, at - 1) : at],
            *first[at + 1 : at + 2],
        ]
