"""The checks of phrase packs: each finds its kind of bad entry, and is silent on good ones."""

from __future__ import annotations

import json
from typing import Any

import pytest

from crosswind.injectors.packs.checks import check, check_between
from crosswind.injectors.packs.load import load_all
from crosswind.injectors.packs.model import parse
from tests.injectors.packs.samples import DRIFT, GOOD, SAME, pack, problems, read


def test_a_good_pack_has_no_problem() -> None:
    assert problems(*GOOD) == []


def test_a_line_that_is_no_entry_is_named_with_its_line() -> None:
    raw = pack(*GOOD) + b'{"id": "x"}\nnonsense\n\n'
    found, problems = parse(raw)
    assert found is not None and len(found.entries) == len(GOOD)
    assert [problem.line for problem in problems] == [12, 13, 14]
    assert problems[0].what.startswith("for, part, half, text: missing; write an entry as one JSON object")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"half": "both"}, "half 'both': Invalid enum value 'both'; use one of train, test"),
        ({"fits": ["colour"]}, "Invalid enum value 'colour'"),
        ({"asks": "buy"}, "use one of fact, question"),
        ({"text": " "}, "matching regex"),
        ({"note": "x"}, "unknown field 'note': use one of id, for"),
        ({"unles": ["x"]}, "unknown field 'unles': did you mean 'unless'?"),
    ],
)
def test_fields_that_the_schema_does_not_allow(change: dict[str, Any], what: str) -> None:
    (problem,) = parse(pack({**GOOD[0], **change}))[1]
    assert problem.line == 2 and what in problem.what


def test_all_mistakes_of_an_entry_are_named() -> None:
    wrong = {**GOOD[0], "half": "both", "text": "", "fits": ["colour"], "abot": ["x"]}
    del wrong["part"]
    _, found = parse(pack(wrong, GOOD[1]))
    assert [problem.line for problem in found] == [2] * 5
    told = "\n".join(problem.what for problem in found)
    for name in (
        "part: missing",
        "half 'both'",
        "text ''",
        "fits ['colour']",
        "'abot': did you mean 'about'?",
    ):
        assert name in told


def test_a_misspelt_operator_or_part_hides_no_other_mistake() -> None:
    bad = {**GOOD[0], "text": "Why do {planes} fly at 9?"}
    for change, fix in (
        ({"for": "user.topic_drif"}, "did you mean 'user.topic_drift'?"),
        ({"part": "questions"}, "its parts are question, return"),
    ):
        told = [problem.what for problem in problems({**bad, **change}, GOOD[1])]
        assert any(fix in what for what in told), told
        assert any("slot {planes} is unknown" in what for what in told), told
        assert any("leave the digits out" in what for what in told), told


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("de/theatre", "'theatre' is no domain: use one of general, shopping"),
        ("tlh/general", "'tlh' is no language: use one of en, de"),
    ],
)
def test_a_header_that_names_no_pack_is_told_what_there_is(name: str, said: str) -> None:
    found, (problem,) = parse(pack(*GOOD, name=name))
    assert found is None and f"pack {name!r}: {said}" in problem.what


@pytest.mark.parametrize(
    "raw", [b"", b"{}\n", b'{"pack": "en/moon", "version": 1, "licence": "x"}\n', b"\xff\n"]
)
def test_a_pack_needs_its_header(raw: bytes) -> None:
    found, (problem,) = parse(raw)
    assert found is None and problem.line == 1 and '"licence": "Apache-2.0"' in problem.what


