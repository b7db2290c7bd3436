"""What a user says beside the request: the request is whole, and the rest fits the conversation."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosswind.injectors import registry
from crosswind.injectors.conversation import ToolList, ToolSchema, UserText
from crosswind.injectors.engine.messages import perturb_messages
from crosswind.injectors.operators.user.asides.asked import asks_anything, asks_for, find_asked
from crosswind.injectors.operators.user.asides.draw import is_small, write_like
from crosswind.injectors.operators.user.asides.joining import goes_before, is_courteous
from crosswind.injectors.operators.user.asides.places import find_places
from crosswind.injectors.packs.domains import detect_domain, list_stems, split_words
from crosswind.injectors.packs.load import load_all
from crosswind.injectors.packs.parts import Address, Asked
from crosswind.injectors.packs.stems import JOINED
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Branch, Half, UserTarget
from crosswind.injectors.text.languages import UNABLE, Language
from tests.injectors.dialogues import conversation
from tests.injectors.operators.acting import QUESTION, acts, drawn, rule, shown, user_target
from tests.injectors.operators.user.asides.meanings import MEANINGS
from tests.injectors.plans import plan_of

ASIDES = ("user.redundant", "user.topic_drift", "user.boundary_probing", "user.out_of_scope")
CUES = ("user.cost_cue", "user.speed_cue")
NOTE = 'The text is "Tea with the neighbours" and the place is "Garden Y".'
"""The last turn of a user as in RobustBench-TC's reward examples (appendix C)."""

ENTRIES = {f"{pack.name}@{pack.version}#{entry.id}": entry for pack in load_all() for entry in pack.entries}


def tools(*names: str) -> tuple[ToolSchema, ...]:
    return tuple(ToolSchema(name, name.replace("_", " "), {}) for name in names)


FOREIGN: dict[str, tuple[tuple[ToolSchema, ...], str]] = {
    "hospital": (
        tools("book_appointment", "get_prescriptions"),
        "I need to see Dr. Lee about my knee on Thursday. Can you book me an appointment in the afternoon? "
        "My insurance card is in the file already.",
    ),
    "sql": (
        tools("run_query", "list_tables"),
        "show me the top 10 customers by revenue in 2023, the table is sales.orders",
    ),
    "git": (
        tools("git_commit", "open_pull_request"),
        "Open a pull request from fix/login to main with the title 'Fix login'. The tests passed here.",
    ),
    "hotel": (
        tools("search_hotels", "book_room"),
        "Hi! We are looking for a hotel in Lisbon for 3 nights from November 15. What can you find?",
    ),
    "home": (
        tools("set_thermostat", "lights_off"),
        "It's freezing. Set the living room to 22 degrees and turn the lights off in the kitchen.",
    ),
    "bank": (tools("get_balance", "transfer_money"), "Transfer 80 euros to my landlord, please."),
    "passed on": (
        tools("send_message"),
        "Send this to Ana, word for word: I can't make it tonight. Will you wait for me?",
    ),
    "list": (
        tools("create_task"),
        "Make these tasks:\n- Buy milk. Whole.\n- Call Tom. Soon.\nAnd tell me the ids.",
    ),
    "de": (
        tools("search_hotels"),
        "Guten Tag, ich suche ein Hotel in Köln vom 15. bis 17. November. Können Sie mir etwas empfehlen?",
    ),
    "es": (
        tools("search_hotels"),
        "Busco un hotel en Lima para el 15 de noviembre. ¿Me puedes decir el precio?",
    ),
    "fr": (
        tools("search_hotels"),
        "Je cherche un hôtel à Lyon pour trois nuits. Pouvez-vous m'en proposer un ?",
    ),
    "zh": (tools("search_hotels"), "您好，我想订一家上海的酒店，住3晚。请帮我查一下价格。"),
    "ja": (tools("search_hotels"), "大阪のホテルを3泊予約したいです。静かな部屋はありますか？"),
    "ar": (tools("search_hotels"), "أبحث عن فندق في القاهرة لثلاث ليال. هل يمكنك أن تجد لي غرفة هادئة؟"),
}


