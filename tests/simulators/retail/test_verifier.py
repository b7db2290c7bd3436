"""Success can't be had by doing nothing, by doing the wrong thing, or by saying what isn't so."""

from __future__ import annotations

import json
from itertools import islice

import pytest

from crosswind.simulators.environment import Task, Verdict, load
from crosswind.simulators.retail.tasks import TaskInstance, instantiate
from crosswind.simulators.retail.verifier import claims_agree, read_claims

RETAIL = load("retail")


def first(kind: str, *, writes: bool) -> TaskInstance:
    """The first test task of a kind whose write is due, or refused."""
    for task in islice(RETAIL.tasks("test", kinds=kind, seed=0), 50):
        found = instantiate(task.id)
        if (found.goal.write is not None) == writes:
            return found
    raise AssertionError(f"no such task of kind {kind}")


def verdict_of(task: Task, calls: list[tuple[str, dict[str, str]]], answer: str | None) -> Verdict:
    """The verdict on an agent that makes these calls and then says this."""
    episode = RETAIL.reset(task, 0)
    for name, arguments in calls:
        episode.call(name, json.dumps(arguments))
    if answer is not None:
        episode.reply(answer)
    verdict = episode.verify()
    episode.close()
    return verdict


@pytest.mark.parametrize(
    ("kind", "tool", "done"),
    [("cancel", "cancel_order", "cancelled"), ("return", "return_order", "returned")],
)
def test_a_write_is_due_and_the_agent(kind: str, tool: str, done: str) -> None:
    due = first(kind, writes=True)
    order = due.goal.values["order"]
    look = ("get_order", {"order_id": order})
    write = (tool, {"order_id": order})
    said = f"Order {order} is {done}."
    assert verdict_of(due.task, [look, write], said).reward == 1.0
    lazy = verdict_of(due.task, [look], said)
    assert lazy.reward == 0.0
    assert lazy.components == {"database_ok": 0.0, "told_ok": 1.0, "read_ok": 1.0, "not_executed": 1.0}
    assert verdict_of(due.task, [look, write], f"Order {order} is shipped.").reward == 0.0
    assert verdict_of(due.task, [look, write], f"Order {order} cannot be {done}.").reward == 0.0
    assert verdict_of(due.task, [look, write], None).reward == 0.0
    assert verdict_of(due.task, [look, write, write], said).reward == 1.0, "a repeated write changes nothing"
    blind = verdict_of(due.task, [write], said)
    assert blind.reward == 1.0 and blind.components["read_ok"] == 0.0


def test_writing_another_order_fails_even_beside_the_right_one() -> None:
    due = first("cancel", writes=True)
    order = due.goal.values["order"]
    others = [other for other in pending_orders(due) if other != order]
    right, wrong = ("cancel_order", {"order_id": order}), ("cancel_order", {"order_id": others[0]})
    said = f"Order {order} is cancelled."
    assert verdict_of(due.task, [right], said).reward == 1.0
    assert verdict_of(due.task, [wrong], said).reward == 0.0
    assert verdict_of(due.task, [right, wrong], said).reward == 0.0
    assert verdict_of(due.task, [right], f"Order {others[0]} is cancelled.").reward == 0.0


def pending_orders(due: TaskInstance) -> list[str]:
    from crosswind.simulators.retail.world import connect

    rows = connect(due.image).execute("select order_id from orders where status = 'pending'").fetchall()
    return [row[0] for row in rows]


def test_a_refusal_needs_the_status_and_the_refusal() -> None:
    refused = first("cancel", writes=False)
    order, status = refused.goal.values["order"], refused.goal.told["status"]
    wrong = next(word for word in ("shipped", "delivered") if word != status)
    look, write = ("get_order", {"order_id": order}), ("cancel_order", {"order_id": order})
    assert verdict_of(refused.task, [look], f"Order {order} is {status}, I cannot cancel it.").reward == 1.0
    assert verdict_of(refused.task, [look, write], f"It is {status} and can't be cancelled.").reward == 1.0
    assert verdict_of(refused.task, [look], f"Order {order} is {status}.").reward == 0.0
    assert verdict_of(refused.task, [look], f"Order {order} is {wrong}, I cannot cancel it.").reward == 0.0
    assert verdict_of(refused.task, [look], f"Order {order} is {status}, now cancelled.").reward == 0.0
    assert verdict_of(refused.task, [look], "Sorry, I cannot do that.").reward == 0.0


@pytest.mark.parametrize(
    ("kind", "claim", "wrong"),
    [("status", "status", "pending shipped delivered cancelled returned"), ("amount", "number", "7"),
     ("track", "city", "Denver and Austin and Boston"), ("price", "number", "7"),
     ("payment", "payment", "visa or paypal"), ("stock", "number", "7")],
)  # fmt: skip
def test_a_question_is_answered_by_the_one_true_fact(kind: str, claim: str, wrong: str) -> None:
    asked = first(kind, writes=False)
    assert verdict_of(asked.task, [], f"It is {asked.goal.told[claim]}.").reward == 1.0
    assert verdict_of(asked.task, [], f"It is {wrong}.").reward == 0.0
    assert verdict_of(asked.task, [], "I do not know.").reward == 0.0
    assert (
        verdict_of(asked.task, [], f"Order #W0000 of product #P0000: {asked.goal.told[claim]}.").reward == 0.0
    )


def test_a_write_that_nobody_asked_for_fails() -> None:
    asked = first("status", writes=False)
    said = f"It is {asked.goal.told['status']}."
    assert (
        verdict_of(asked.task, [("cancel_order", {"order_id": pending_orders(asked)[0]})], said).reward == 0.0
    )


def test_claims_leave_out_what_is_refused_and_what_ids_hold() -> None:
    told = read_claims(
        'Order #W1234 (58) is shipped and cannot be cancelled; write to a1@b.com or "12 Oak Street".'
    )
    assert told["status"] == {"shipped"} and told["refused"] == {"yes"} and told["number"] == {"58"}
    assert (
        told["email"] == {"a1@b.com"} and told["address"] == {"12 Oak Street"} and told["order"] == {"#W1234"}
    )
    assert claims_agree(told, {"status": "shipped", "number": "58", "city": ""})
    assert not claims_agree(told, {"refused": ""}) and not claims_agree(told, {"city": "Denver"})
