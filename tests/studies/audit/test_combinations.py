"""Every pair of operators that can meet on one text, one result or one list of tools, and triples of them.

What is shown in the end is read by the audit's rules, which are none of the guard's.
"""

from __future__ import annotations

import json
from itertools import permutations
from types import SimpleNamespace
from typing import Any

import pytest

from crosswind.injectors import registry
from crosswind.injectors.conversation import Site, ToolSchema
from crosswind.injectors.engine.decision import NewText
from crosswind.injectors.engine.messages import perturb_messages
from crosswind.injectors.engine.tools import perturb_tools
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.studies.audit import tools, users, values
from crosswind.studies.audit.reading import Piece
from crosswind.studies.audit.results import FALSIFYING
from tests.injectors.dialogues import TOOLS, call, conversation
from tests.injectors.operators.acting import BAGGAGE_TEXT, PASSAGE
from tests.injectors.plans import plan_with

USERS_TEXTS = (
    "Hello, I need a table for 12 people. Could you book a large one in the garden by Friday? Thanks!",
    "Please tell me how many bags I can take to Oslo on order #W2378156, exactly, as soon as possible.",
    "Could you send the small lamp to mia@example.com? I'd like the cheaper one, and a round one, please.",
    "Please post this on my page: 'The users' old garden isn't small.\n\nIt is the large one.'in the morning",
    "Tell my friend that I am late for the early train. Open a ticket with the description 'It was a small",
    "Please copy it to the communal folder. The post content I think of:Just moved my old things. Great!",
)
RESULTS = (
    BAGGAGE_TEXT,
    PASSAGE,
    json.dumps([{"id": "W1", "state": "shipped", "total": 12.5}, {"id": "W2", "state": "new", "total": 3}]),
    "ERROR: the last upload failed; 3 of 12 files were stored.",
    json.dumps(
        {
            "order_id": "W1",
            "state": "shipped",
            "weight_kg": 2.4,
            "delivered": False,
            "items": ["kettle", "lamp", "rug", "vase", "tray"],
        }
    ),
    json.dumps({"comments": [{"author": "Ann", "comment": "The room was quiet and the staff were kind."}]}),
)
DECLARED = (
    ToolSchema(
        "rm",
        "Delete a file. The tool rm removes up to 20 files quickly, but not 'old notes'.",
        {
            "type": "object",
            "properties": {"file": {"type": "string", "description": "Name of the file, e.g. notes.txt"}},
            "required": ["file"],
        },
    ),
    ToolSchema(
        "get_order",
        "Look an order up.",
        {"type": "object", "properties": {"order_id": {"type": "string"}, "full": {"type": "boolean"}}},
    ),
    ToolSchema(
        "getWeather",
        "Get the weather of a city.",
        {"type": "object", "properties": {"city": {"type": "string"}}},
    ),
)


def _of_site(site: Site) -> list[str]:
    return sorted(
        name for name, entry in registry.operators().items() if entry.site is site and not entry.origin
    )


def _meetings(site: Site, triples: int) -> list[tuple[str, ...]]:
    """All ordered pairs of the site's operators, and so many triples of them."""
    names, rng = _of_site(site), SeededRandom(f"triples of {site}")
    return [*permutations(names, 2), *(tuple(rng.sample(names, 3)) for _ in range(triples))]


def _read(new: NewText) -> Piece:
    """The text as the audit reads it from a store."""
    events = tuple(
        SimpleNamespace(
            operator=one.decision.operator,
            recovery=one.decision.recovery,
            draw=json.loads(json.dumps(one.decision.draw)),
            before=one.before,
            after=one.after,
            turn_index=0,
        )
        for one in new.injections
        if one.after is not None
    )
    return Piece(new.item.anchor, new.item.ref, new.item.text, events=events)  # type: ignore[arg-type]


def _find_broken(new: NewText) -> list[str]:
    audited: Any = SimpleNamespace(user_texts=lambda: [_read(new)])
    found = [*users.check_entities(audited), *users.check_contradictions(audited)]
    return [f"{event.operator if event else None}: {what}" for event, _, what in found]


def test_users_texts_hold_whatever_operators_meet_on_them() -> None:
    texts = [conversation([{"role": "user", "content": text}], TOOLS) for text in USERS_TEXTS]
    met = 0
    for number, names in enumerate(_meetings(Site.USER_TEXT, 150)):
        for at in range(2):
            heard = texts[(number + at * 3) % len(texts)]
            [new] = perturb_messages(plan_with(*names, severity=0.9, seed=number), heard, {}).new
            met += len(new.decisions) > 1
            assert _find_broken(new) == [], (names, number, new.text)
    assert met > 150


def test_results_hold_whatever_operators_meet_on_them() -> None:
    heard = [conversation(call("get_order", {"order_id": "W1"}, clean, 0), TOOLS) for clean in RESULTS]
    met = 0
    for number, names in enumerate(_meetings(Site.TOOL_RESULT, 150)):
        made = plan_with(*names, severity=0.9, seed=number)
        for clean, one in zip(RESULTS, heard, strict=True):
            [new] = perturb_messages(made, one, {}).new
            shown = clean if new.text is None else new.text
            before = new.injections[-1].before if new.injections else clean
            met += len(new.decisions) > 1
            kept = values.keeps(clean, shown)
            lies = any(one.operator in FALSIFYING for one in new.decisions)
            told = lies or values.shows_that_it_is_wrong(clean, shown, before)
            assert kept or told, (names, number, shown)
            assert kept or any(one.fault for one in new.decisions), (names, number, shown)
    assert met > 50


def test_tools_hold_whatever_operators_meet_on_them() -> None:
    met = 0
    for number, names in enumerate(_meetings(Site.TOOL_SCHEMA, 150)):
        shown = perturb_tools(plan_with(*names, severity=0.9, seed=number), DECLARED)
        met += len({one.operator for one in shown.decisions}) > 1
        true = {one.source: one for one in shown.tools if one.source is not None}
        assert sorted(true) == list(range(len(DECLARED))), (names, number)
        for at, declared in enumerate(DECLARED):
            one = true[at]
            description = one.description if "description" in one.changed else declared.description
            parameters = one.parameters if "parameters" in one.changed else declared.parameters
            was = [
                {
                    "name": declared.name,
                    "description": declared.description,
                    "parameters": declared.parameters,
                }
            ]
            now = [{"name": one.name, "description": description, "parameters": parameters}]
            retyped = one.name in shown.refusals
            event: Any = SimpleNamespace(
                before=json.dumps(was), after=json.dumps(now), recovery="retry" if retyped else "ignore"
            )
            assert list(tools.find_untrue(event)) == [], (names, number, declared.name)
            assert shown.declared_of.get(one.name, one.name) == declared.name
            assert one.name not in shown.phantoms
            takes = shown.refusals[one.name].takes if retyped else {}
            assert all(
                declared.parameters["properties"][name]["type"] == kind for name, kind in takes.items()
            )
    assert met > 100


def test_a_type_that_is_hidden_twice_is_told_as_it_is() -> None:
    shown = perturb_tools(plan_with("schema.type_mismatch", "schema.type_mismatch"), DECLARED)
    assert any(one.after is None for one in shown.injections)
    for one in shown.tools:
        declared = {} if one.source is None else DECLARED[one.source].parameters["properties"]
        for name, kind in shown.refusals[one.name].takes.items():
            assert kind == declared[name]["type"]


@pytest.mark.parametrize("site", [Site.USER_TEXT, Site.TOOL_RESULT, Site.TOOL_SCHEMA])
def test_every_site_has_operators_that_meet(site: Site) -> None:
    assert len(_of_site(site)) > 5