BAD: list[tuple[int, dict[str, Any], str]] = [
    (0, {"part": "answer"}, "its parts are question, return"),
    (0, {"for": "user.moods"}, "name an operator"),
    (0, {"text": "Why do {planes} fly?"}, "slot {planes} is unknown"),
    (0, {"text": "Why is {value} so far?"}, "slot {value} can't be filled in user.topic_drift/question"),
    (0, {"text": "Why do planes} fly?"}, "braces are for slots"),
    (0, {"text": "Why do planes fly at 900 km/h?"}, "leave the digits out"),
    (0, {"text": "Why do planes fly at ９００ km/h?"}, "leave the digits out"),
    (0, {"text": "Do planes fly on Tuesday?"}, "word 'tuesday' could be taken for a value"),
    (0, {"key": "x"}, "key 'x'"),
    (0, {"parameter": "x"}, "parameter 'x'"),
    (2, {"text": "{value} it is."}, "same needs {rival}"),
    (2, {"text": "{value}, no {rival}"}, "end it with {value}"),
    (4, {"key": ""}, "fields and tools have one"),
    (4, {"key": "eTag"}, "snake_case"),
    (4, {"key": "shard"}, "key 'shard' is in line 6 too"),
    (4, {"text": "{hex:12}"}, "write JSON"),
    (4, {"text": '"{hex}"'}, "slot {hex} is unknown"),
    (5, {"text": "{int:9-1}"}, "slot {int:9-1} is unknown"),
    (4, {"text": json.dumps("x" * 58)}, "less than 60"),
    (6, {"parameter": ""}, "a tool has one"),
    (6, {"key": "list_visas"}, "key 'list_visas' is in line 8 too"),
    (8, {"served_by": []}, "served_by is missing"),
    (1, {"id": "id-0"}, "id 'id-0' is in line 2 too"),
    (1, {"text": "oh, before I forget, who built this?"}, "opening 'oh before i' is in line 2 too"),
    (
        1,
        {"text": "So why do planes fly so slowly?"},
        "words 'why do planes fly' are in line 2 of the other half",
    ),
    (1, {"half": "train", "text": "So why do planes fly?"}, "are in line 2 too"),
]


@pytest.mark.parametrize(("place", "change", "what"), BAD)
def test_a_bad_entry_is_found(place: int, change: dict[str, Any], what: str) -> None:
    entries = [*GOOD]
    entries[place] = {**entries[place], **change}
    assert any(what in problem.what for problem in problems(*entries)), problems(*entries)


def test_the_same_text_twice() -> None:
    assert "text 'same here' is in line 2 too" in [
        problem.what
        for problem in problems(
            {**DRIFT, "half": "train", "text": "same here"}, {**DRIFT, "half": "test", "text": "Same here"}
        )
    ]


def test_a_word_that_is_a_habit() -> None:
    texts = ["Why are planes white?", "planes, do they sleep", "I like planes a lot", "How old do planes get"]
    halves = ["train", "test"] * 2
    entries = [{**DRIFT, "half": half, "text": text} for half, text in zip(halves, texts, strict=True)]
    (problem,) = problems(*entries)
    assert "word 'planes' is in 4 of 4 entries of user.topic_drift/question: 3 may" in problem.what


def test_halves_of_unequal_size() -> None:
    entries = [{**DRIFT, "half": "train", "text": text} for text in ("red", "green", "blue", "pink")]
    (problem,) = problems(*entries)
    assert "has 4 of train and 0 of test" in problem.what


def test_the_halves_of_two_packs_share_no_words() -> None:
    travel = read(*GOOD)
    shared = {**DRIFT, "half": "test", "text": "So why do planes fly so slowly?"}
    general = read({**shared, "half": "train"}, shared | {"text": "hm"}, name="en/general")
    assert list(check_between([travel, general])) == []
    general = read(shared, name="en/general")
    (at, problem), *_ = check_between([travel, general])
    assert (
        at is general and "'why do planes fly' are in line 2 of en/travel, in the train half" in problem.what
    )


def test_no_tool_stands_in_two_packs() -> None:
    tool = {
        "id": "t1",
        "for": "schema.redundant_tool",
        "part": "tool",
        "half": "train",
        "key": "get_moon_phase",
        "text": "The phase of the moon.",
        "parameter": "day",
    }
    travel, general = read(tool), read(tool, name="en/general")
    assert list(check_between([travel])) == []
    ((at, problem),) = check_between([travel, general])
    assert at is general and problem.what == "tool 'get_moon_phase' is in line 2 of en/travel"


def test_a_short_text_is_shared_whatever_its_punctuation() -> None:
    train = {**SAME, "half": "train", "text": "{rival}, oops, {value}"}
    test = {**SAME, "half": "test", "text": "{rival} (oops: {value})"}
    assert any(
        "words '{rival} oops {value}' are in line 2" in problem.what for problem in problems(train, test)
    )
    travel, general = read(train), read(test, name="en/general")
    ((_, problem),) = check_between([travel, general])
    assert "words '{rival} oops {value}' are in line 2 of en/travel, in the train half" in problem.what
    assert list(check_between([travel, read(train, name="en/general")])) == []


def test_the_shipped_packs_are_sound() -> None:
    packs = load_all()
    assert packs
    found = [(pack.name, problem) for pack in packs for problem in check(pack)]
    assert found + [(pack.name, problem) for pack, problem in check_between(packs)] == []
