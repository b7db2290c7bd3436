"""user.ambiguous: values are told less exactly, or not, and come when they are asked for."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.injectors import registry
from crosswind.injectors.conversation import Ref, ToolSchema, UserText
from crosswind.injectors.guard import shown_text
from crosswind.injectors.guard.solvability import check_user_text
from crosswind.injectors.operators.user.values.ambiguous import LONGEST, NOBODY, TOO_LONG
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Branch, Half, UserTarget
from crosswind.injectors.text import entities
from crosswind.injectors.text.languages import UNABLE, UNSPACED, Language
from tests.injectors.dialogues import texts
from tests.injectors.operators.acting import shown, user_target
from tests.injectors.operators.user.values.spoken import (
    AMOUNT,
    BANK,
    CLINIC,
    COUNT,
    DENIED,
    ENGLISH,
    HOME,
    HOTEL,
    MAIL,
    OTHERS,
    RESTRICTED,
    SQL,
    TEXT,
    tool,
)

AMBIGUOUS = registry.resolve("user.ambiguous")
TRACK = (tool("track", order_id=TEXT, day={"type": "string", "format": "date"}),)


def drawn(target: UserTarget, seeds: int = 40, severity: float = 1.0) -> list[tuple[dict[str, Any], str]]:
    """What becomes of the message under each seed. The guard lets each pass."""
    found = []
    for seed in range(seeds):
        draw = AMBIGUOUS.draw({}, target, SeededRandom(f"ambiguous|{seed}"), severity)
        if draw is not None and UNABLE not in draw:
            stored = json.loads(json.dumps(draw))
            after = str(AMBIGUOUS.apply(target, stored).payload)
            assert check_user_text(AMBIGUOUS, target, after, draw) is None
            assert (
                shown_text.check_shown_text(target.text, target.tools, (), draw, target.text, after) is None
            )
            found.append((stored, after))
    return found


@pytest.mark.parametrize("half", Half)
@pytest.mark.parametrize(("tools", "text"), [*ENGLISH, *OTHERS])
def test_it_acts_on_each_message_with_values(tools: tuple[ToolSchema, ...], text: str, half: Half) -> None:
    target = replace(user_target(text, tools=tools), branch=Branch(half, opening=text))
    assert len(drawn(target)) == 40


@pytest.mark.parametrize(("tools", "text"), [*ENGLISH, *OTHERS])
def test_at_most_one_value_is_withheld_and_each_is_given_back(
    tools: tuple[ToolSchema, ...], text: str
) -> None:
    target = user_target(text, tools=tools)
    for draw, after in drawn(target):
        vague = [*draw["withheld"], *draw["coarse"]]
        assert vague and len(draw["withheld"]) <= 1
        assert all(value in text for value in vague)
        # `three` may be told as `two or three`.
        assert not any(entities.find_whole(after, value, 0) >= 0 for value in vague if value[0].isdigit())
        assert all(value in draw["reveal"] for value in vague), "what the user says when asked"


@pytest.mark.parametrize(("tools", "text"), ENGLISH)
def test_nothing_is_said_in_front_of_the_message(tools: tuple[ToolSchema, ...], text: str) -> None:
    for draw, _ in drawn(user_target(text, tools=tools)):
        assert all(edit["was"] for edit in draw["edits"] if edit["at"] == 0)


def test_nobody_decides_on_a_fact() -> None:
    question = "What was the population of Denver in 2010?"
    outputs = drawn(user_target(question, tools=(tool("get_population", city=TEXT, year=COUNT),)), seeds=80)
    assert outputs and not any(re.search("decide|undecided|torn|agree", after) for _, after in outputs)


def test_severity_is_the_share_of_values_that_become_vague() -> None:
    target = user_target(ENGLISH[3][1], tools=HOTEL)
    few, many = (
        [len(draw["withheld"]) + len(draw["coarse"]) for draw, _ in drawn(target, severity=share)]
        for share in (0.1, 1.0)
    )
    assert 0 < len(few) < 40 and len(many) == 40 and {*few, *many} == {1}


def test_seeds_say_it_differently() -> None:
    counts = [
        len({after for _, after in drawn(user_target(text, tools=tools), 200)}) for tools, text in ENGLISH
    ]
    assert min(counts) >= 110 and sorted(counts)[len(counts) // 2] >= 130, counts


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("Where is my order #W2378156?", "Where is my order"),
        ("Show me an ascending list of them.", "Show me a list of them"),
        ("Export the table in ascending order.", "Export the table"),
        ("Show me ascending lists of them.", "Show me lists of them"),
    ],
)
def test_what_is_left_out_leaves_a_whole_sentence(text: str, after: str) -> None:
    for _, one in drawn(user_target(text, tools=(*TRACK, *SQL))):
        assert after in one


@pytest.mark.parametrize("half", Half)
def test_a_value_of_which_nothing_is_left_is_always_spoken_of(half: Half) -> None:
    text = "Book a room in Oslo for us, please."
    target = replace(user_target(text, tools=HOTEL), branch=Branch(half, opening=text))
    gone = [draw for draw, _ in drawn(target, 200) if not draw["edits"][0]["now"].strip()]
    assert gone and all(len(draw["edits"]) == 2 and draw["phrases"] for draw in gone)


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("I need a hotel in Oslo today.", {"near me", "nearby", "in town", "around here"}),
        ("Cancel booking HX-77, please.", {"my booking", "one of my bookings", "one of our bookings"}),
        ("Wake me up at 6:30 am tomorrow.", {"tomorrow morning", "sometime tomorrow"}),
        ("Book a call on Tuesday at 3 pm.", {"on Tuesday afternoon"}),
        ("Keep it at 19 degrees.", {"at just under 20 degrees", "at a little under 20", "at almost 20"}),
        ("Send Anna 45 dollars.", {"Anna some money", "Anna a bit of money", "Anna a little money"}),
    ],
)
def test_a_hurried_person_puts_it_like_this(text: str, made: set[str]) -> None:
    tools = (*HOTEL, *HOME, *BANK, *MAIL)
    found = [
        after
        for half in Half
        for _, after in drawn(replace(user_target(text, tools=tools), branch=Branch(half, opening=text)), 60)
    ]
    assert found and any(one in after for one in made for after in found), found


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("Post it at 2020 Addison Street, Berkeley today.", "Berkeley"),
        ("I need a room in San Diego, California today.", "California"),
        ("I need a room up to 150 euros, please.", "up to"),
    ],
)
def test_a_whole_phrase_gives_way(text: str, part: str) -> None:
    found = [(draw, after) for draw, after in drawn(user_target(text, tools=HOTEL)) if part not in after]
    assert found
    for draw, _ in found:
        assert draw["reveal"]


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("Drive me to 1400 Larimer Street, please.", "Drive me to Larimer Street, please."),
        (
            "Find 'tax' in the file yearly_report.docx, please.",
            "Find 'tax' in the yearly report, please.",
        ),
        ("Book the room on May 3rd, please.", "Book the room, please."),
        ("Book a room in Oslo on May 3rd.", "Book a room in Oslo in May."),
        ("Wake me up at 6:45, please.", "Wake me up early in the morning, please."),
    ],
)
def test_a_value_is_told_by_a_part_of_it_by_what_it_lies_in_or_is_left_out(text: str, after: str) -> None:
    tools = (tool("act", person_name=TEXT, city=TEXT, address=TEXT, file_path=TEXT, day=TEXT, time=TEXT),)
    made = [one for _, one in drawn(user_target(text, tools=(*tools, *BANK)), 200)]
    assert any(after.rstrip(".") in one for one in made), made


def test_no_offer_stands_behind_a_list() -> None:
    text = "Do this:\n1. Book a room in Oslo\n2. Cancel the old one"
    for _, after in drawn(user_target(text, tools=HOTEL)):
        assert after.endswith("2. Cancel the old one")


@pytest.mark.parametrize("text", ["I'd like to buy 3 rooms.", "Tell it in English, please."])
def test_a_verb_and_a_language_are_no_noun_phrase(text: str) -> None:
    tools = (tool("act", order_type={"type": "string", "enum": ["Buy", "Sell"]}, city=TEXT),)
    assert not any(draw["withheld"] for draw, _ in drawn(user_target(text, tools=tools)))


def test_a_value_that_is_withheld_has_no_second_one_of_its_kind() -> None:
    text = "Move the item from order #W1 to order #W2, please."
    assert set(shown("user.ambiguous", user_target(text, tools=TRACK))) == {text}


@pytest.mark.parametrize(
    "text",
    [
        'Send it to "order #W1" as it is.',
        "Open the folder called 2026-11-15 for me",
        "Send a message that says: come on Friday at 5 pm",
    ],
)
def test_what_is_quoted_named_or_passed_on_stays(text: str) -> None:
    assert set(shown("user.ambiguous", user_target(text, tools=(*TRACK, *HOTEL)))) == {text}


def test_without_tools_or_values_nothing_happens() -> None:
    for text, tools in ((ENGLISH[0][1], ()), ("Could you help me with something?", HOTEL)):
        assert AMBIGUOUS.draw({}, user_target(text, tools=tools), SeededRandom("a"), 1.0) is None


def test_a_language_without_a_pack_is_left_clean_and_an_event_says_so() -> None:
    target = user_target(
        "Prosze zarezerwowac nocleg na 3 noce od 2026-05-12, bo nie mam go i chce go dla dziecka.",
        tools=HOTEL,
    )
    draw = AMBIGUOUS.draw({}, target, SeededRandom("a"), 1.0)
    assert draw is not None and draw["edits"] == [] and UNABLE in draw


def test_where_nobody_can_be_asked_nothing_is_vague_and_an_event_says_so() -> None:
    draw = AMBIGUOUS.draw(
        {}, user_target(ENGLISH[3][1], tools=HOTEL, can_answer=False), SeededRandom("a"), 1.0
    )
    assert draw is not None and draw["edits"] == [] and draw[UNABLE] == NOBODY


def test_an_answer_is_never_vague_and_each_value_is_asked_for_once() -> None:
    for text in ("12 May.", "It is 12 May, thanks."):
        assert drawn(user_target(text, ordinal=1, tools=HOTEL)) == []
    earlier = (UserText(Ref(0), "A room from 12 May, please.", "a", 0),)
    again = user_target("As I said before, the room should be free from 12 May on.", ordinal=1, tools=HOTEL)
    assert drawn(again) != []
    assert drawn(replace(again, branch=Branch(earlier=earlier))) == []


def test_a_later_request_is_vague_too() -> None:
    text = "And then I need a second room in Lisbon from 20 May for 3 nights."
    assert drawn(user_target(text, ordinal=2, tools=HOTEL))


@settings(max_examples=60, deadline=None)
@given(text=texts, seed=st.integers(0, 1000))
def test_nothing_is_withheld_from_who_can_not_ask(text: str, seed: int) -> None:
    target = user_target(text, tools=HOTEL, can_answer=False)
    draw = AMBIGUOUS.draw({}, target, SeededRandom(f"a|{seed}"), 1.0)
    if draw is not None:
        assert entities.find_lost(text, str(AMBIGUOUS.apply(target, draw).payload)) is None


def test_what_is_vague_is_called_by_a_noun_of_its_type() -> None:
    tools = (tool("find", to_flight=TEXT, people={"type": "integer"}, card_number=TEXT),)
    for _, after in drawn(user_target("Fly from Lisbon to Oslo. There will be 4 of us.", tools=tools), 200):
        assert not any(noun in after for noun in (" flight", " people", " card"))


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("Please book me in on 2026-12-07.", "book me in for early December"),
        ("Book me in at 10:15, please.", "Book me in for the late morning"),
        ("I'll take 2026-12-07 instead.", "I'll take the first half of December instead"),
        ("Can you do 2026-12-07 for me?", "Can you do early December for me"),
    ],
)
def test_a_moment_goes_with_the_word_before_it(text: str, made: str) -> None:
    found = [after for _, after in drawn(user_target(text, tools=CLINIC), 80)]
    assert any(made in after for after in found)
    assert not any(re.search(r"\bin in\b|\b(?:take|do) (?:in|on|at)\b", after) for after in found)


def test_a_person_is_told_by_the_first_name_alone() -> None:
    tools = (tool("act", person_name=TEXT), *BANK)
    target = user_target("Pay 20 euros to Daniel Kim.", tools=tools)
    found = [(draw, after) for draw, after in drawn(target, 100) if "Kim" not in after]
    assert any("to Daniel" in after for _, after in found)
    assert all("Daniel Kim" in draw["reveal"] for draw, _ in found)


def test_brackets_behind_words_for_a_value_dont_name_it_again() -> None:
    tools = (tool("act", genre=TEXT, city=TEXT),)
    texts = ("Find a train from Vienna to Graz, please.", "How far is it from Vienna to Graz by train?")
    made = [one for text in texts for _, one in drawn(user_target(text, tools=tools), 100)]
    assert made and not [one for one in made if re.search(r"(?:certain|particular) city \([^)]*city", one)]


@pytest.mark.parametrize(("tools", "text", "value"), DENIED)
def test_what_a_negation_governs_is_not_left_open(
    tools: tuple[ToolSchema, ...], text: str, value: str
) -> None:
    made = drawn(user_target(text, tools=tools), 60)
    assert all(value not in (*draw["withheld"], *draw["coarse"]) for draw, _ in made)


@settings(max_examples=200, deadline=None)
@given(
    template=st.sampled_from([(language, one) for language, each in RESTRICTED.items() for one in each]),
    time=st.sampled_from(("09:15", "10:00", "15:30")),
    day=st.integers(1, 28),
    bound=st.sampled_from(("before", "after", "until", "past")),
    lead=st.booleans(),
    seed=st.integers(0, 10_000),
)
def test_what_is_ruled_out_or_bounds_the_rest_stays(
    template: tuple[Language, str], time: str, day: int, bound: str, lead: bool, seed: int
) -> None:
    language, sentence = template
    date = f"12月{day}日" if language in UNSPACED else f"2026-12-{day:02}"
    text = sentence.format(time=time, date=date, bound=bound, on="on", at="at")
    text = f"I'm patient P-4821. {text}" if lead and language is Language.EN else text
    target = user_target(text, tools=CLINIC)
    draw = AMBIGUOUS.draw({}, target, SeededRandom(f"ambiguous|{seed}"), 1.0)
    after = text if draw is None else str(AMBIGUOUS.apply(target, draw).payload)
    assert sentence.format(time=time, date=date, bound=bound, on="on", at="at").rstrip(".") in after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Nothing before 10:00 on 2026-12-07 please.", "Nothing on 2026-12-07 please."),
        ("I refuse to come after 15:30 on 2026-12-07.", "I refuse to come on 2026-12-07."),
        ("I can do Mondays only, never after 15:30.", "I can do Mondays only, never."),
        ("She can only come before 11:00, and I pay.", "She can only come, and I pay."),
        ("Never after 15:30, please.", "After 15:30, please."),
        ("Bitte nichts am 2026-12-07 vor 10 Uhr.", "Bitte nichts am 2026-12-07."),
        ("Nous ne venons pas le 2026-12-07.", "Nous ne venons pas en décembre."),
    ],
)
def test_the_guard_withholds_what_inverts_a_constraint(before: str, after: str) -> None:
    reason = check_user_text(AMBIGUOUS, user_target(before, tools=CLINIC), after)
    assert reason is not None and "rules out or bounds" in reason


def test_what_is_turned_up_to_a_value_has_no_bound() -> None:
    made = drawn(user_target("Turn the heating up to 19 degrees, please.", tools=HOME))
    assert made and not any("19" in after for _, after in made)


def test_a_long_text_is_left_clean_and_an_event_says_so() -> None:
    text = "Please move the archive folder to file a. " * (LONGEST // 40)
    draw = AMBIGUOUS.draw({}, user_target(text, tools=HOTEL), SeededRandom("a"), 1.0)
    assert draw is not None and draw["edits"] == [] and draw[UNABLE] == TOO_LONG


def test_german_money_behind_a_noun_is_no_phrase_of_its_own() -> None:
    tools = (tool("send", amount=TEXT, date=TEXT),)
    text = "Bitte verschicke das Paket am 3. Mai, Versicherungswert 500 Euro."
    made = drawn(user_target(text, tools=tools), 200)
    assert not [after for _, after in made if "Versicherungswert e" in after]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("My phone is broken and Windows 11 is the system.", "Windows 11"),
        ("I need help for Windows 11 users.", "Windows 11"),
        ("My mother has type 2 diabetes.", "type 2"),
    ],
)
def test_a_number_that_is_a_name_stays(text: str, said: str) -> None:
    tools = (tool("act", lines=COUNT, number=COUNT),)
    assert all(said in one for one in shown("user.ambiguous", user_target(text, tools=tools)))


def test_no_english_words_stand_in_a_short_spanish_message() -> None:
    target = user_target("Prefiero Sevilla o Granada, 3 noches a partir del 4 de junio.", tools=HOTEL)
    assert not any("in " in one or "the " in one for one in shown("user.ambiguous", target))


MANY = (
    *MAIL,
    tool("address", postal_code=TEXT),
    tool("find_artwork", artist=TEXT, title=TEXT),
    tool("tickets", adults=COUNT, exhibition=TEXT, litres=COUNT, income=AMOUNT),
)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("Ich wohne jetzt in der Elmstraße 14, 50667 Köln. Können Sie das ändern?", "paar|einige|mehrere"),
        ("Bestell die Lieferung bitte vor dem 8. Juli für Anna.", "irgendwann"),
        ("Berechne die Steuer für 2023: Einkommen 58.400 Euro.", "Geld"),
        ("Gieß das Feld um 5 Uhr mit 4.000 Litern.", "(?:paar|einige|mehrere) Litern"),
        ("Ruf mich bitte am 3. Mai um 12 Uhr an.", "nachmittags"),
        ("Achète des billets pour l'exposition Vermeer le 21 août.", "ami|collègue|famille"),
        ("Arrose le champ avec 4000 litres à 5 heures.", "quelques heures"),
        ("Réserve une chambre à 7h00 le 21 août.", "fin de matinée"),
        ("Commande des sacs chez Harlow & Sons le 2 avril.", "ami|collègue|famille"),
        (
            "Compra dos entradas de adulto y tres de niño para la exposición de Vermeer el 21 de agosto.",
            "alguien|persona",
        ),
        ("¿A qué hora abre el Prado el 3 de mayo?", "alguien|persona"),
        ("Mi coche tiene la matrícula 4182 KXB, cita el 3 de mayo.", "alguien|persona"),
        ("What will the weather be like in the upcoming 7 days in Oslo?", "upcoming a"),
        ("Give me the lengths of the other two sides, say 3 rooms in Oslo.", "other a|other sides"),
        ("请把412.50元的发票发给王芳。", "之前|上回"),
        ("12点提醒我开会。", "下午"),
        ("8月21日の大人2枚のチケットを買ってください。", "数枚"),
    ],
)
def test_no_vague_words_say_what_is_wrong(text: str, wrong: str) -> None:
    for half in Half:
        target = replace(user_target(text, tools=MANY), branch=Branch(half, opening=text))
        for _, after in drawn(target):
            assert re.search(wrong, after) is None, after


@pytest.mark.parametrize(("count", "told"), [(6, "few hours"), (24, None), (72, "few days")])
def test_only_a_few_hours_are_called_so(count: int, told: str | None) -> None:
    text = f"What's the forecast for Oslo over the next {count} hours?"
    tools = (tool("forecast", area=TEXT, hours=COUNT),)
    found = {after for draw, after in drawn(user_target(text, tools=tools)) if f"{count}" not in after}
    assert any(told in after for after in found) if told else not any(" few " in after for after in found)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("Book a room for 6 or 8 nights.", "6 or 8 nights"),
        ("Plot it with 9 to 12 guests.", "9 to 12 guests"),
    ],
)
def test_a_range_is_not_left_open_at_one_end(text: str, whole: str) -> None:
    assert all(whole in one for one in shown("user.ambiguous", user_target(text, tools=HOTEL), seeds=80))


def test_what_opens_a_sentence_keeps_its_capital_and_what_is_left_out_leaves_one_stop() -> None:
    text = "I need a room in Oslo. 5 guests are coming. Under 250 euros."
    found = shown("user.ambiguous", user_target(text, tools=HOTEL), seeds=150)
    assert not any(re.search(r"[.!?] (?:a few|several|within|for|at)\b|\.\.(?!\.)", one) for one in found)
    assert any(". Several guests" in one for one in found)
