"""The forms of errors and cuts as data: every kind is covered in each half, and every slot can be filled."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

import pytest

from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.stacks import model
from crosswind.injectors.stacks.calls import OPTIONAL, CallWords
from crosswind.injectors.stacks.cuts import draw_members, draw_text
from crosswind.injectors.stacks.errors import draw_error, name_things
from crosswind.injectors.stacks.model import (
    ErrorKind,
    Shape,
    ToolKind,
    Way,
    list_codes,
    list_forms,
    list_stacks,
)
from crosswind.injectors.stacks.templates import DRAWN, Filler, list_slots
from crosswind.injectors.targets import Branch, Half, ToolClass, ToolResultTarget

NO_CUTS = (Way.PART, Way.STRING, Way.ITEMS)
"""Marked as other texts are."""
OF_ERROR = {
    *("message", "message_repr", "inner", "status", "reason", "code", "first", "retry"),
    *name_things("list_orders"),
}
TARGET = ToolResultTarget(
    '{"id": 1}',
    0,
    "run_query",
    json.dumps({"sql": "SELECT id FROM users", "path": "a.txt"}),
    ToolClass.READ_ONLY,
)


@pytest.mark.parametrize("half", Half)
def test_every_stack_says_every_kind_whatever_the_call_has(half: Half) -> None:
    for stack in list_stacks(half):
        for kind in ErrorKind:
            forms = [form for form in list_forms(stack.name) if not form.kinds or kind in form.kinds]
            names = [{slot.name for slot in list_slots(form.body)} for form in forms]
            assert any(names_of.isdisjoint(OPTIONAL) for names_of in names), (stack.name, kind)


@pytest.mark.parametrize("half", Half)
def test_each_half_has_stacks_for_each_shape_and_sentences_for_each_kind(half: Half) -> None:
    for shape in Shape:
        assert (
            len([one for one in list_stacks(half) if shape in one.results and ToolKind.API in one.tools]) > 1
        )
    for kind in (ToolKind.SQL, ToolKind.SHELL, ToolKind.CODE, ToolKind.WEB, ToolKind.MCP):
        found = [one for one in list_stacks(half) if kind in one.tools and Shape.TEXT in one.results]
        assert len(found) > 1 or kind is ToolKind.MCP
    assert all(len(model.list_messages(half, kind)) > 4 for kind in ErrorKind)
    assert all(model.list_cuts(half, way) for way in Way if way not in NO_CUTS)


def test_the_halves_share_no_stack_and_no_sentence() -> None:
    train, test = ({one.name for one in list_stacks(half)} for half in Half)
    assert train.isdisjoint(test)
    for kind in ErrorKind:
        assert not set(model.list_messages(Half.TRAIN, kind)) & set(model.list_messages(Half.TEST, kind))


def test_every_slot_is_known_and_every_code_of_every_kind_is_there() -> None:
    words = CallWords(TARGET, SeededRandom("0"))
    for half in Half:
        forms = [form for stack in list_stacks(half) for form in list_forms(stack.name)]
        bodies: list[tuple[Any, Collection[ErrorKind]]] = [
            (form.body, form.kinds or tuple(ErrorKind)) for form in forms
        ]
        bodies += [(text, (kind,)) for kind in ErrorKind for text in model.list_messages(half, kind)]
        for slot, kinds in ((slot, kinds) for body, kinds in bodies for slot in list_slots(body)):
            if slot.name == "code":
                for kind in kinds:
                    for status in list_codes("status", kind, ""):
                        assert list_codes(slot.argument, kind, status), (slot.argument, kind)
            elif slot.name not in DRAWN and slot.name not in OF_ERROR:
                assert words.find(slot.name) is not None, slot.name


@pytest.mark.parametrize("half", Half)
@pytest.mark.parametrize("way", [way for way in Way if way not in NO_CUTS])
def test_every_cut_can_be_filled(half: Half, way: Way) -> None:
    numbers = ("left", "all", "shown", "lines", "percent", "kept", "total", "lost", "pages")
    slots: dict[str, object] = dict.fromkeys(numbers, 3)
    slots |= {
        "rows": "rows",
        "rest": "rows",
        "line": "lines",
        "key": "k",
        "keys": "k",
        "listed": "k, l",
        "names": ["k", "l"],
    }
    for at in range(60):
        of = ToolResultTarget("x", 0, "get", "{}", ToolClass.READ_ONLY, branch=Branch(half, f"{at}"))
        rng = SeededRandom(f"{at}")
        if way in (Way.PAGE, Way.FIELDS):
            members = draw_members(of, rng, way, slots, ())
            assert members and "{" not in json.dumps(members).replace('{"', "")[1:].replace(" {", "")
        else:
            assert not any(list_slots(draw_text(of, rng, way, slots, must_say=False)))


def test_slots_are_filled_by_their_kind() -> None:
    filler = Filler(SeededRandom("1"), lambda name, argument: f"<{name}>", "system")
    assert filler.fill_json({"n": "{int:7-7}", "s": "{int:7-7!}", "t": "at {int:7-7}"}) == {
        "n": 7,
        "s": "7",
        "t": "at 7",
    }
    same = filler.fill_text("{hex#a:8} {hex#a:8} {hex:8}").split()
    assert same[0] == same[1] != same[2]
    assert filler.fill_text("{one:{host}|{host}} { not: a slot }") == "<host> { not: a slot }"
    other = Filler(SeededRandom("2"), lambda name, argument: name, "system")
    assert filler.fill_text("{hex#S:12}") == other.fill_text("{hex#S:12}")


def test_an_error_depends_on_nothing_but_its_draws() -> None:
    for kind in ErrorKind:
        first = "list_users" if kind is ErrorKind.PREREQUISITE else ""
        texts = {draw_error(TARGET, SeededRandom("7"), kind, first).text for _ in range(3)}
        assert len(texts) == 1
