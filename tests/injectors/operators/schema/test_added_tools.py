"""Added tools are written as the list that they stand in writes its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.engine.tool_list import ShownTool
from crosswind.injectors.guard.tools import find_properties
from tests.injectors.operators.schema.test_schema import HOTEL, field, show, tool

ADDING = ("schema.redundant_tool", "schema.bloat")


def list_added(operator: str, tools: tuple[ToolSchema, ...], seeds: int = 30) -> Iterator[ShownTool]:
    for seed in range(seeds):
        shown = show(operator, tools, seed)
        yield from (one for one in shown.tools if one.name in shown.phantoms)


@pytest.mark.parametrize("operator", ADDING)
def test_keys_stand_in_the_order_of_the_list(operator: str) -> None:
    for order in (("type", "required", "properties"), ("properties", "type", "required")):
        tools = tuple(
            ToolSchema(one.name, one.description, {key: one.parameters[key] for key in order})
            for one in HOTEL
        )
        added = list(list_added(operator, tools))
        assert added and all(tuple(one.parameters or ()) == order for one in added)


@pytest.mark.parametrize("operator", ADDING)
def test_descriptions_end_and_begin_as_those_of_the_list(operator: str) -> None:
    bare = (
        tool("get_tide", "Gets the tide of a harbour", ("harbour",), harbour=field("Name of the harbour")),
        tool("list_ferries", "Lists the ferries of a day", ("date",), date=field("Day of the ferry")),
    )
    added = list(list_added(operator, bare))
    texts = [text for one in added if ". " not in (text := one.description or "")]
    assert texts and not any(text.endswith(".") for text in texts)
    verbs = [text.split()[0] for text in texts]
    assert sum(verb.endswith("s") for verb in verbs) > 0.7 * len(verbs)
    fields = [schema["description"] for one in added for schema in find_properties(one.parameters).values()]
    assert fields and not any(text.endswith(".") for text in fields)


def test_most_neighbours_have_the_words_and_parameters_of_a_tool_of_the_list() -> None:
    theirs = {name: schema for one in HOTEL for name, schema in find_properties(one.parameters).items()}
    added = list(list_added("schema.redundant_tool", HOTEL))
    own = [one for one in added if find_properties(one.parameters).items() <= theirs.items()]
    assert len(own) > 0.6 * len(added)
    assert all("hotel" in one.name or "room" in one.name for one in own)
    assert all(one.name.split("_")[0] not in ("search", "book") for one in own)


def test_in_a_list_of_another_language_nothing_english_is_added() -> None:
    german = tool(
        "wetter_abrufen",
        "Download des aktuellen Wetters für eine Stadt, das für alle da ist.",
        ("stadt",),
        stadt=field("Der Name der Stadt, für die das Wetter abgerufen wird"),
        tag=field("Der Tag, an dem es gemessen wurde"),
    )
    for one in list_added("schema.redundant_tool", (german,)):
        assert not {"the", "of", "to"} & set((one.description or "").split())
        assert all(
            "The " not in schema.get("description", "") for schema in find_properties(one.parameters).values()
        )


WAREHOUSE = "This tool belongs to the warehouse system, which allows users to track stock. Tool description: "


def test_an_unrelated_tool_belongs_to_another_system() -> None:
    counts = tool("stock.count", f"{WAREHOUSE}Count the items of a bin.", ("bin",), bin=field("The bin"))
    added = list(list_added("schema.bloat", (counts,)))
    assert added
    for one in added:
        said = one.description or ""
        assert said.startswith("This tool belongs to the ") and ". Tool description: " in said
        assert "warehouse" not in said and "track stock" not in said
        assert "." in one.name and not one.name.startswith("stock.")


def test_a_neighbour_belongs_to_the_same_system() -> None:
    counts = tool("stock_count", f"{WAREHOUSE}Count the items of a bin.", ("bin",), bin=field("The bin"))
    added = list(list_added("schema.redundant_tool", (counts,)))
    assert added and all((one.description or "").startswith(WAREHOUSE) for one in added)