def target(name: str, half: Half = Half.TRAIN) -> UserTarget:
    given, text = FOREIGN[name]
    made = user_target(text, tools=given)
    branch = Branch(half=half, key=name, opening=text)
    return UserTarget(text, 0, made.protected, given, clean=text, branch=branch)


def opening(text: str, *given: ToolSchema, half: Half = Half.TRAIN) -> UserTarget:
    """A message that opens a conversation."""
    return UserTarget(text, 0, tools=given, branch=Branch(half, opening=text), clean=text)


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("operator", ASIDES)
def test_an_aside_fits_the_conversation(operator: str, name: str) -> None:
    one = target(name)
    language = Language(name) if name in set(Language) else Language.EN
    domain = detect_domain(ToolList.of(one.tools), one.text)
    made = drawn(operator, one)
    passed_on = operator != "user.redundant" and name == "passed on"
    assert len(made) >= 32 or passed_on, "it has a place in nearly every message"
    said = {stem for word in split_words(one.text) for stem in list_stems(word)}
    for draw, after in made:
        rest = iter(after)
        assert all(letter in rest for letter in one.text) and after != one.text, "the message is whole"
        for phrase in draw["phrases"]:
            pack, _, _ = phrase.partition("@")
            assert pack in (f"{language}/general", f"{language}/{domain}")
            assert ENTRIES[phrase].half is Half.TRAIN and ENTRIES[phrase].operator == operator
            about = set(ENTRIES[phrase].about)
            joined = language in JOINED and any(stem in one.text for stem in about)
            assert not about or about & said or joined, "it speaks of what the message speaks of"


@pytest.mark.parametrize("name", ["git", "home", "bank"])
@pytest.mark.parametrize("operator", ASIDES)
def test_some_are_of_the_messages_own_subject(operator: str, name: str) -> None:
    made = drawn(operator, target(name), seeds=100)
    fitted = sum(any(ENTRIES[phrase].about for phrase in draw["phrases"]) for draw, _ in made)
    assert fitted >= len(made) / 20


@pytest.mark.parametrize("operator", ASIDES)
def test_hardly_two_messages_are_alike(operator: str) -> None:
    least = {"user.redundant": 130, "user.out_of_scope": 135}.get(operator, 150)
    assert len({after for _, after in drawn(operator, target("hospital"), seeds=200)}) >= least


@pytest.mark.parametrize("operator", ASIDES)
def test_the_halves_share_no_phrase(operator: str) -> None:
    halves = [
        {phrase for draw, _ in drawn(operator, target("home", half)) for phrase in draw["phrases"]}
        for half in Half
    ]
    assert all(halves) and not halves[0] & halves[1]


@pytest.mark.parametrize("operator", ASIDES)
def test_no_phrase_comes_twice_in_a_conversation(operator: str) -> None:
    said = [text for _, text in list(FOREIGN.values())[:6]] * 2
    messages = [
        one
        for text in said
        for one in ({"role": "user", "content": text}, {"role": "assistant", "content": "I see."})
    ]
    new = perturb_messages(plan_of(rule(operator)), conversation(messages), {}).new
    phrases = [phrase for one in new for made in one.injections for phrase in made.decision.draw["phrases"]]
    assert len(phrases) >= len(said) and len(phrases) == len(set(phrases))


@pytest.mark.parametrize("operator", ASIDES)
def test_a_message_has_one_aside_behind_it_and_a_remark_in_front_at_most(operator: str) -> None:
    one = target("hospital")
    for draw, _ in drawn(operator, one, seeds=100):
        places = [aside["at"] for aside in draw["asides"]]
        assert len(places) == len(set(places)) and set(places) <= {0, len(one.text)}
        assert operator == "user.redundant" or places == [len(one.text)]


