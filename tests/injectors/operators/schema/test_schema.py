"""Noise on declared tools: it follows from what a schema says, keeps what is true, and is near the real."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from crosswind.injectors import registry
from crosswind.injectors.conversation import Site, ToolList, ToolSchema
from crosswind.injectors.engine.plan import Seed, make_plan
from crosswind.injectors.engine.tool_list import ShownTools
from crosswind.injectors.engine.tools import perturb_tools
from crosswind.injectors.guard.tools import find_properties
from crosswind.injectors.operators.schema import names
from crosswind.injectors.operators.schema.rewording import LEAST_CHANGE, LENGTH, draw_edits
from crosswind.injectors.packs.load import load
from crosswind.injectors.packs.parts import Domain
from crosswind.injectors.profiles.load import parse
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Half
from crosswind.injectors.text.edits import apply_edits
from crosswind.injectors.text.languages import Language
from tests import ROOT

REAL = json.loads((ROOT / "tests/injectors/guard/real_tools.json").read_text("utf-8"))
"""Descriptions of tools of real servers."""
OPERATORS = sorted(name for name, entry in registry.operators().items() if entry.site is Site.TOOL_SCHEMA)


def field(says: str, kind: str = "string", **more: Any) -> dict[str, Any]:
    return {"type": kind, "description": says, **more}


def tool(name: str, says: str, required: tuple[str, ...] = (), **fields: Any) -> ToolSchema:
    return ToolSchema(name, says, {"type": "object", "properties": fields, "required": list(required)})


HOTEL = (
    tool(
        "search_hotels",
        "Search for available hotels in a city based on the specified dates and number of guests.",
        ("city", "check_in"),
        city=field("The city to search in, e.g. Paris"),
        check_in=field("Check-in date in YYYY-MM-DD format"),
        guests=field("The number of guests. Default is 2.", "integer"),
        filters={
            "type": "object",
            "description": "What the rooms must have",
            "properties": {
                "pool": field("Whether to have a pool", "boolean"),
                "stars": field("Stars", "integer"),
            },
        },
    ),
    tool(
        "book_room",
        "Books a hotel room and sends a confirmation email to the guest.",
        ("hotel_id", "guest_name"),
        hotel_id=field("The ID of the hotel"),
        guest_name=field("The name of the guest"),
        nights=field("How many nights", "integer"),
    ),
)


def show(operator: str, tools: tuple[ToolSchema, ...], seed: int = 0, **more: Any) -> ShownTools:
    rule = {"operator": operator, "severity": 1.0}
    profile = {"name": "one", "assume_tools": "replayable", "rules": [rule], **more}
    return perturb_tools(make_plan(parse(json.dumps(profile), "one"), Seed(seed, "s")), ToolList.of(tools))


def shuffle(value: Any, rng: SeededRandom) -> Any:
    """The same JSON with the members of its objects in another order, at all levels."""
    if isinstance(value, dict):
        return {key: shuffle(value[key], rng) for key in rng.shuffled(list(value))}
    return [shuffle(one, rng) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_schema_with_its_keys_in_another_order_gets_the_same_noise(operator: str) -> None:
    for seed in range(12):
        rng = SeededRandom(f"keys {seed}")
        others = tuple(ToolSchema(one.name, one.description, shuffle(one.parameters, rng)) for one in HOTEL)
        shown, again = show(operator, HOTEL, seed), show(operator, others, seed)
        assert [(one.name, one.description, one.parameters) for one in shown.tools] == [
            (one.name, one.description, one.parameters) for one in again.tools
        ]
        assert [one.draw for one in shown.decisions] == [one.draw for one in again.decisions]


def reword(text: str, seed: int, *, parameter: bool = False) -> str:
    edits = draw_edits(text, (tool("x", text),), SeededRandom(f"words {seed}"), 1.0, parameter=parameter)
    return apply_edits(text, edits)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("properties", [None, [], "x", {}, {"": {}}, {"a": True}, {"a": {"enum": []}}])
def test_odd_parameters_break_no_operator(operator: str, properties: Any) -> None:
    odd = ToolSchema("get_order", "Gets an order.", {"type": "object", "properties": properties})
    for seed in range(4):
        injections = show(operator, (odd, *HOTEL), seed).injections
        assert not any("failed" in one.note for one in injections)


def test_nine_of_ten_real_descriptions_are_reworded_and_lose_no_fact() -> None:
    long_enough = [one for one in REAL if len(one["description"].split()) >= 5]
    tools = [
        ToolSchema(f"{one['source']}_{at}", one["description"], {}) for at, one in enumerate(long_enough)
    ]
    reworded = 0
    for declared in tools:
        shown = show("schema.paraphrase_tool", (declared,))
        said = shown.tools[0].description
        reworded += said is not None
        assert said is None or abs(len(said) - len(declared.description)) <= max(
            LEAST_CHANGE, LENGTH * len(declared.description)
        )
        assert all("would have lost" not in one.note for one in shown.injections), shown.injections
    assert reworded >= 0.9 * len(tools), f"{reworded} of {len(tools)}"


def test_a_long_description_is_reworded_in_many_ways() -> None:
    said = (
        "Searches for available flights between two airports on a specific date, and returns a list of "
        "offers that match the given criteria. Use this tool when you need to compare prices and airlines."
    )
    assert len({reword(said, seed) for seed in range(200)}) >= 150
    parameters = {
        seed: show("schema.paraphrase_parameter", HOTEL, seed).tools[0].parameters for seed in range(200)
    }
    assert len({json.dumps(one) for one in parameters.values()}) >= 45


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ("Gets the user and deletes the expired sessions.", r"^(?!.*deletes)|\b(?:to|you|for) \w+s\b"),
        ("Create a new file or completely overwrite an old one with new content.", r"ing a new|[tr]es a new"),
        ("Lists the tasks, then marks them as read.", r"^(?!.*marks)|\b(?:to|you) \w+s\b"),
        ("Move or rename files and directories.", r"\b\w+s or rename|ing or rename"),
        ("List of the open orders of a customer.", r"^(?!List of)"),
        ("Order status of a parcel.", r"^(?!Order status)"),
        ("Return some items of a delivered order to the seller.", r"\b(?:Give|Get|Provide|Fetch|Obtain)"),
        ("Runs a command and returns its output.", r"^(?!.*returns)|\b(?:to|you) \w+s\b"),
    ],
)  # fmt: skip
def test_verbs_that_are_joined_keep_one_form_and_nouns_stay(said: str, wrong: str) -> None:
    for seed in range(100):
        assert re.search(wrong, reword(said, seed)) is None, reword(said, seed)


@pytest.mark.parametrize(
    ("said", "among"),
    [
        ("The name of the city", "The city's name"),
        ("The number of guests to expect", "How many guests to expect"),
        ("Whether to include the history", "Indicates whether to include the history"),
        ("Currency of the amount. Default is 'USD'.", "The currency of the amount. Defaults to 'USD'."),
        ("The message to send", "essage that you want to send"),
        ("City and country (e.g., 'Lima, Peru')", "(for example, 'Lima, Peru')"),
        ("ID of the user", "The user's ID"),
    ],
)
def test_what_is_said_of_a_parameter_is_said_in_another_construction(said: str, among: str) -> None:
    more = " Some more words on what it is good for stand here."
    said, among = (f"{one.removesuffix('.')}.{more}" for one in (said, among))
    found = {reword(said, seed, parameter=True) for seed in range(200)}
    assert any(among in one for one in found), sorted(found)


@pytest.mark.parametrize(
    "said",
    [
        "Liefert das aktuelle Wetter für eine Stadt und ist nicht für Orte im Ausland da.",
        "Recherche les vols disponibles entre deux villes pour une date donnée par le client.",
        "查询指定城市的当前天气情况。",
        "指定された都市の現在の天気を取得します。",
    ],
)
@pytest.mark.parametrize("operator", ["schema.paraphrase_tool", "schema.paraphrase_parameter"])
def test_a_description_in_another_language_is_left_clean_with_an_event(operator: str, said: str) -> None:
    shown = show(operator, (tool("wetter", said, stadt=field(said)),))
    assert shown.untouched and [one.after for one in shown.injections] == [None]
    assert "another language" in shown.injections[0].note


def test_neighbours_come_from_the_half_of_the_domain_s_pack_and_are_named() -> None:
    halves: dict[Half, set[str]] = {}
    for half in Half:
        found = [show("schema.redundant_tool", HOTEL, seed, phrases=half.value) for seed in range(40)]
        halves[half] = {one.name for shown in found for one in shown.tools if one.name in shown.phantoms}
        drawn = {phrase for shown in found for one in shown.decisions for phrase in one.draw["phrases"]}
        assert {phrase.partition("@")[0] for phrase in drawn} == {"en/travel", "en/general"}
    assert halves[Half.TRAIN].isdisjoint(halves[Half.TEST])
    assert min(map(len, halves.values())) >= 15


def test_neighbours_speak_the_language_of_the_list() -> None:
    german = tool("wetter_abrufen", "Liefert das aktuelle Wetter für eine Stadt und ist für alle da.")
    drawn = [
        one.draw["phrases"]
        for seed in range(10)
        for one in show("schema.redundant_tool", (german,), seed).decisions
    ]
    assert drawn and all(phrase.startswith("de/") for phrases in drawn for phrase in phrases)
    polish = tool("pogoda", "Zwraca pogodę dla miasta i nie jest to prognoza na jutro ale od dziś.")
    shown = show("schema.redundant_tool", (polish,))
    assert shown.untouched and "no phrase pack" in shown.injections[0].note


def test_bloat_is_of_other_domains() -> None:
    travel = load(Language.EN, Domain.TRAVEL)
    assert travel is not None
    own = {entry.key for entry in travel.entries if entry.operator == "schema.redundant_tool"}
    added = {name for seed in range(20) for name in show("schema.bloat", HOTEL, seed).phantoms}
    assert len(added) >= 80 and not added & own


def test_wrong_parameters_are_near_the_true_ones() -> None:
    theirs = {name: schema for one in HOTEL for name, schema in find_properties(one.parameters).items()}
    for seed in range(60):
        for one in show("schema.duplicate_wrong_parameters", HOTEL, seed).decisions:
            read = "search" in one.slot
            parameters = one.draw["parameters"]
            for name, schema in find_properties(parameters).items():
                says = schema.get("description")
                assert says in [known.get("description") for known in theirs.values()], "said of a real one"
                if not read:
                    assert name in theirs and schema["type"] != theirs[name]["type"]
            if read:
                assert not set(find_properties(parameters)) & set(find_properties(HOTEL[0].parameters))
            else:
                assert {"hotel_id", "guest_name"} - set(find_properties(parameters)), "the tool refuses it"


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("country_info.capital", "cou_info.cap"),
        ("mutation_type.find", "mut_type.find"),
        ("getUserConfiguration", "getUsrConfig"),
        ("post_comment", "post_cmt"),
        ("lock_doors", "lock_drs"),
        ("cd", "cd"),
    ],
)
def test_abbreviations_are_readable(name: str, short: str) -> None:
    assert names.abbreviate(name) == short


@pytest.mark.parametrize("name", ["get_order", "getOrder", "GetOrder", "get-order", "orders.get_order"])
def test_variants_keep_the_style_of_the_name(name: str) -> None:
    made = list(names.list_variants(name))
    assert len(made) == len(set(made)) >= 60 and name not in made
    style = {"get_order": "[a-z0-9_]+", "getOrder": "[a-z][A-Za-z0-9]+", "GetOrder": "[A-Z][A-Za-z0-9]+"}
    style |= {"get-order": "[a-z0-9-]+", "orders.get_order": r"orders\.[a-z0-9_]+"}
    assert all(re.fullmatch(style[name], one) for one in made), made
