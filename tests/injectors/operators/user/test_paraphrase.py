"""user.paraphrase: other words, the same meaning, every entity in its place."""

from __future__ import annotations

import pytest

from crosswind.injectors import registry
from crosswind.injectors.cli.examples import USER_TEXT
from crosswind.injectors.operators.words.synonyms import IN_REQUESTS
from crosswind.injectors.text import entities
from crosswind.simulators.retail.intent import kind_of
from crosswind.simulators.retail.kinds import KINDS
from tests.injectors.operators.user.acting import RHYTHM, shown, user_target


@pytest.mark.parametrize("alias", ["query_paraphrase", "QueryPara"])
def test_the_papers_names_are_its_aliases(alias: str) -> None:
    assert registry.resolve(alias).name == "user.paraphrase"


def test_pieces_are_moved_and_entities_keep_their_order() -> None:
    target = user_target(USER_TEXT)
    for after in shown("user.paraphrase", target, 1.0):
        assert entities.survive(USER_TEXT, after) is None
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


@pytest.mark.parametrize("kind", KINDS)
def test_the_intent_of_a_request_is_still_read_from_it(kind: str) -> None:
    for wording in KINDS[kind].wordings:
        text = wording.format(
            order="#W1234",
            product="#P1234",
            name="kettle",
            email="a.b@example.com",
            old="a.b@example.com",
            new="c.d@example.com",
            address="1 Main Street",
        )
        for after in shown("user.paraphrase", user_target(text), 1.0, seeds=10):
            same = {"withheld": "status"}  # The two differ by the order's id, not by their words.
            assert same.get(kind_of(after), kind_of(after)) == same.get(kind, kind)