@pytest.mark.parametrize("operator", ASIDES)
def test_an_aside_is_written_as_the_message_is(operator: str) -> None:
    for draw, _ in drawn(operator, target("sql"), seeds=60):
        for aside in draw["asides"]:
            first = aside["said"].lstrip("(").split()[0]
            assert first[0].islower() or first.isupper(), "a message in small letters gets them, too"
    for draw, _ in drawn(operator, target("bank"), seeds=60):
        for aside in draw["asides"]:
            said = aside["said"]
            assert not said.lstrip("(")[0].islower() and said.endswith((".", "?", "!", ")"))


def test_an_aside_stands_behind_nothing_that_is_passed_on() -> None:
    assert not find_places(*[FOREIGN["passed on"][1]] * 2).behind
    assert not find_places("Hello, where is it?", "").before


@pytest.mark.parametrize("text", ["Do these, please:\n1. Run it\n2. Stop it", "Fix this:\n```\nx = 1\n```\n"])
def test_an_aside_stands_behind_no_list_and_no_code(text: str) -> None:
    assert not find_places(text, text).behind
    for operator in ASIDES:
        for draw, after in drawn(operator, opening(text)):
            assert operator == "user.redundant" and after.endswith(text), draw


def test_a_question_of_another_subject_is_said_to_be_one() -> None:
    made = drawn("user.topic_drift", target("hospital"), seeds=200)
    for draw, _ in made:
        first, *more = (ENTRIES[phrase] for phrase in draw["phrases"])
        near = first.about or first.asks is not None
        assert first.part == "question" and ("shift" in {one.part for one in more}) is not near
    assert any(len(draw["phrases"]) > 1 for draw, _ in made)


def test_an_entry_is_not_used_beside_a_message_that_has_a_stem_of_unless() -> None:
    one = target("bank")
    words = {stem for word in split_words(one.text) for stem in list_stems(word)}
    used = {
        phrase for name in ASIDES for draw, _ in drawn(name, one, seeds=100) for phrase in draw["phrases"]
    }
    assert any(ENTRIES[phrase].unless for phrase in used)
    assert not any(words.intersection(ENTRIES[phrase].unless) for phrase in used)


def test_a_phrase_that_begins_with_drawn_words_is_no_small_one() -> None:
    assert not is_small("{one:Let me know|Tell me} if not.") and is_small("{one:let me know|say so} if not")


@pytest.mark.parametrize("operator", ASIDES[1:])
def test_what_leads_up_to_an_aside_reads_on(operator: str) -> None:
    leads = [
        (said, text.removesuffix("?"))
        for draw, _ in drawn(operator, target("bank"), seeds=200)
        + drawn(operator, target("hotel"), seeds=200)
        for phrase in draw["phrases"]
        if ENTRIES[phrase].part == "lead"
        for said in [draw["asides"][0]["said"]]
        for text in [ENTRIES[phrase].text]
    ]
    assert leads
    for said, lead in leads:
        rest = said.removeprefix(lead).lstrip()
        assert said.startswith(lead) and (rest[0].islower() or rest.split()[0].startswith("I"))


@pytest.mark.parametrize(
    "text", ["# Title\n\nDo it.", "- one\n- two", "/reset now", "```\nls\n```", "> quoted"]
)
def test_nothing_stands_before_what_is_no_sentence(text: str) -> None:
    for operator in ASIDES:
        for _, after in drawn(operator, opening(text)):
            assert after.startswith(text)


@given(st.text(st.sampled_from("aB1 .!?:\n-\"'`,#你。？é"), max_size=80), st.sampled_from(ASIDES))
def test_whatever_the_message_is_its_own_bytes_are_kept(text: str, operator: str) -> None:
    one = opening(text)
    for draw, after in drawn(operator, one, seeds=4):
        at = 0
        for piece in _cut(text, {aside["at"] for aside in draw["asides"]}):
            at = after.index(piece, at) + len(piece)


def _cut(text: str, places: set[int]) -> list[str]:
    ends = [*sorted(places - {0, len(text)}), len(text)]
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


