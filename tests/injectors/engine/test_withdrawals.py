"""What isn't injected, and what the events say of it: the guard's refusals, and operators that do wrong."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from crosswind.injectors import operator
from crosswind.injectors.cli.documents import conversation
from crosswind.injectors.conversation import Conversation, Site
from crosswind.injectors.engine.decision import Injection
from crosswind.injectors.engine.messages import perturb_messages
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, UserTarget
from tests.injectors.dialogues import call, order_desk
from tests.injectors.engine.test_messages import FAULTS, plan_of


def writing(assume: str = "", classes: str = "") -> list[Injection]:
    plan = plan_of(f"{FAULTS}{assume}{classes}")
    messages = call("cancel_order", {"order_id": "#W1"}, '{"ok": true}', 0)
    return list(perturb_messages(plan, conversation(messages), {}).new[0].injections)


def test_a_write_is_never_failed_after_it_took_effect() -> None:
    injections = writing()
    assert [one.after for one in injections] == [None, None]
    assert all(one.tool_class == "unknown" and "a retry would repeat it" in one.note for one in injections)


def test_a_write_is_failed_where_the_operator_says_that_it_may_be() -> None:
    assert writing(assume="assume_tools: replayable\n")[0].after is not None
    assert writing(classes="tool_classes: {'cancel_*': idempotent}\n")[0].after is not None
    assert writing(classes="tool_classes: {cancel_order: destructive}\n")[0].after is None


def test_one_part_of_a_result_is_not_destroyed_while_others_tell_the_truth() -> None:
    messages = call("get_order", {}, "", 0)
    messages[1]["content"] = [
        {"type": "text", "text": "status: shipped"},
        {"type": "text", "text": "total: 3"},
    ]
    found = perturb_messages(plan_of(FAULTS), conversation(messages), {})
    assert [new.text for new in found.new] == [None, None]


@pytest.fixture
def awkward() -> Iterator[None]:
    """Operators that do what operators must not do, registered for one test."""

    def add(name: str, after: str | Exception, recovery: Recovery = Recovery.IGNORE) -> None:
        class Awkward:
            """Severity: none."""

            def draw(self, target: UserTarget, rng: Stream, severity: float) -> Draw | None:
                return {}

            def apply(self, target: UserTarget, draw: Draw) -> Result:
                if isinstance(after, Exception):
                    raise after
                return Result(after, "It was awkward.")

        operator.operator(name, site=Site.USER_TEXT, recovery=recovery)(Awkward)

    names = ("user.raises", "user.forgets", "user.invents", "user.silences")
    add(names[0], RuntimeError("api_key=sk-123"))
    add(names[1], "Hello, could you please check where the parcel is?")
    add(
        names[2],
        "Hello, could you please check where the parcel for #W2378156 is? Mia Garcia paid 38.50 €. 99",
    )
    add(names[3], " ", Recovery.NONE_NEEDED)
    yield
    for name in names:
        del operator._registered[name]


@pytest.mark.usefixtures("awkward")
@pytest.mark.parametrize(
    "name,reason",
    [
        ("user.raises", "the operator failed (RuntimeError)"),
        ("user.forgets", "'#W2378156'"),
        ("user.invents", "'99'"),
        ("user.silences", "nothing of the message was left"),
    ],
)
def test_what_an_operator_does_wrong_is_withdrawn_and_said(name: str, reason: str) -> None:
    view: Conversation = conversation(order_desk()[:2])
    found = perturb_messages(plan_of(f"name: t\nrules: [{{operator: {name}, severity: 1}}]"), view, {})
    (injection,) = found.new[0].injections
    assert found.replacements == {} and found.new[0].decisions == ()
    assert injection.after is None
    assert injection.note.startswith("Not injected: ") and reason in injection.note
    assert "sk-123" not in injection.note


@pytest.mark.usefixtures("awkward")
def test_a_plan_outlives_an_operator_that_is_no_longer_installed() -> None:
    plan = plan_of("name: t\nrules: [{operator: user.raises, severity: 1}]")
    removed = operator._registered.pop("user.raises")
    try:
        assert perturb_messages(plan, conversation(order_desk()), {}).replacements == {}
    finally:
        operator._registered["user.raises"] = removed
