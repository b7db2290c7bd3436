"""user.typos: slips that people make, and never in what a call needs."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.operators.user.typos.input_methods import draw_conversion, find_request_words
from crosswind.injectors.operators.user.typos.keyboards import find_keyboard
from crosswind.injectors.operators.user.typos.plain_words import PlainWord
from crosswind.injectors.operators.user.typos.romaji import convert, spell
from crosswind.injectors.operators.user.typos.slips import draw_slip
from crosswind.injectors.operators.user.typos.typos import Typos
from crosswind.injectors.operators.user.typos.word_lists import read_words
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, UserTarget
from crosswind.injectors.text.languages import UNABLE, Language
from tests.injectors.operators import acting
from tests.injectors.operators.user.gold import FOREIGN, MESSAGES, Gold, target_of
from tests.injectors.operators.user.values.spoken import TEXT as STRING
from tests.injectors.operators.user.values.spoken import tool

LETTER = (
    "Hello there, I would like to know whether you could help me with something. I have been waiting for "
    "an answer since the kettle was delivered, and I think that it should have been here already. Thanks!"
)


def drawn(target: UserTarget, seed: int, severity: float = 1.0) -> Draw | None:
    return Typos().draw(target, SeededRandom(f"typos|{seed}"), severity)


def texts(target: UserTarget, seeds: int = 200) -> set[str]:
    draws = [drawn(target, seed) for seed in range(seeds)]
    return {str(Typos().apply(target, one).payload) for one in draws if one}


@pytest.mark.parametrize("gold", [*MESSAGES, *FOREIGN], ids=lambda gold: gold.text[:24])
def test_no_value_that_a_call_needs_is_broken(gold: Gold) -> None:
    target = target_of(gold.text, gold)
    for after in texts(target, 60):
        for value in gold.values:
            assert value in after
        for start, end in target.protected:
            assert gold.text[start:end] in after


def test_most_messages_are_reached_though_their_values_are_not() -> None:
    reached = [texts(target_of(one.text, one), 5) - {one.text} for one in (*MESSAGES, *FOREIGN)]
    assert sum(map(bool, reached)) >= 0.9 * len(reached)


def test_the_stop_of_a_name_stays_and_other_marks_may_be_missed() -> None:
    assert all("Inc." in one for one in texts(target_of("Give me the latest news of Kettle Inc.")))
    assert any(one.endswith("news") for one in texts(target_of("Could you give me the latest news?")))


@pytest.mark.parametrize("gold", MESSAGES, ids=lambda gold: gold.text[:24])
def test_no_word_of_a_tools_name_is_mistyped(gold: Gold) -> None:
    named = {
        word for name in (gold.tool.name, *gold.tool.parameters["properties"]) for word in name.split("_")
    }
    for seed in range(40):
        draw = drawn(target_of(gold.text, gold), seed)
        assert named.isdisjoint(one["was"].lower() for one in (draw or {"edits": []})["edits"])


def test_more_severity_means_more_of_the_same_typos() -> None:
    for seed in range(60):
        found: set[tuple[int, str]] = set()
        for severity in (0.1, 0.3, 0.5, 0.7, 1.0):
            draw = drawn(target_of(LETTER), seed, severity) or {"edits": []}
            more = {(one["at"], one["now"]) for one in draw["edits"]}
            assert found <= more
            found = more


def test_no_message_has_more_typos_than_people_make() -> None:
    short = "Could you please tell me whether the kettle has been delivered already?"
    words = len(LETTER.split())
    for text, severity, most in (
        (short, 0.5, 1),
        (short, 1.0, 2),
        (LETTER, 0.5, words // 12),
        (LETTER, 1.0, min(12, words // 6)),
    ):
        found = [(drawn(target_of(text), seed, severity) or {"edits": []})["edits"] for seed in range(100)]
        counts = [sum(one["kind"] != "mark" for one in edits) for edits in found]
        assert max(counts) <= most, "one for each twelve words at 0.5, for each six at 1"
        assert any(found)
        for edits in found:
            places = [one["at"] for one in edits]
            assert all(b - a > 12 for a, b in pairwise(places)), "no two of words side by side"


def test_texts_differ_over_seeds_and_kinds_are_many() -> None:
    target = target_of(LETTER)
    assert len(texts(target)) >= 150
    edits = [one for seed in range(200) for one in (drawn(target, seed) or {"edits": []})["edits"]]
    kinds = {one["kind"] for one in edits}
    assert kinds >= {"omission", "neighbour", "transposition", "doubling", "spelling", "case", "split"}
    edits = [one for one in edits if one["kind"] != "mark"]
    first_kept = sum(one["was"][0].lower() == one["now"][:1].lower() for one in edits if one["was"].strip())
    assert first_kept >= 0.85 * len(edits)


@pytest.mark.parametrize(
    ("language", "letter", "near", "far"),
    [
        (Language.EN, "y", "t", "x"),
        (Language.DE, "z", "t", "x"),
        (Language.FR, "a", "z", "s"),
        (Language.AR, "ب", "ل", "ظ"),
    ],
)
def test_keys_lie_as_on_the_languages_keyboard(language: Language, letter: str, near: str, far: str) -> None:
    found, _ = find_keyboard(language, letter).neighbours[letter]
    assert near in found and far not in found


def test_arabic_letters_that_look_alike_are_confused() -> None:
    found = {draw_slip("رسالة", Language.AR, SeededRandom(str(seed))) for seed in range(80)}
    assert ("sign", "رساله") in found


def test_a_french_slip_puts_a_sign_over_the_last_letter_only() -> None:
    words = read_words("plain.fr") | read_words("commands.fr") | {"merci", "voudrai"}
    plain = sorted(one for one in words if one.isascii())
    found = {
        draw_slip(word, Language.FR, SeededRandom(f"{word}|{seed}")) for word in plain for seed in range(40)
    }
    slips = {typed for each in found if each is not None for typed in each[1:]}
    assert slips and all(one.isascii() or one.endswith("é") for one in slips)
    assert all(one[:-1].isascii() for one in slips)
    said = {draw_slip("annuler", Language.FR, SeededRandom(str(seed))) for seed in range(80)}
    assert ("spelling", "annulé") in said


def test_japanese_slips_are_slips_of_keys() -> None:
    assert spell("ください") == "kudasai" and convert("kudsai") == "くｄさい"


def test_what_is_typed_in_an_unknown_language_is_left_and_the_event_says_why() -> None:
    draw = drawn(target_of("Помогите мне, пожалуйста, найти билет", MESSAGES[0]), 0)
    assert draw is not None and draw[UNABLE]


def test_small_talk_may_be_what_a_tool_takes_as_a_whole() -> None:
    chat = ToolSchema("talk", "", {"type": "object", "properties": {"userSaid": {"type": "string"}}})
    text = "Hi there, How are you feeling"
    assert texts(target_of(text, Gold(chat, text, (text,)))) <= {text}


def test_a_word_between_capitals_is_a_part_of_what_they_name() -> None:
    menu = ToolSchema("order_soup", "", {"type": "object", "properties": {"soup": {"type": "string"}}})
    text = "Could you please order me 2 Soup of the Day and Order Bread"
    for shown in texts(target_of(text, Gold(menu, text, ()))):
        assert "Soup of the Day and Order Bread" in shown


@pytest.mark.parametrize("word", ["帮我", "可以", "能不能"])
def test_letters_that_an_input_method_left_stand_beside_no_other_word(word: str) -> None:
    text, found = f"请把订单{word}", set()
    for seed in range(200):
        conversion = draw_conversion(text, PlainWord(4, len(text)), Language.ZH, SeededRandom(str(seed)))
        assert conversion is not None
        kind, typed = conversion
        found.add(kind)
        assert not (typed[0].isascii() or typed[-1].isascii()), typed
    assert "conversion" in found


@pytest.mark.parametrize(
    "text", ["Schreib meiner Schwester, dass wir im Mai kommen.", "اكتب لأختي أننا سنصل في مايو."]
)
def test_the_mark_stays_behind_a_text_that_is_handed_on(text: str) -> None:
    tools = (tool("send_mail", recipient=STRING, body=STRING, subject=STRING),)
    for after in acting.shown("user.typos", acting.user_target(text, tools=tools)):
        assert after.endswith(".") and not after.endswith("..")


def test_the_note_says_in_words_what_cannot_be_seen() -> None:
    text = "Danke, zeig mir bitte alles?"
    edits = [
        {"at": 0, "was": "Danke", "now": "danke"},
        {"at": 11, "was": " ", "now": ""},
        {"at": 27, "was": "?", "now": " ?"},
    ]
    shown = Typos().apply(UserTarget(text, 0), {"edits": edits})
    assert shown.payload == "danke, zeigmir bitte alles ?"
    assert "(Danke as danke, a space missing, a space before ?)" in shown.note
    cut = Typos().apply(UserTarget("見せてください。", 0), {"edits": [{"at": 7, "was": "。", "now": ""}]})
    assert "(。 missing)" in cut.note


class CopiedText(str):
    """A text that counts the characters which are copied out of it."""

    copied = 0

    def __getitem__(self, at: Any) -> str:
        part = super().__getitem__(at)
        self.copied += len(part)
        return part


def test_a_clause_without_an_end_is_not_copied_for_each_of_its_words() -> None:
    text = CopiedText("我想" * 4_000)
    assert find_request_words(text, Language.ZH, ())
    assert text.copied < 4 * len(text)
