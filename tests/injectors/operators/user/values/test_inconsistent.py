"""user.inconsistent: a rival contradicts a value, and the user's own words settle which one holds."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosswind.injectors import registry
from crosswind.injectors.conversation import Conversation, Ref, ToolList, ToolSchema, UserText
from crosswind.injectors.engine.decision import KnownText, NewText
from crosswind.injectors.engine.messages import perturb_messages
from crosswind.injectors.engine.plan import CompiledRule, Plan
from crosswind.injectors.guard.bounds import Bounds
from crosswind.injectors.guard.corrections import correct
from crosswind.injectors.guard.solvability import NO_ROOM
from crosswind.injectors.identity import text_anchor
from crosswind.injectors.profiles.schedule import When
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Branch, Half, UserTarget
from crosswind.injectors.text import entities
from tests.injectors.operators import acting
from tests.injectors.operators.acting import user_target
from tests.injectors.operators.user.values.spoken import (
    AMOUNT,
    COUNT,
    DENIED,
    ENGLISH,
    HOME,
    HOSPITAL,
    HOTEL,
    MAIL,
    OTHERS,
    TEXT,
    choice,
    tool,
)

INCONSISTENT = registry.resolve("user.inconsistent")
SAYS = (
    "I want to move my room in Oslo to 12 May, please.",
    "Yes, please go on.",
    "Thanks, and where is my refund?",
    "Good.",
    "Bye.",
)
FIRST = When(first_call=True)


def message(text: str, tools: tuple[ToolSchema, ...], half: Half = Half.TRAIN) -> UserTarget:
    return replace(user_target(text, tools=tools), branch=Branch(half, opening=text))


def drawn(target: UserTarget, seeds: int = 40, severity: float = 1.0) -> list[tuple[dict[str, Any], str]]:
    """What becomes of the message under each seed."""
    return acting.drawn("user.inconsistent", target, severity, seeds)


def places(text: str, value: str) -> list[int]:
    """Where the text names this value, by itself and in any case."""
    found = [entities.find_whole(text.lower(), value.lower(), 0)]
    while found[-1] >= 0:
        found.append(entities.find_whole(text.lower(), value.lower(), found[-1] + 1))
    return found[:-1]


@pytest.mark.parametrize("half", Half)
@pytest.mark.parametrize(("tools", "text"), [*ENGLISH, *OTHERS])
def test_each_output_contradicts_a_value_and_settles_it(
    tools: tuple[ToolSchema, ...], text: str, half: Half
) -> None:
    outputs = drawn(message(text, tools, half))
    assert len(outputs) == 40
    for draw, after in outputs:
        ((value, (rival,)),) = draw["wrong"].items()
        assert draw["final"] == [value] and value in text and not places(text, rival)
        assert len(places(after, rival)) == sum(len(places(edit["now"], rival)) for edit in draw["edits"])
        assert places(after, rival)[-1] < places(after, value)[-1]
        assert entities.find_lost(text, correct(after, draw)) is None


def test_a_value_of_several_words_is_not_said_twice_and_an_option_has_its_noun() -> None:
    text = "Set one of the lights in the rear room to red for 12 minutes."
    rooms = choice("rear", "front", "sideRoom")
    outputs = drawn(user_target(text, tools=(tool("set", room=rooms, minutes=COUNT),)), 150)
    inside = [draw["edits"][0]["now"] for draw, _ in outputs if len(draw["edits"]) == 1]
    assert any("minutes" in one for one in inside)
    assert all(one.count("minutes") < 2 for one in inside)
    assert any("the front room" in draw["edits"][1]["now"] for draw, _ in outputs if len(draw["edits"]) > 1)
    assert not any(re.search("side ?room", after, re.IGNORECASE) for _, after in outputs)


def test_a_city_of_the_conversation_is_a_rival() -> None:
    target = user_target(
        "Now show me rooms in Nyborg, please.", tools=(tool("find", village=TEXT, city=TEXT),)
    )
    assert {one for draw, _ in drawn(target) for (one,) in draw["wrong"].values()}.isdisjoint({"Odense"})
    earlier = (UserText(Ref(0), "I was looking for something in Odense before.", "a", 0),)
    known = replace(target, branch=Branch(earlier=earlier))
    assert {one for draw, _ in drawn(known) for (one,) in draw["wrong"].values()} == {"Odense"}


ACT = (tool("act", city=TEXT, part=choice("engine", "brake", "horn")),)


@pytest.mark.parametrize(
    ("tools", "text"),
    [
        ((), ENGLISH[0][1]),
        (ACT, "Please find me a doctor in Rivermist soon."),
        (ACT, "Release the brake and then start the engine, please."),
        (HOTEL, "My name is Paris and I need a room."),
        (HOTEL, 'It says "12 May" on the ticket.'),
        (HOTEL, "Open the folder called 12-May for me"),
        (HOTEL, "Post a message that says: the trip starts on 12 May"),
        (MAIL, "Mail it to anna.smith@example.org, please."),
        (HOTEL, "Could you help me with that?"),
    ],
)
def test_what_is_no_value_or_stands_literally_is_not_contradicted(
    tools: tuple[ToolSchema, ...], text: str
) -> None:
    assert drawn(user_target(text, tools=tools)) == []


def test_a_week_that_has_become_vague_is_not_contradicted() -> None:
    clean = "Please move my lesson to next week."
    vague = "Please move my lesson to the next week or two (will tell you in a minute)."
    target = user_target(vague, tools=(tool("move_lesson", date=TEXT),))
    assert drawn(target)
    assert drawn(replace(target, clean=clean)) == []


def test_a_city_with_its_country_is_corrected_at_once() -> None:
    target = user_target(
        "Find me a hotel for London in the United Kingdom.", tools=(tool("find", city=TEXT),)
    )
    assert all(after[-22:] == "in the United Kingdom." for _, after in drawn(target))


def test_severity_brings_more_contradictions() -> None:
    target = user_target(ENGLISH[3][1], tools=HOTEL)
    few, many = (sum(len(draw["final"]) for draw, _ in drawn(target, severity=share)) for share in (0.1, 1.0))
    assert 0 < few < 30 and many == 40, "three occasions, one slip at most"


def test_seeds_say_it_differently() -> None:
    counts = [len({one for _, one in drawn(user_target(text, tools=tools), 200)}) for tools, text in ENGLISH]
    assert min(counts) >= 80 and sorted(counts)[len(counts) // 2] >= 150, counts


TEXTS = (*HOSPITAL, *HOTEL, *MAIL, *HOME, tool("post", message=TEXT, title=TEXT, query=TEXT, text=TEXT))
VALUES = (tool("act", person=TEXT, city=TEXT, nights=COUNT, days=COUNT, time=TEXT),)
WHOLE = [
    ("Fly from San Francisco, CA to Austin, Texas on 24th of June 2024.", "San Francisco, CA"),
    ("Fly from San Francisco, CA to Austin, Texas on 24th of June 2024.", "24th of June 2024"),
    ("Give me a plan for type 2 diabetes in late August 2023 for a 45-year-old.", "type 2 diabetes"),
    ("Give me a plan for type 2 diabetes in late August 2023 for a 45-year-old.", "late August 2023"),
    ("Who won the summer 2022 season, and how many were over $5k in Room 12?", "summer 2022"),
    ("Reserve it from 9 am to 5 pm, or between March 1 and March 5, 2024.", "9 am to 5 pm"),
    ("Get me 3 burgers with 2 slices of cheese.", "2 slices of cheese"),
    ("What is the mean of 4, 8 and 15, and of [3, 5]?", "4, 8 and 15"),
    ("Find the derivative of 3x^2 + 2x - 1 at (2, 3).", "3x^2 + 2x - 1"),
    ("Message the team that the demo is at 3 pm in Berlin.", "the demo is at 3 pm in Berlin"),
    ("Search the web for cheap flights to Rome in May.", "cheap flights to Rome in May"),
    ("Remind me to pay 50 dollars to Anna on Friday.", "pay 50 dollars to Anna"),
    ("Schedule a meeting with Anna for 12 May.", "meeting with Anna"),
    ("Ship it to 221 Baker Street, London, NW1 6XE by 12 May.", "221 Baker Street, London, NW1 6XE"),
    ("Ein Zimmer für nächsten Dienstag, Zimmer 12, im Hotel Adler bitte.", "nächsten Dienstag"),
    ("Necesito la habitación 12 para el próximo martes a las 17:00.", "habitación 12"),
    ("Necesito la habitación 12 para el próximo martes a las 17:00.", "próximo martes"),
    ("Manda un mensaje a Ana: Nos vemos el martes.", "Nos vemos el martes."),
    ("Reserva la sala los martes y sábados, por favor.", "los martes y sábados"),
    ("Réservez la chambre 12 pour mardi prochain au 5 rue de Lyon.", "5 rue de Lyon"),
    ("Réservez la chambre 12 pour mardi prochain au 5 rue de Lyon.", "chambre 12"),
    ("帮我订下周三住北京大学附近的酒店，3号线沿线。", "北京大学"),
    ("帮我订下周三住北京大学附近的酒店，3号线沿线。", "下周三"),
    ("来週火曜日に新大阪駅の近くのホテルを3泊予約してください。", "新大阪駅"),
]
"""Messages, each with what a call needs of it in one piece: more than the value that stands in it."""


RANGES = [
    ("Book a room for 3 to 5 days, please.", "3 to 5 days"),
    ("I need it between 2 and 4 nights from now.", "between 2 and 4 nights"),
    ("Is it 3 or 4 nights?", "3 or 4 nights"),
    ("Wake me up at half past six, please.", "half past six"),
    ("Book it for the week of May 5, please.", "week of May 5"),
    ("Show me the past 3 days, please.", "past 3 days"),
    ("Search Yahoo! Finance for it.", "Yahoo! Finance"),
]


@pytest.mark.parametrize("half", Half)
@pytest.mark.parametrize(
    ("tools", "text", "whole"), [*((TEXTS, *one) for one in WHOLE), *((VALUES, *one) for one in RANGES)]
)
def test_what_a_call_needs_stays_in_one_piece(
    tools: tuple[ToolSchema, ...], text: str, whole: str, half: Half
) -> None:
    assert all(whole in after for _, after in drawn(message(text, tools, half), 60))


@given(st.data())
def test_the_value_stands_literally_and_last_and_the_rest_as_it_was(data: st.DataObject) -> None:
    tools, text = data.draw(st.sampled_from([*ENGLISH, *OTHERS]))
    before = data.draw(st.sampled_from(("", "Hi! ", "OK. ", "2. ")))
    target = user_target(f"{before}{text}", tools=tools)
    draw = INCONSISTENT.draw({}, target, SeededRandom(data.draw(st.text(max_size=8))), 1.0)
    if draw is not None:
        (*swap, edit), (value,) = draw["edits"], draw["final"]
        after = str(INCONSISTENT.apply(target, draw).payload)
        rest, at = correct(after, draw), edit["at"]
        assert rest[:at] == target.text[:at] and rest.endswith(target.text[at + len(edit["was"]) :])
        rival = draw["wrong"][value][0]
        assert all((one["was"], one["now"]) == (value, rival) for one in swap)
        _, _, behind = edit["now"].rpartition(value)
        named = at == len(target.text) or len(behind) <= 2 or f"{value}{behind.rstrip(')')}" in target.text
        assert (swap or rival in edit["now"]) and named, (
            "a counter, a bracket or its noun stands behind it at most"
        )


def test_a_correction_carries_the_words_that_belong_to_the_value() -> None:
    text = "Quiero la mesa a las 17:00 en Sevilla, por favor."
    target = user_target(text, tools=(tool("book", time=TEXT),))
    within = [
        after for draw, after in drawn(target, 80) if draw["final"] == ["17:00"] and len(draw["edits"]) == 1
    ]
    assert within and all(after.count("a las") == 2 for after in within)


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("The 08:15 one, please.", "the 08:15 one, please."),
        ("Am 5. Mai brauche ich ein Zimmer.", "am 5. Mai brauche ich ein Zimmer."),
        ("À 17h00 je veux venir.", "à 17h00 je veux venir."),
    ],
)
def test_a_value_that_is_said_again_within_a_sentence_has_a_small_article(text: str, again: str) -> None:
    tools = (tool("act", date=TEXT, time=TEXT),)
    found = {*acting.shown("user.inconsistent", user_target(text, tools=tools), seeds=80)} - {text}
    assert any(one.endswith(again) for one in found)
    assert not any(text.rstrip(".") in one for one in found)


def test_a_year_is_no_day_and_a_version_no_amount() -> None:
    tools = (tool("list", date=TEXT, version=AMOUNT),)
    dated = drawn(user_target("Show the sales since March 2025, please.", tools=tools))
    assert {value for draw, _ in dated for value in draw["final"]} == {"March 2025"}
    assert drawn(user_target("Deploy version 2.4.1 now, please.", tools=tools)) == []


def test_what_other_noise_said_is_never_called_final() -> None:
    own = "I want a room from 12 May on."
    target = replace(user_target(f"{own} Oslo is nice, isn't it?", tools=HOTEL), clean=own)
    assert {one for draw, _ in drawn(target) for one in draw["final"]} == {"12 May"}


def plan(when: When = FIRST, *, seed: int = 3, settles: str = "next_message", **more: Any) -> Plan:
    rule = CompiledRule("user.inconsistent", "user.inconsistent", 1.0, when, options={"settles": settles})
    return Plan("p", 1, seed, "session", "s", "noisy", rules=(rule,), **more)


def conversation(count: int) -> Conversation:
    anchors = [text_anchor("user_text", f"{at} {text}", 0) for at, text in enumerate(SAYS)]
    items = tuple(UserText(Ref(2 * at), SAYS[at], anchors[at], at) for at in range(count))
    return Conversation(items, tools=ToolList(HOTEL))


def by_turns(made: Plan, turns: int = len(SAYS), spared: frozenset[int] = frozenset()) -> list[NewText]:
    """The messages as a session meets them one by one; in those that are `spared` nothing is decided."""
    known: dict[str, KnownText] = {}
    found = []
    for count in range(1, turns + 1):
        out = perturb_messages(made, conversation(count), known, allow_new=count - 1 not in spared)
        (new,) = out.new
        known[new.item.anchor] = KnownText(new.text, new.decisions)
        found.append(new)
    return found


def member(new: NewText, name: str) -> Any:
    return new.decisions[0].draw.get(name) if new.decisions else None


def test_the_next_message_settles_it_whatever_the_schedule_says() -> None:
    first, second, *later = by_turns(plan())
    (doubt,) = member(first, "owed")
    assert first.text is not None and first.text.startswith(SAYS[0])
    assert second.text is not None and second.text.startswith(SAYS[1]) and doubt in second.text
    assert member(second, "settles") == member(second, "final") == [doubt]
    assert all(new.text is None for new in later)


def test_later_is_the_next_message_or_the_one_after() -> None:
    settled = set()
    for seed in range(20):
        found = by_turns(plan(seed=seed, settles="later"))
        (at,) = (at for at, new in enumerate(found) if member(new, "settles"))
        assert member(found[at], "settles") == member(found[0], "owed")
        settled.add(at)
    assert settled == {1, 2}


@pytest.mark.parametrize("settles", ["next_message", "later"])
def test_one_by_one_or_all_at_once_is_the_same(settles: str) -> None:
    made = plan(When(), settles=settles)
    assert perturb_messages(made, conversation(5), {}).new == by_turns(made)


def test_a_message_that_is_spared_leaves_it_to_the_one_after() -> None:
    first, second, third, fourth, _ = by_turns(plan(), spared=frozenset({1}))
    assert first.text is not None and second.text is None and fourth.text is None
    assert member(third, "settles") == member(first, "owed")


def test_another_branch_settles_for_itself() -> None:
    first = by_turns(plan(), 1)[0]
    known = {first.item.anchor: KnownText(first.text, first.decisions)}
    items = (*conversation(1).items, UserText(Ref(2), "No, wait.", "text:other", 1))
    (new,) = perturb_messages(plan(), Conversation(items, tools=ToolList(HOTEL)), known).new
    assert member(new, "settles") == member(first, "owed")


def test_where_nobody_answers_it_is_settled_in_the_same_message() -> None:
    first, *later = by_turns(plan(user_can_answer=False))
    assert member(first, "final") and member(first, "owed") is None
    assert all(new.text is None for new in later)


def test_bounds_keep_room_for_settling() -> None:
    tight, roomy = (plan(bounds=Bounds(events_per_session=most)) for most in (1, 2))
    first, *later = by_turns(tight)
    assert first.text is None and all(new.text is None for new in later)
    assert NO_ROOM in first.injections[0].note
    assert [new.text is not None for new in by_turns(roomy)] == [True, True, False, False, False]


@given(
    st.integers(0, 10_000),
    st.sets(st.integers(0, 3)),
    st.sampled_from([FIRST, When(), When(every=2)]),
    st.sampled_from(["next_message", "later"]),
)
def test_nothing_is_settled_that_wasnt_in_doubt_and_no_doubt_outlives_the_next_two_messages(
    seed: int, spared: set[int], when: When, settles: str
) -> None:
    owed: dict[str, int] = {}
    for at, new in enumerate(by_turns(plan(when, seed=seed, settles=settles), spared=frozenset(spared))):
        settled = set(member(new, "settles") or ())
        assert settled <= owed.keys()
        owed = {word: age + 1 for word, age in owed.items() if word not in settled}
        assert at in spared or all(age < 2 or spared for age in owed.values())
        owed |= dict.fromkeys(member(new, "owed") or (), 0)


def test_a_rival_is_named_in_the_language_of_the_message() -> None:
    found = drawn(user_target("Please find me a hotel in Paris soon.", tools=(tool("find", city=TEXT),)))
    assert found and {one for draw, _ in found for (one,) in draw["wrong"].values()} <= {"London"}


SEATS = (
    tool("book_seat", fare=choice("economy", "business", "first"), city=TEXT, seats=COUNT),
    tool("fill_fuel_tank"),
    tool("show", part=choice("fuel", "battery", "engine")),
)


@pytest.mark.parametrize("half", Half)
@pytest.mark.parametrize(
    ("tools", "text", "value"),
    [
        *DENIED,
        (HOTEL, "Je préfère Paris. L'iPhone 6 est bien pour nous.", "6"),
        (HOTEL, "Ich möchte nach Wien fliegen. Zwischen 5 und 11 Nächten.", "11 Nächten"),
        (HOTEL, "Quiero ir a Madrid. Entre 9 y 14 noches.", "14 noches"),
        (HOTEL, "Je veux aller à Nice. Entre 9 et 13 nuits.", "13 nuits"),
        (HOTEL, "价格是800元。我在北京机场。", "北京"),
        (SEATS, "I have a business meeting in Chicago, so book me a seat from Boston.", "business"),
        (SEATS, "Please fill the fuel tank for me.", "fuel"),
        (SEATS, "Book 3 seats to Boston. I go with my wife and five cousins.", "five"),
        (SEATS, "Book 3 seats to Boston, five flights were delayed today.", "five"),
    ],
)
def test_what_is_denied_a_part_of_more_or_only_told_is_not_contradicted(
    tools: tuple[ToolSchema, ...], text: str, value: str, half: Half
) -> None:
    assert all(value not in draw["final"] for draw, _ in drawn(message(text, tools, half), 60))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Find a hotel in Oslo for not more than 150 euros.", "150 euros"),
        ("Find a hotel in Oslo for no more than 150 euros.", "150 euros"),
        ("Don't forget to book the hotel in Oslo.", "Oslo"),
        ("I did not get an answer and I want to book the hotel in Oslo.", "Oslo"),
        ("我想在5月3日住北京的酒店，每晚不超过400元。", "400元"),
        ("能不能帮我订5月3日去北京的酒店？", "5月3日"),
    ],
)
def test_a_limit_and_a_polite_question_are_no_negation(text: str, value: str) -> None:
    assert any(value in draw["final"] for draw, _ in drawn(user_target(text, tools=HOTEL), 60))


def swapped(target: UserTarget) -> list[tuple[dict[str, Any], str]]:
    """Where the rival stands in the value's place, and the message's end corrects it."""
    return [one for one in drawn(target, 150) if len(one[0]["edits"]) > 1]


@pytest.mark.parametrize("half", Half)
@pytest.mark.parametrize(
    "text",
    [
        "Transfer 250 USD to Anna and 300 USD to Peter.",
        "Book me a room from May 14 and tell me the way there, and another one from May 21.",
        "Set the bedroom to 19 degrees and the kitchen to 22 degrees.",
    ],
)
def test_a_late_correction_says_which_of_two_values_it_is_for(text: str, half: Half) -> None:
    tools = (*HOME, *HOTEL, tool("pay", amount=AMOUNT, recipient=TEXT))
    for draw, after in swapped(message(text, tools, half)):
        ((rival,),) = draw["wrong"].values()
        value = draw["edits"][0]["was"]
        wrong = rival.removesuffix(" USD")
        assert value in ("Anna", "Peter") or wrong in draw["edits"][1]["now"], after


def test_a_type_that_was_left_open_is_not_contradicted() -> None:
    text = "Book a room from 12 May to be safe, and a table for 20 May."
    shown_before = "Book a room from some day to be safe, and a table for 20 May. I'll tell you the day soon."
    tools = (tool("book", date=TEXT),)
    target = replace(user_target(shown_before, tools=tools), clean=text)
    assert drawn(user_target(text, tools=tools)) != []
    assert drawn(target) == []


@pytest.mark.parametrize("half", Half)
@pytest.mark.parametrize(
    ("text", "odd"),
    [
        ("Order number 2231 is 120 dollars, please pay it.", "2231 is."),
        ("Customer ID 99120 wants 3 rooms in Oslo.", "99120 wants."),
        ("Patient ID 33124 has 5 appointments in May.", "33124 has."),
    ],
)
def test_a_verb_behind_a_number_is_not_what_it_counts(text: str, odd: str, half: Half) -> None:
    tools = (*HOTEL, tool("act", number=COUNT, limit=COUNT, price=AMOUNT))
    found = drawn(message(text, tools, half), 80)
    assert found and all(odd not in after for _, after in found)


def test_a_bare_number_is_not_put_right_where_it_could_be_for_a_day() -> None:
    text = "There are 2 of us, and check-in is May 4."
    found = [one for half in Half for one in swapped(message(text, HOTEL, half)) if one[0]["final"] == ["2"]]
    for draw, after in found:
        ((rival,),) = draw["wrong"].values()
        assert rival in draw["edits"][1]["now"], after
    assert found


@pytest.mark.parametrize("half", Half)
def test_a_late_correction_names_the_rival_beside_any_other_name(half: Half) -> None:
    text = "Maria owes me 50 dollars, so send it to Anna."
    tools = (tool("pay", recipient=TEXT, amount=AMOUNT),)
    named = [one for one in swapped(message(text, tools, half)) if one[0]["final"] == ["Anna"]]
    for draw, after in named:
        ((rival,),) = draw["wrong"].values()
        assert rival in draw["edits"][1]["now"], after
    assert named


@pytest.mark.parametrize("half", Half)
def test_a_name_keeps_its_capital_in_what_a_user_of_small_letters_says(half: Half) -> None:
    text = "find me a hotel in Oslo please"
    found = drawn(message(text, HOTEL, half), 200)
    for draw, after in found:
        ((rival,),) = draw["wrong"].values()
        assert rival.lower() not in after
    assert found


def test_a_noun_is_said_again_with_its_option() -> None:
    ride = choice("standard", "premium", "shared")
    target = user_target("Get me a shared ride to the airport.", tools=(tool("order_ride", ride=ride),))
    inside = [draw["edits"][0]["now"] for draw, _ in drawn(target) if len(draw["edits"]) == 1]
    assert inside and all(" ride" in one and one.rstrip(")").endswith("shared ride") for one in inside)


def test_a_message_with_many_empty_lines_is_read_once() -> None:
    # Quadratic work on them takes seconds for each draw.
    text = "Move my room in Oslo to 12 May." + "\n" * 16_000 + "Thanks."
    found = drawn(user_target(text, tools=HOTEL), seeds=2)
    assert found and all("Oslo" in said for _, said in found)
