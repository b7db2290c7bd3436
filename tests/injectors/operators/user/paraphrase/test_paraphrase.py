"""user.paraphrase: another construction, the same meaning, every value in its place."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from crosswind.injectors.operators.user.paraphrase import frames, request_forms
from crosswind.injectors.operators.user.paraphrase.courtesies import ask_otherwise
from crosswind.injectors.operators.user.paraphrase.foreign_rewrites import rewrite_sentence as rewrite_foreign
from crosswind.injectors.operators.user.paraphrase.paraphrase import Paraphrase
from crosswind.injectors.operators.user.paraphrase.rewrites import rewrite_sentence
from crosswind.injectors.operators.user.requests.extraction import Doer
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Branch, Draw, Half, UserTarget
from crosswind.injectors.text.languages import UNABLE, Language
from tests.injectors.operators.acting import shown, user_target
from tests.injectors.operators.user.gold import FOREIGN, MESSAGES, Gold, target_of

LETTER = "Could you book a table for four on Friday? I need a room with a view. Thanks for your help!"


def drawn(target: UserTarget, seed: int, severity: float = 1.0) -> Draw | None:
    return Paraphrase().draw(target, SeededRandom(f"paraphrase|{seed}"), severity)


def texts(target: UserTarget, seeds: int = 200) -> set[str]:
    draws = [drawn(target, seed) for seed in range(seeds)]
    return {str(Paraphrase().apply(target, one).payload) for one in draws if one and UNABLE not in one}


@pytest.mark.parametrize("gold", [*MESSAGES, *FOREIGN], ids=lambda gold: gold.text[:24])
def test_no_value_that_a_call_needs_is_broken(gold: Gold) -> None:
    for after in texts(target_of(gold.text, gold), 40):
        for value in gold.values:
            assert value in after


def test_most_requests_have_another_form() -> None:
    reached = [texts(target_of(one.text, one), 4) for one in MESSAGES]
    assert sum(map(bool, reached)) >= 0.6 * len(reached)


def test_texts_of_several_sentences_have_many_forms() -> None:
    assert len(texts(target_of(LETTER))) >= 120


def test_more_severity_means_more_of_the_same_sentences() -> None:
    for seed in range(60):
        found: set[tuple[int, str]] = set()
        for severity in (0.1, 0.3, 0.5, 0.7, 1.0):
            draw = drawn(target_of(LETTER), seed, severity) or {"edits": []}
            more = {(one["at"], one["now"]) for one in draw["edits"]}
            assert found <= more
            found = more


def test_no_please_comes_in_a_language_whose_commands_are_unknown() -> None:
    assert ask_otherwise("予約 番号を教えて", Language.JA) == []


@pytest.mark.parametrize(
    ("sentence", "other"),
    [
        ("I need a room with a view.", "I'm looking for a room with a view."),
        ("How do I reset my password?", "Could you tell me how to reset my password?"),
        ("Can I change the address?", "Is it possible for me to change the address?"),
        ("Is there a direct train?", "Could you tell me whether there is a direct train?"),
        ("If the tests pass, merge the branch.", "Merge the branch if the tests pass."),
        ("Merge the branch if the tests pass.", "If the tests pass, merge the branch."),
        ("Where is my parcel?", "Could you tell me where my parcel is?"),
        ("Thanks for your help!", "Thank you for your help."),
        ("How much did I spend last month?", "I'd like to know how much I spent last month."),
        ("When was the opera house built?", "Do you know when the opera house was built?"),
        ("What time does the last train leave?", "Can you tell me what time the last train leaves?"),
        ("Does the hotel have a pool?", "Could you check if the hotel has a pool?"),
        ("Could I get a late checkout?", "I'd like a late checkout."),
        ("Since I'm low on fuel, could you add 10 gallons?", "Since I'm low on fuel, please add 10 gallons."),
    ],
)
def test_a_sentence_is_said_in_another_construction(sentence: str, other: str) -> None:
    assert other in rewrite_sentence(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "The kettle leaks.",
        "I want what she has.",
        "How are you?",
        "Is there any way to do it?",
    ],
)
def test_a_sentence_without_a_sure_form_is_left(sentence: str) -> None:
    assert rewrite_sentence(sentence) == []


@pytest.mark.parametrize(
    ("frame", "doer"),
    [
        ("Could you {request}?", Doer.AGENT),
        ("Kindly {request}.", Doer.AGENT),
        ("I'd like to {request}.", Doer.USER),
        ("I'd like you to {request}.", Doer.AGENT),
        ("Is it possible to {request}?", Doer.EITHER),
    ],
)
def test_the_doer_in_a_frame(frame: str, doer: Doer) -> None:
    assert frames.find_doer(frame) is doer


def test_what_the_agent_does_for_the_user_is_never_said_of_the_user() -> None:
    for after in texts(target_of("Send me the list of open invoices.")):
        assert not after.startswith(("I'd like to", "I want to", "My aim", "need to")), after


def test_where_nothing_can_be_said_otherwise_the_event_says_why() -> None:
    draw = drawn(target_of("The kettle leaks."), 0)
    assert draw is not None and draw[UNABLE] and Paraphrase().apply(target_of("The kettle leaks."), draw)


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("Kannst du mir bitte einen Flug nach Wien buchen?", "mir einen Flug nach Wien buchen"),
        ("Quiero cancelar mi pedido W123, por favor.", "cancelar mi pedido W123"),
        ("Pourriez-vous réserver une table pour quatre ?", "réserver une table pour quatre"),
        ("请帮我查询订单A20931的状态。", "查询订单A20931的状态"),
        ("東京行きの便を予約してください。", "東京行きの便を予約する"),
        ("أريد حجز رحلة إلى دبي.", "حجز رحلة إلى دبي"),
    ],
)
def test_other_languages_are_framed(text: str, held: str) -> None:
    found = texts(target_of(text), 40)
    assert len(found) >= 2 and all(held in one for one in found)


@pytest.mark.parametrize(
    ("language", "asked", "said"),
    [
        (Language.DE, "Wo ist mein Paket 4821?", "Ich wüsste gern, wo mein Paket 4821 ist."),
        (Language.ES, "¿Hay habitaciones en Lima?", "Quisiera saber si hay habitaciones en Lima."),
        (Language.FR, "Où est mon colis ?", "Je voudrais savoir où est mon colis."),
        (Language.ZH, "我的包裹在哪里？", "我想知道我的包裹在哪里。"),
        (Language.JA, "荷物はどこですか？", "荷物はどこか教えてください。"),
        (Language.AR, "أين حسابي الجديد؟", "أود أن أعرف أين حسابي الجديد."),
    ],
)
def test_a_question_is_asked_indirectly(language: Language, asked: str, said: str) -> None:
    assert said in rewrite_foreign(asked, language)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("Kannst du mir zeigen, welche Rechnungen offen sind?", "Könntest du mir zeigen, welche"),
        ("Welche Züge fahren morgen nach Linz?", ", welche Züge morgen nach Linz fahren."),
        ("Lee el archivo datos.csv y dime cuántas filas tiene.", "Por favor, lee el archivo datos.csv y"),
        (
            "Affiche le solde et ouvre le dossier.",
            "S'il te plaît, affiche le solde et ouvre le dossier.",
        ),
        ("列出所有未付款的订单。", "列出所有未付款的订单"),
        ("明日の東京の天気を教えてください。", "明日の東京の天気を教えて"),
        ("أضف اجتماعا إلى التقويم غدا.", "من فضلك، أضف اجتماعا إلى التقويم غدا."),
    ],
)
def test_what_is_not_read_surely_is_asked_in_another_form(asked: str, said: str) -> None:
    found = texts(target_of(asked), 40)
    assert len(found - {asked}) >= 1 and any(said in one for one in found)


@pytest.mark.parametrize(
    ("language", "asked", "said"),
    [
        (Language.DE, "Hallo, kannst du zeigen, was offen ist?", "Hallo, könntest du zeigen, was offen ist?"),
        (Language.DE, "Und können Sie sagen, ob es geht?", "Und könnten Sie sagen, ob es geht?"),
        (Language.ES, "Hola, ¿puedes decirme qué falta?", "Hola, ¿podrías decirme qué falta?"),
        (
            Language.FR,
            "Bonjour, pouvez-vous voir si c'est payé ?",
            "Bonjour, pourriez-vous voir si c'est payé ?",
        ),
    ],
)
def test_a_request_behind_a_greeting_of_the_user_s_is_asked_in_another_form(
    language: Language, asked: str, said: str
) -> None:
    assert said in ask_otherwise(asked, language)


@pytest.mark.parametrize(
    "text",
    [
        "Je voudrais retourner la commande W2378156.",
        "Ich möchte die Bestellung W2378156 zurückgeben.",
        "Ich möchte am 5. Juni zur Inspektion kommen.",
        "Je voudrais venir le 5 juin à l'atelier.",
        "Quiero asistir a la clase el 5 de junio.",
        "5月6日のクラスに参加したいです。",
    ],
)
def test_what_users_do_in_person_is_not_asked_of_the_agent(text: str) -> None:
    assert set(shown("user.paraphrase", user_target(text), severity=1.0)) == {text}


@pytest.mark.parametrize(
    "text",
    [
        "Find hotels in Washington D.C.",
        "Find a flight to Washington D.C..",
        "What is the price for a trip to the U.S.?",
        "Search for news on Yahoo! Finance today.",
        "Please play the song by Wham! for me.",
    ],
)
def test_a_mark_that_belongs_to_a_name_stays(text: str) -> None:
    assert texts(target_of(text)) <= {text}


def test_the_entries_of_a_list_stay_as_they_are() -> None:
    text = "Do this, please:\n1. rename the file\n2. run the tests\n3. commit it"
    assert all(one.endswith(text.partition("\n")[2]) for one in texts(target_of(text)))


def test_forms_in_ing_are_spelt_well() -> None:
    forms = set(request_forms.ING.values())
    assert {"committing", "transferring", "editing", "opening", "cancelling", "shipping"} <= forms
    assert forms.isdisjoint({"commiting", "transfering", "shiping", "ploting"})


@pytest.mark.parametrize(
    "text",
    [
        "Am 19. Dezember passt es gut.",
        "Das zweite nehme ich.",
        "El segundo me viene bien.",
        "Le deuxième me convient.",
        "十九号的那场可以。",
        "十二月の回が空いています。",
        "الموعد الثاني مناسب.",
    ],
)
def test_a_greeting_or_thanks_alone_are_no_paraphrase(text: str) -> None:
    target = user_target(text)
    assert all(one is not None and UNABLE in one for one in (drawn(target, seed) for seed in range(40)))


def test_nobody_greets_in_the_middle_of_a_conversation() -> None:
    greets = re.compile(r"(?:Hi|Hello|Hey|Good|Morning)\b")
    first, later = (texts(user_target(LETTER, ordinal=ordinal)) for ordinal in (0, 3))
    assert any(greets.match(one) for one in first) and not any(greets.match(one) for one in later)


@pytest.mark.parametrize(
    ("text", "held"),
    [
        (
            "Dann reservieren Sie mir bitte drei Karten im 1. Rang auf den Namen Hollenstein.",
            "drei Karten im 1. Rang auf den Namen Hollenstein reservieren",
        ),
        (
            "Bitte hinterlegen Sie die Karten vom 3. Mai an der Abendkasse.",
            "die Karten vom 3. Mai an der Abendkasse hinterlegen",
        ),
        ("Zeig mir den Saalplan vom 2. Stock.", "mir den Saalplan vom 2. Stock zeigen"),
    ],
)
def test_a_request_goes_on_behind_an_ordinal(text: str, held: str) -> None:
    found = texts(user_target(text), 40) - {text}
    assert found and all(held in one for one in found)


def test_behind_a_full_stop_a_frame_begins_with_a_capital_and_ends_with_a_mark() -> None:
    found = texts(user_target("Super. Leg die Karten an die Abendkasse."), 120)
    assert len(found) >= 2 and all(one[7].isupper() and one[-1] in ".?!" for one in found), found


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("Calculate the area of a triangle with base 6.", "What's the area of a triangle with base 6?"),
        ("Find the nearest hospitals in Leeds.", "I'm looking for the nearest hospitals in Leeds."),
        ("Show me the last invoice.", "Can I see the last invoice?"),
        ("Convert 5 miles to kilometers.", "How much is 5 miles in kilometers?"),
        ("Set the thermostat to 21 degrees.", "I'd like the thermostat set to 21 degrees."),
        ("Turn off the porch light.", "Please turn the porch light off."),
    ],
)
def test_what_is_asked_for_is_asked_by_another_construction(asked: str, said: str) -> None:
    assert said in texts(target_of(asked), 1000)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("Start the engine, make sure the brake is pressed.", "?"),
        ("I'd like to see a dermatologist next week.", "show me a dermatologist"),
        ("Delete the last message I sent to Tina.", "deleted to Tina"),
        ("I want to buy a used bike.", "Would you mind buying"),
        ("Find out why my payment failed.", "looking for out"),
        ("Who painted it, and where is it now?", "where is it now."),
        ("What's the weather like in Oslo?", "me the weather like"),
    ],
)
def test_no_form_says_something_else(text: str, wrong: str) -> None:
    assert not any(wrong in one for one in texts(target_of(text)) - {text})


def test_who_types_small_goes_on_so() -> None:
    after = texts(target_of("show me flights to rome"))
    assert len(after) > 10
    assert all(one[0].islower() and one[-1].isalpha() and " I " not in one for one in after)


def test_no_form_is_polite_twice() -> None:
    polite = re.compile(
        r"\b(?:please|appreciate|grateful|wonder\w*|do you think|great if|hoping)\b", re.IGNORECASE
    )
    for after in texts(target_of("Could you send the report to my boss, please?"), 400):
        assert len(polite.findall(after)) <= 1, after


def test_nothing_western_comes_behind_a_full_stop_of_chinese() -> None:
    assert not any("。." in one or "。?" in one for one in texts(target_of("Book a hotel in 上海。")))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("Wann fängt die Vorstellung an?", "wann die Vorstellung anfängt."),
        ("Wie viele Karten haben wir noch?", "wie viele Karten wir noch haben."),
        ("Sind noch Karten da?", "ob noch Karten da sind."),
        ("Kann ich die Karten umtauschen?", "ob ich die Karten umtauschen kann."),
        ("Bis wann muss ich sie abholen?", "bis wann ich sie abholen muss."),
        ("Und was kostet eine Karte im 1. Rang?", "was eine Karte im 1. Rang kostet."),
        ("Wie feucht ist der Boden auf Feld 12?", "wie feucht der Boden auf Feld 12 ist."),
    ],
)
def test_the_verb_of_a_german_clause_goes_to_its_end(asked: str, said: str) -> None:
    forms = rewrite_foreign(asked, Language.DE)
    assert forms and all(one.endswith(f", {said}") for one in forms)


@pytest.mark.parametrize(
    "asked",
    [
        "Können Sie mir die Buchung zeigen?",
        "Ist er größer als der andere?",
        "Ich möchte zwei stornieren.",
        "Wie feucht bleibt der Boden?",
    ],
)
def test_a_german_sentence_that_is_no_plain_question_is_left(asked: str) -> None:
    assert rewrite_foreign(asked, Language.DE) == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("Kannst du mir die Blutwerte zeigen?", r"\b(?:bitte|mal) mir\b"),
        ("Bitte legen Sie meine Mitgliedschaft still.", "still legen"),
        ("Reserva el aula 204, mi carné es el 21005.", r"\?"),
        ("Réservez la salle 204, ma carte est 2100553188.", r"\?"),
        ("帮我订一张机票,我要去北京。", "[？吗]"),
    ],
)
def test_a_request_in_another_language_is_framed_well(text: str, wrong: str) -> None:
    for half in Half:
        target = replace(user_target(text), branch=Branch(half, opening=text))
        for after in shown("user.paraphrase", target, seeds=60):
            assert after == text or re.search(wrong, after) is None, after
