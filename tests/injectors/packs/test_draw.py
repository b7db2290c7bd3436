from __future__ import annotations

import json
import re
from uuid import UUID

import pytest

from crosswind.injectors.conversation import ToolList, ToolSchema
from crosswind.injectors.packs.domains import detect_domain, list_stems, split_words
from crosswind.injectors.packs.draw import Phrase, Setting, draw_phrase, fill, make_setting
from crosswind.injectors.packs.load import load
from crosswind.injectors.packs.parts import Address, Domain
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Half
from crosswind.injectors.text.languages import Language
from crosswind.injectors.values.parameters import ValueType
from tests.injectors.values.test_mentions import TRAVEL


def named(*names: str, about: str = "") -> ToolList:
    return ToolList(ToolSchema(name, about, {}) for name in names)


@pytest.mark.parametrize(
    ("tools", "opening", "domain"),
    [
        (TRAVEL, "", "travel"),
        (named("cd", "ls", "grep", about="Acts on the current directory"), "", "files"),
        (
            named("get_stock_info", "place_order", "fund_account", about="Buys and sells shares"),
            "",
            "banking",
        ),
        (named("startEngine", "lockDoors", "fillFuelTank"), "", "devices"),
        (named("create_ticket", "resolve_ticket"), "", "support"),
        (named("get_order", "return_item", "cancel_order"), "", "shopping"),
        (named("run_query", "list_tables", about="Of the SQL database"), "", "data"),
        (named("book_appointment", "get_prescription"), "with my doctor", "health"),
        (named("git_commit", "open_pull_request", "run_tests"), "", "code"),
        (named("book_class", "log_workout"), "Book the spinning class with Tom.", "general"),
        (named("send_message", "list_inbox"), "", "messaging"),
        (named("mean", "sum"), "What is the mean of these?", "general"),
        (ToolList(), "", "general"),
    ],
)
def test_the_domain_is_told_by_tools_and_opening(tools: ToolList, opening: str, domain: str) -> None:
    assert detect_domain(tools, opening) == domain


def test_identifiers_are_split_into_words_and_pairs() -> None:
    assert {"send", "message", "send_message", "text", "now", "message_text"} <= {
        *split_words("sendMessageText"),
        *split_words("now"),
    }
    assert "send_message" in list_stems("send_message")
    assert "car" not in list_stems("care") and "car" in list_stems("cars")


def setting(half: Half = Half.TRAIN, language: Language = Language.EN, **changes: Address) -> Setting:
    return make_setting(TRAVEL, "Fly me to Rome", language, half, **changes)


def draw_all(where: Setting, operator: str, part: str, **given: object) -> list[Phrase]:
    """Draw without repetition until nothing is left."""
    out: list[Phrase] = []
    while phrase := draw_phrase(
        SeededRandom("all"), where, operator, part, used={one.entry for one in out}, **given
    ):
        out.append(phrase)
    return out


def test_every_fitting_entry_of_the_half_can_be_drawn_and_no_other() -> None:
    halves = {}
    for half in Half:
        drawn = draw_all(setting(half), "user.redundant", "chat")
        halves[half] = {one.text for one in drawn}
        names = {one.entry.partition("#")[0] for one in drawn}
        assert {name.partition("@")[0] for name in names} == {"en/travel", "en/general"}
        travel = load(Language.EN, Domain.TRAVEL)
        assert travel is not None and len(drawn) > len(travel.select("user.redundant", "chat", half))
    assert not halves[Half.TRAIN] & halves[Half.TEST]


def test_an_entry_is_drawn_only_where_its_slots_can_be_filled_and_its_type_fits() -> None:
    assert draw_all(setting(), "user.inconsistent", "same") == []
    slots = {"value": "VALUE", "rival": "RIVAL"}
    plain = draw_all(setting(), "user.inconsistent", "same", slots=slots, type=ValueType.DATE)
    assert plain and all("VALUE" in one.text and "RIVAL" in one.text for one in plain)
    assert not any("{" in one.text for one in plain)
    claims = [
        draw_all(
            setting(), "user.inconsistent", "claim", slots={"rival": "RIVAL", **more}, type=ValueType.DATE
        )
        for more in ({}, {"thing": "date"})
    ]
    assert {one.entry for one in claims[0]} < {one.entry for one in claims[1]}
    vague = [
        {one.entry for one in draw_all(setting(), "user.ambiguous", "vague", slots={"thing": "x"}, type=kind)}
        for kind in (ValueType.PLACE, ValueType.ID)
    ]
    assert vague[0] != vague[1]


def test_an_errand_that_a_tool_does_is_not_asked_as_out_of_scope() -> None:
    pack = load(Language.EN, Domain.GENERAL)
    assert pack is not None
    errands = pack.select("user.out_of_scope", "errand", Half.TRAIN)
    without = {one.entry for one in draw_all(setting(), "user.out_of_scope", "errand")}
    entry = next(one for one in errands if f"{pack.name}@{pack.version}#{one.id}" in without)
    serving = ToolList([*TRAVEL, ToolSchema(f"{entry.served_by[0]}_service", "", {})])
    served = draw_all(
        make_setting(serving, "Fly me to Rome", Language.EN, Half.TRAIN), "user.out_of_scope", "errand"
    )
    assert served and f"{pack.name}@{pack.version}#{entry.id}" not in {one.entry for one in served}


def test_phrases_of_one_address_are_not_mixed_with_the_other() -> None:
    for address in Address:
        where = setting(language=Language.DE, address=address)
        other = next(one for one in Address if one is not address)
        pack = load(Language.DE, Domain.TRAVEL)
        assert pack is not None
        barred = {f"{pack.name}@{pack.version}#{one.id}" for one in pack.entries if one.address is other}
        drawn = draw_all(where, "user.topic_drift", "question")
        assert drawn and not barred & {one.entry for one in drawn}


def test_an_arabic_stem_is_found_behind_clitics() -> None:
    def draw(*about: str) -> set[str]:
        tools = ToolList(ToolSchema("run", one, {}) for one in about)
        where = make_setting(tools, "مرحبا", Language.AR, Half.TRAIN)
        return {one.text for one in draw_all(where, "user.out_of_scope", "errand")}

    served = "وأرسل لي رسالة قصيرة عند الانتهاء من فضلك."
    assert served in draw() and served not in draw("يتولى بالرسالة إبلاغ الناس")


def test_a_language_without_a_pack_has_no_phrase() -> None:
    where = make_setting(ToolList(), "", Language.EN, Half.TRAIN)
    assert draw_phrase(SeededRandom("a"), where, "user.unknown", "part") is None


def test_fields_are_json_with_their_slots_drawn() -> None:
    fields = draw_all(setting(), "tool.redundant", "field")
    assert len(fields) > 5
    for one in fields:
        assert re.fullmatch(r"[a-z][a-z0-9_]*", one.key)
        json.loads(one.text)


def test_drawn_slots_are_filled_and_unknown_ones_refused() -> None:
    filled = fill("{int:5-7} {hex:8} {uuid} {time}", {}, SeededRandom("a"))
    number, digits, uuid, time = filled.split()
    assert 5 <= int(number) <= 7 and len(digits) == 8 and str(UUID(uuid)) == uuid
    assert re.fullmatch(r"2025-\d\d-\d\dT\d\d:\d\d:\d\dZ", time)
    assert filled == fill("{int:5-7} {hex:8} {uuid} {time}", {}, SeededRandom("a"))
    with pytest.raises(ValueError, match=r"slot \{nothing\}"):
        fill("{nothing}", {}, SeededRandom("a"))