@pytest.mark.parametrize(
    "text,address",
    [
        ("Kannst du mir ein Hotel suchen?", Address.INFORMAL),
        ("Können Sie mir ein Hotel suchen?", Address.FORMAL),
        ("帮我找一家酒店，你觉得哪家好？", Address.INFORMAL),
        ("请您帮我找一家酒店。", Address.FORMAL),
        ("¿Podés buscarme un hotel en Lima?", Address.OTHER),
    ],
)
def test_a_user_keeps_to_one_way_of_addressing(text: str, address: Address) -> None:
    for operator in ASIDES:
        for draw, _ in drawn(operator, opening(text)):
            ways = {ENTRIES[phrase].address for phrase in draw["phrases"]}
            assert ways <= {address, None}


def test_the_way_of_addressing_is_the_same_for_a_whole_conversation() -> None:
    first = UserText(None, "Kannst du mir helfen?", "a", 0)  # type: ignore[arg-type]
    for key in ("a", "b", "c", "d"):
        branch = Branch(key=key, opening=first.text, earlier=(first,))
        one = UserTarget("Ich brauche noch ein Hotel.", 1, branch=branch, clean="Ich brauche noch ein Hotel.")
        ways = {ENTRIES[name].address for made in drawn("user.redundant", one) for name in made[0]["phrases"]}
        assert Address.FORMAL not in ways


def test_a_text_without_a_pack_is_left_clean_and_says_why() -> None:
    text = "Cześć, szukam hotelu w Krakowie na trzy noce. Czy możesz mi coś polecić?"
    for operator in ASIDES:
        entry = registry.resolve(operator)
        one = opening(text)
        draw = entry.draw({}, one, SeededRandom("1"), 1.0)
        assert draw is not None and "no phrase pack" in draw[UNABLE]
        assert entry.apply(one, draw).payload == text


def test_probes_are_of_one_kind() -> None:
    kinds = Counter()
    for draw, _ in drawn("user.boundary_probing", target("bank"), seeds=100):
        parts = {ENTRIES[phrase].part for phrase in draw["phrases"]}
        assert parts <= {draw["target"], "yield", "lead"} and draw["target"] in parts
        kinds[draw["target"]] += 1
    assert min(kinds.values()) >= 30 and set(kinds) == {"policy", "knowledge"}


def test_a_message_has_two_occasions_for_a_probe() -> None:
    made = drawn("user.boundary_probing", target("bank"), 0.5, seeds=400)
    assert 270 < len(made) < 330


@pytest.mark.parametrize(
    "name,share", [("user.topic_drift", 0.5), ("user.cost_cue", 0.25), ("user.speed_cue", 0.25)]
)
def test_severity_is_the_share_of_messages(name: str, share: float) -> None:
    seen = shown(name, user_target(QUESTION), share, seeds=400)
    assert abs(sum(after != QUESTION for after in seen) / 400 - share) < 0.1


def test_severity_is_the_share_of_words_that_is_added() -> None:
    for severity in (0.1, 0.15, 0.2):
        seen = shown("user.redundant", user_target(QUESTION), severity, seeds=300)
        more = sum(len(after.split()) for after in seen) / (300 * len(QUESTION.split())) - 1
        assert abs(more - severity) < 0.15


def test_no_errand_is_asked_that_a_declared_tool_could_do() -> None:
    given = tools("send_message", "call_phone", "print_document")
    one = opening(QUESTION, *given)
    said = {name for draw, _ in drawn("user.out_of_scope", one, seeds=200) for name in draw["phrases"]}
    stems = {stem for name in said for stem in ENTRIES[name].served_by}
    assert said and stems.isdisjoint({"message", "call", "phone", "print"})


@pytest.mark.parametrize("name", CUES)
def test_a_cue_is_a_preference_for_cost_or_speed(name: str) -> None:
    seen = shown(name, user_target(NOTE))
    assert all(after.startswith(f"{NOTE} ") for after in seen)
    said = {phrase for one in acts(name, user_target(NOTE)) if one for phrase in one[0]["phrases"]}
    assert said and {ENTRIES[phrase].operator for phrase in said} == {name}
    assert len(set(seen)) > 8, "it is said in many ways"
    assert shown(name, user_target('{"a": 1}'), seeds=5) == ['{"a": 1}'] * 5


