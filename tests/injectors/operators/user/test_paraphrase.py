"""user.paraphrase: other words, the same meaning, every entity in its place."""

from __future__ import annotations

from crosswind.injectors.cli.examples import USER_TEXT
from crosswind.injectors.operators.words.synonyms import IN_REQUESTS
from crosswind.injectors.text import entities
from tests.injectors.operators.acting import shown, user_target

RHYTHM = "Find the type of heart rhythm based on the ECG (Electrocardiogram) recording ID rec58213."
"""A query like those of RobustBench-TC's Typo and QueryPara examples (appendix C)."""


def test_pieces_are_moved_and_entities_keep_their_order() -> None:
    for after in shown("user.paraphrase", user_target(USER_TEXT)):
        assert entities.find_lost(USER_TEXT, after) is None
        assert "Please" not in after and ", please." in after
        thanks = [after.find(word) for word in ("help", "assist", "give me a hand") if word in after]
        assert max(thanks) < after.index("Send the confirmation")


def test_severity_is_the_share_that_is_reworded() -> None:
    few = sum(after == RHYTHM for after in shown("user.paraphrase", user_target(RHYTHM), 0.2, seeds=300))
    assert 0.3 < few / 300 < 0.7  # Three rewordable phrases: all stay with probability 0.8 ** 3.


def test_no_synonym_turns_a_request_round() -> None:
    for phrase, others in IN_REQUESTS.items():
        for text in (phrase, *others):
            assert not entities.MEANING_WORDS & set(text.lower().split()), text
