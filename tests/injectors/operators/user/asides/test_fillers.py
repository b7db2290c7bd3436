"""What a user's own words put into the slots of a phrase: only what is sure."""

from __future__ import annotations

from crosswind.injectors.operators.user.asides.fillers import (
    fill_sentence,
    find_things,
    list_sentences,
)
from crosswind.injectors.text.languages import Language


def test_things_are_nouns_that_the_tools_speak_of() -> None:
    text = "I want to cancel my flight and the next thing. Show me the current directory, please"
    assert find_things(text, Language.EN, {"flight", "directory"}) == ["flight", "current directory"]
    assert find_things("Kannst du meine Bestellung stornieren?", Language.DE, ()) == ["Bestellung"]
    assert find_things("Où est ma commande ?", Language.FR, ()) == ["commande"]
    assert find_things("Cambia mi nueva reserva", Language.ES, ()) == []
    assert find_things("予約を変更したいのですが", Language.JA, ()) == ["予約"]


def test_what_asks_is_said_again_and_a_greeting_is_not() -> None:
    text = "Hello, where is my parcel now? It has been a week. Thanks a lot in advance!"
    assert list_sentences(text, Language.EN) == ["where is my parcel now?"]
    assert list_sentences("My parcel has not come. Thanks a lot in advance!", Language.EN) == [
        "My parcel has not come."
    ]
    assert list_sentences(text, Language.EN, kept="It has been a week.") == ["It has been a week."]


def test_a_sentence_is_fitted_to_its_phrase() -> None:
    assert fill_sentence("In short, {sentence}", "Can you do it?", Language.EN) == "In short, can you do it?"
    assert fill_sentence("In short: {sentence}", "Can you do it?", Language.EN) == "In short: Can you do it?"
    assert fill_sentence("{sentence} That's all.", "do it", Language.EN) == "do it. That's all."
    assert fill_sentence("总之就是：{sentence}", "帮我订票", Language.ZH) == "总之就是：帮我订票。"