@pytest.mark.parametrize("name", CUES)
def test_most_cues_say_in_plain_words_that_they_want_a_cheap_or_a_fast_way(name: str) -> None:
    """The others say it by what it means for the user: "Could you use the shorter path?"."""
    packs = [pack for pack in load_all() if pack.language is Language.EN]
    for pack in packs:
        cues = [entry for entry in pack.entries if entry.operator == name]
        halves = Counter(entry.half for entry in cues)
        assert len(cues) >= 40 and min(halves.values()) >= 18 and set(halves) == set(Half), pack.name
        plain = [one for one in cues if all(map(MEANINGS[name].search, read_variants(one.text)))]
        assert len(plain) >= 0.6 * len(cues), pack.name


def read_variants(text: str) -> list[str]:
    """All forms of a phrase with `{one:…|…}`."""
    pieces = re.split(r"\{one:([^{}]*)\}", text)
    choices = [piece.split("|") if at % 2 else [piece] for at, piece in enumerate(pieces)]
    return ["".join(one) for one in product(*choices)]


@pytest.mark.parametrize("text", ["What is the area of a triangle with base 3?", "And what about tomorrow?"])
def test_a_short_message_gets_many_redundant_forms(text: str) -> None:
    one = opening(text)
    assert len({after for _, after in drawn("user.redundant", one, seeds=200)}) >= 110


@pytest.mark.parametrize(
    "text,joint",
    [
        ("Do it", ". "),
        ("Can you do it", "? "),
        ("Do job 7", "\n"),
        ("Do it.", " "),
        ("Do it.\n", ""),
        ("a\nb.", "\n"),
    ],
)
def test_the_users_own_bytes_are_left_as_they_are(text: str, joint: str) -> None:
    (after,) = shown("user.cost_cue", user_target(text), seeds=1)
    assert after.startswith(text + joint)
    assert after[len(text + joint)].isupper() == text[0].isupper() or after[len(text + joint)] == "I"


@pytest.mark.parametrize("name", sorted(CUES))
@pytest.mark.parametrize(
    "language,text", [("de", "Ich suche eine Jacke für den Regen."), ("ar", "أريد حجز تذكرة إلى القاهرة")]
)
def test_a_cue_is_in_the_users_language(name: str, language: str, text: str) -> None:
    one = user_target(text)
    entry = registry.resolve(name)
    draw = entry.draw({}, one, SeededRandom("1"), 1.0)
    assert draw is not None and [phrase[:3] for phrase in draw["phrases"]] == [f"{language}/"]
    shown = entry.apply(one, draw).payload
    assert isinstance(shown, str) and shown.startswith(text) and len(shown) > len(text) + 5


@pytest.mark.parametrize(
    "text,asked",
    [
        ("What is my current balance?", {Asked.FACT, Asked.QUESTION, Asked.LEARN}),
        ("Hi! Could you tell me the price?", {Asked.FACT, Asked.SEARCH, Asked.FIND}),
        ("calculate the area of a triangle", {Asked.FACT, Asked.SEARCH, Asked.CALCULATE}),
        ("What is the factorial of 7?", {Asked.FACT, Asked.QUESTION, Asked.CALCULATE}),
        ("Any flats near the park?", {Asked.FACT, Asked.QUESTION, Asked.LEARN}),
        ("Refill my prescription.", {Asked.ACTION, Asked.TASK}),
        ("I'm locked out, please reset my password.", {Asked.ACTION, Asked.TASK}),
        ("We'd like a table for four tomorrow.", {Asked.ACTION, Asked.TASK, Asked.BOOK}),
        ("Send Ana the file.", {Asked.ACTION, Asked.TASK, Asked.SEND}),
        ("Turn off the lights.", {Asked.ACTION, Asked.CONTROL}),
        ("The connection drops all the time.", set()),
    ],
)
def test_an_aside_for_facts_or_actions_stands_beside_one(text: str, asked: set[Asked]) -> None:
    assert find_asked(text) == asked
    one = opening(text)
    for operator in ASIDES:
        for draw, _ in drawn(operator, one):
            said = [ENTRIES[phrase] for phrase in draw["phrases"]]
            assert all(
                asks_for(one.asks, find_asked(text)) for one in said if one.part not in ("yield", "lead")
            )


