"""A rule's `entries`: which entries of the phrase packs it draws, and how often."""

from __future__ import annotations

from collections import Counter
from json import dumps as dump
from typing import Any

import pytest

from crosswind.injectors.engine.messages import perturb_messages
from crosswind.injectors.engine.plan import Plan
from crosswind.injectors.engine.tools import perturb_tools
from crosswind.injectors.packs.load import load
from crosswind.injectors.packs.parts import Domain
from crosswind.injectors.targets import Half
from crosswind.injectors.text.languages import Language
from tests.injectors.dialogues import TOOLS, call, conversation
from tests.injectors.plans import plan_of

RECORD = '{"order_id": "W1", "status": "shipped", "total": 38.5, "items": ["lamp", "chair"]}'
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "Where is my order W1? Please send the lamp on November 15."},
    *call("get_order", {"order_id": "W1"}, RECORD, 0),
    *call("search_items", {"text": "lamp"}, RECORD, 1),
    *call("get_review", {"id": 4}, '{"review": "A fine lamp, though the cable is rather short."}', 2),
]
SESSIONS = 40


def plan(operator: str, entries: str, seed: int = 0) -> Plan:
    rule = f"{{operator: {operator}, severity: 1.0, entries: {entries}}}"
    return plan_of(f"name: t\nrules:\n  - {rule}\n", seed)


def draw(under: Plan) -> list[str]:
    """The names of the entries that a session under the plan meets."""
    read = conversation(MESSAGES, TOOLS)
    texts = [one for new in perturb_messages(under, read, {}).new for one in new.injections]
    made = [*texts, *perturb_tools(under, read.tools).injections]
    return [name for one in made for name in one.decision.draw.get("phrases", ())]


def count(operator: str, entries: str) -> Counter[str]:
    return Counter(name for seed in range(SESSIONS) for name in draw(plan(operator, entries, seed)))


def list_names(operator: str, part: str) -> list[str]:
    packs = [load(Language.EN, domain) for domain in (Domain.SHOPPING, Domain.GENERAL)]
    return [
        f"{pack.name}#{one.id}"
        for pack in packs
        if pack is not None
        for one in pack.select(operator, part, Half.TRAIN)
    ]


def without_version(name: str) -> str:
    pack, _, rest = name.partition("@")
    return f"{pack}#{rest.partition('#')[2]}"


@pytest.mark.parametrize(
    ("operator", "part"),
    [
        ("user.out_of_scope", "errand"),
        ("user.topic_drift", "question"),
        ("user.redundant", "chat"),
        ("tool.misleading", "remark"),
        ("tool.redundant", "field"),
        ("state.irrelevant", "field"),
        ("tool.prompt_injection", "instruction"),
        ("schema.redundant_tool", "tool"),
    ],
)
def test_entries_of_weight_0_are_not_drawn(operator: str, part: str) -> None:
    names = set(list_names(operator, part))
    even = {without_version(one) for one in count(operator, "{}")} & names
    dropped = set(sorted(even)[::2])
    drawn = {without_version(one) for one in count(operator, dump(dict.fromkeys(dropped, 0)))}
    assert dropped and not drawn & dropped


@pytest.mark.parametrize("operator", ["tool.misleading", "tool.redundant"])
def test_a_heavy_entry_comes_more_often(operator: str) -> None:
    even = count(operator, "{'*': 1}")
    name = min(one for one in even if one.startswith("en/general@"))
    heavy = count(operator, dump({without_version(name): 40}))
    assert heavy[name] > max(1.2 * even[name], even[name] + 3)


def test_where_nothing_may_be_drawn_the_text_stays_clean() -> None:
    assert not draw(plan("tool.misleading", "{'*': 0}"))


def test_other_rules_and_languages_draw_as_always() -> None:
    entries = "{'en/*': 0}"
    german: list[dict[str, Any]] = [
        {"role": "user", "content": "Guten Tag, könnten Sie bitte meine Bestellung mit der Lampe prüfen?"}
    ]
    for seed in range(5):
        of = {
            rules: perturb_messages(plan("user.redundant", rules, seed), conversation(german, TOOLS), {})
            for rules in ("{}", entries)
        }
        assert of["{}"].new[0].text is not None and of[entries].new[0].text is not None
    assert draw(plan("user.redundant", "{}")) and not draw(plan("user.redundant", entries))


def test_the_stored_plan_gives_the_same_draws() -> None:
    made = plan("tool.redundant", "{'en/general#*1': 3, 'en/general#*': 0}", seed=3)
    assert made.rules[0].entries == {"en/general#*1": 3.0, "en/general#*": 0.0}
    again = Plan.from_json(made.to_json())
    assert again == made and draw(again) == draw(made) != draw(plan("tool.redundant", "{}", seed=3))
