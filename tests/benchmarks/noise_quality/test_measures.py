"""The measures are exact on a corpus whose answers are known, with real operators."""

from __future__ import annotations

import subprocess
import sys

import pytest

from benchmarks.noise_quality.application import Offer, Outcome, list_offers, run_operator
from benchmarks.noise_quality.doses import FULL, PAPER, find_paper, rules_of
from benchmarks.noise_quality.eligibility import Place, find_spoken, is_eligible, occurs
from benchmarks.noise_quality.measures import (
    count_broken,
    count_distinct,
    count_repeated,
    measure_application,
    measure_detection,
    measure_growth,
)
from benchmarks.noise_quality.own import ENGLISH, LANGUAGES, read_errors, read_own
from crosswind.injectors.conversation import Site
from tests.benchmarks.noise_quality.conversations import make_samples


def _outcome(shown: str | None, *, text: str = "Fly to Oslo on 2027-03-04.", at: int = 0) -> Outcome:
    gold = (("Oslo",), ("2027-03-04", "4 March"))
    return Outcome(Offer(make_samples(1)[0], at, Place(text, gold)), shown)


def test_application_is_counted_exactly() -> None:
    long, short = "Please tell me where my parcel is now", "Yes"
    outcomes = [
        *(_outcome("noisy", text=long) for _ in range(3)),
        _outcome(None, text=long),
        _outcome("noisy", text=short),
        _outcome(None, text=short),
    ]
    applied, eligible, by_corpus = measure_application("user.typos", outcomes)
    assert (applied.count, applied.of, eligible.count, eligible.of) == (4, 6, 3, 4)
    assert eligible.rate == 0.75 and eligible.low < 0.75 < eligible.high
    assert by_corpus == {"synthetic": eligible}


def test_a_result_that_is_always_replaced_has_a_rate_of_one() -> None:
    offers = list_offers(Site.TOOL_RESULT, make_samples(12))
    outcomes = run_operator("tool.timeout", PAPER, Site.TOOL_RESULT, offers, 0)
    applied, _, _ = measure_application("tool.timeout", outcomes)
    assert (applied.count, applied.of) == (24, 24)
    assert count_distinct("tool.timeout", PAPER, Site.TOOL_RESULT, outcomes, places=2, seeds=20) == [1, 1]
    repeated = count_repeated(outcomes)
    assert (repeated.count, repeated.of) == (12, 12), "the second of each session repeats the first"


def test_an_operator_with_many_texts_is_told_from_one_with_few() -> None:
    offers = list_offers(Site.USER_TEXT, make_samples(4))
    outcomes = run_operator("user.typos", FULL, Site.USER_TEXT, offers, 0)
    assert count_distinct("user.typos", FULL, Site.USER_TEXT, outcomes, places=1, seeds=30)[0] > 15
    assert count_distinct("user.typos", FULL, Site.USER_TEXT, [], places=1, seeds=30) == [0]


@pytest.mark.parametrize(
    ("shown", "broken"),
    [
        ("Fly to Osol on 2027-03-04.", 1),
        ("Fly to oslo on 2027-03-04!", 0),
        ("Fly to Oslo.", 1),
        ("Fly to Oslos on 2027-03-041.", 2),
        (None, 0),
    ],
)
def test_broken_values_are_counted(shown: str | None, broken: int) -> None:
    found = count_broken([_outcome(shown)])
    assert (found.count, found.of) == (broken, 0 if shown is None else 2)


def test_growth_is_the_median_of_what_was_changed() -> None:
    grown = [_outcome("x" * size, text="x" * 10) for size in (20, 30, 100)]
    assert measure_growth([*grown, _outcome(None)]) == 3.0
    assert measure_growth([_outcome(None)]) is None


def test_a_stamp_is_found_unless_the_clean_texts_have_it() -> None:
    outcomes = [
        Outcome(offer, f"{offer.place.text} Never mind the rest of it.")
        for offer in list_offers(Site.USER_TEXT, make_samples(60))
    ]
    phrases, regression = measure_detection(outcomes)
    assert phrases.caught == phrases.noisy > 20 and regression.caught == regression.noisy
    assert "mind" in phrases.phrases[0] or "rest" in phrases.phrases[0]
    against, _ = measure_detection(outcomes, [f"{n}. Never mind the rest of it." for n in range(80)])
    assert not any("mind" in phrase or "rest" in phrase for phrase in against.phrases)


def test_values_are_spoken_where_they_are_the_users_own_words() -> None:
    gold = (("a b.txt",), ("/tmp/x",), ("Lena",), ("Monday",))
    place = Place("Copy 'a b.txt' to /tmp/x for Lena on Monday", gold)
    assert find_spoken(place) == ["Lena", "Monday"]
    assert is_eligible("user.ambiguous", place)
    assert not is_eligible("user.ambiguous", Place("Go on, please do"))
    assert occurs("300", "给李娜转账300元") and not occurs("300", "order 13000")


def test_the_rules_know_nothing_of_the_operators() -> None:
    code = "import sys, benchmarks.noise_quality.eligibility; print('crosswind.injectors' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert out.strip() == "False"


def test_the_papers_dose_is_that_of_its_profile() -> None:
    profile = find_paper("user.typos")
    assert profile is not None and profile.name == "robustbench-tc/Typo"
    assert rules_of("user.typos", PAPER) == [
        {"operator": "user.typos", "severity": 1.0, "options": {"between": [2, 4]}}
    ]
    assert rules_of("user.redundant", PAPER)[0]["severity"] == 0.7
    assert rules_of("user.out_of_scope", PAPER)[0]["severity"] == 0.45, "level 3 of noisyagent/all"


def test_our_corpora_hold_what_they_promise() -> None:
    samples = list(read_own())
    for corpus in ENGLISH + LANGUAGES:
        messages = [at for one in samples if one.corpus == corpus for at in one.gold]
        assert 20 <= len(messages) <= 40, corpus
    for one in samples:
        for item in one.recorded.conversation.items:
            gold = one.gold.get(item.ref.message, ())
            if item.site == Site.USER_TEXT and gold:
                assert any(occurs(text, item.text) for value in gold for text in value), (one.name, item.text)
    assert len(read_errors()) >= 80