def test_a_message_in_small_letters_gets_a_small_article() -> None:
    assert write_like("A bit tired.", "find me a lamp", Language.EN) == "a bit tired"


JOINING = ("lead", "shift", "return", "yield", "leave")
"""Parts that lead up to an aside, or close it."""


@pytest.mark.parametrize("name", [*ASIDES, *CUES])
def test_no_aside_says_an_enumerated_value_of_a_tool(name: str) -> None:
    text = "I want the premium plan on my account, please change it today."

    def list_words(*options: str) -> Counter[str]:
        """How many drawn phrases have each word."""
        plan = {"type": "string", "enum": ["premium", *options]}
        given = (
            ToolSchema("change_plan", "Change a plan.", {"type": "object", "properties": {"plan": plan}}),
        )
        one = opening(text, *given)
        asides = [ENTRIES[phrase] for draw, _ in drawn(name, one, seeds=100) for phrase in draw["phrases"]]
        texts = [entry.text.lower() for entry in asides if entry.part not in JOINING]
        return Counter(word for said in texts for word in set(re.findall(r"[a-z]{5,}", said)) - {"please"})

    (word, _), *_ = list_words().most_common(1)
    after = list_words(word)
    assert after and word not in after


def test_no_words_lead_up_to_a_then() -> None:
    read = [entry for entry in ENTRIES.values() if entry.text.startswith("Then ")]
    text = "Set my alarm to 6:45, please."
    one = opening(text, *tools("set_alarm"), half=Half.TEST)
    said = [text.removeprefix(one.text) for _, text in drawn("user.out_of_scope", one, seeds=600)]
    assert read and not [text for text in said if re.search(r"[,:] then\b", text)]


@pytest.mark.parametrize(
    "text",
    [
        "Find a hotel in Rome.",
        "What is the time?",
        "I need a hotel. It should be cheap.",
        "Kick off the nightly run.",
        "A table for two tonight at eight.",
        "My parcel is late. Please look into it.",
    ],
)
def test_a_request_asks_for_something(text: str) -> None:
    assert asks_anything(text)


@pytest.mark.parametrize(
    "text",
    [
        "Yes, that's right.",
        "It is W1234.",
        "John Smith",
        "I forgot my number. It was in the mail.",
        "Thanks, that's all I need.",
    ],
)
def test_no_errand_stands_beside_what_asks_nothing(text: str) -> None:
    assert not asks_anything(text)
    assert not drawn("user.out_of_scope", user_target(text), seeds=20)


def test_an_aside_has_one_courtesy_one_word_of_addition_and_one_time() -> None:
    assert goes_before("While you're at it,", "Text me the result, please.")
    assert not goes_before("If you don't mind,", "Text me the result, please.")
    assert not goes_before("On top of that,", "Text it to my sister as well.")
    assert not goes_before("After that,", "Text me once it's there.")
    assert is_courteous("Thanks for sending it.") and not is_courteous("Text me the result.")


def test_leads_that_count_steps_follow_an_order() -> None:
    given = tools("look_up")
    text = "What is the tallest mountain in Japan?"
    one = opening(text, *given)
    phrases = [
        ENTRIES[name] for draw, _ in drawn("user.out_of_scope", one, seeds=200) for name in draw["phrases"]
    ]
    leads = [entry for entry in phrases if entry.part == "lead"]
    assert leads and all(entry.asks is None for entry in leads)
