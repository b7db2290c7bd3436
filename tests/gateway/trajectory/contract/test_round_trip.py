"""Whatever is written comes back equal."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from crosswind.gateway.trajectory.content import Chain, View
from crosswind.gateway.trajectory.fitness import Source
from crosswind.gateway.trajectory.ledger_rows import NameMap, Shown
from crosswind.gateway.trajectory.record import (
    Completion,
    Delivered,
    Delivery,
    Event,
    Reward,
    Row,
    Session,
    SessionDeleted,
    Setting,
    TrainStep,
    Turn,
    TurnFailure,
)
from crosswind.gateway.trajectory.store import RowRefused, Store
from tests.gateway.trajectory import rows

anything = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def write_anew(store: Store, session: Session, *others: Row) -> None:
    store.write([SessionDeleted(session.id)])
    store.forget_deleted(-1.0)
    store.write([session, *others])


@given(rows.sessions)
@anything
def test_a_session(store: Store, session: Session) -> None:
    write_anew(store, session)
    assert store.session(session.id) == session


@given(st.lists(rows.turns, min_size=1, max_size=3, unique_by=lambda turn: (turn.index, turn.attempt)))
@anything
def test_turns_with_their_bodies_to_the_byte(store: Store, turns: list[Turn]) -> None:
    write_anew(store, rows.session(), *turns)
    assert store.turns("s") == sorted(turns, key=lambda turn: (turn.index, turn.attempt))


def test_many_rows_of_every_kind_in_one_write(store: Store) -> None:
    """More than one statement takes, plain ones beside such with errors and tokens, and invalid Unicode."""
    failed = TurnFailure(Source.UPSTREAM, "timeout", "no answer")
    sampled = (Completion(0, token_ids=(1, 2), logprobs=(-0.5, -1.0)),)
    odd = {7: {"error": failed}, 11: {"completions": sampled, "policy_first": "v1"}, 13: {"model": "\ud800"}}
    turns = [rows.turn(index=index, **odd.get(index, {})) for index in range(19)]
    events = [rows.event(turn_index=index, note="\ud800" if index == 9 else "n") for index in range(19)]
    ends = [Delivery("s", index, 0, Delivered.YES, None, 100 + index) for index in range(19)]
    store.write([rows.session(), *turns, *events, *ends])
    ended = {"delivered": Delivered.YES}
    assert store.turns("s") == [structs.replace(turn, total_us=100 + turn.index, **ended) for turn in turns]
    assert store.events("s") == events
    store.write([rows.session(), *turns, *events, *ends])
    assert len(store.turns("s")) == len(store.events("s")) == 19


@given(rows.events)
@anything
def test_an_event(store: Store, event: Event) -> None:
    write_anew(store, rows.session(), event)
    assert store.events("s") == [event]


@given(st.lists(rows.ledger_rows, max_size=3, unique_by=lambda row: (row.branch, row.anchor, row.site)))
@anything
def test_a_ledger_in_its_order(store: Store, ledger: list[Shown]) -> None:
    write_anew(store, rows.session(), rows.turn(), *ledger)
    assert store.ledger("s") == ledger


@given(rows.ids, rows.ids, rows.json_objects)
@anything
def test_names_and_settings(store: Store, name: str, other: str, value: dict[str, Any]) -> None:
    setting = Setting(name, other, value, 7)
    write_anew(store, rows.session(), rows.turn(), NameMap("s", name, other, 1), setting)
    assert store.names("s") == [NameMap("s", name, other, 1)]
    assert store.setting(name, other) == setting
    assert setting in store.settings(name)


@given(rows.ids, rows.json_objects, rows.floats)
@anything
def test_rewards_and_steps(store: Store, name: str, value: dict[str, Any], number: float) -> None:
    reward = Reward("s", 5, number, value, name)
    write_anew(store, rows.session(), reward)
    assert store.rewards("s") == [reward]
    step = TrainStep(name, len(store.steps(name)), (name,), value, 3, name, value, 9)
    store.plan_step(step)
    assert store.steps(name)[-1] == step


@pytest.mark.parametrize(
    "logprob", [-0.1, -1e-300, -5e-324, -0.0, float("-inf"), -0.30000001192092896, -745.1332191019412]
)
def test_a_logprob_to_the_last_bit(store: Store, logprob: float) -> None:
    store.write([rows.session(), rows.turn(completions=(Completion(0, (1,), (logprob,)),))])
    (found,) = store.turns("s")[0].completions[0].logprobs
    assert found.hex() == logprob.hex()


@pytest.mark.parametrize("finish_reason", [None, "stop", "half an emoji \ud83d"])
@pytest.mark.parametrize(
    "completions",
    [
        (),
        (Completion(0, finish_reason="stop"),),
        (Completion(0),),
        (Completion(1, finish_reason="stop"),),
        (Completion(0, (7,), (-0.5,), "stop"),),
        (Completion(0, finish_reason="stop"), Completion(1, finish_reason="stop")),
        (Completion(0, (), (), "half \ud83d"),),
    ],
)
def test_choices_with_and_without_tokens(
    store: Store, finish_reason: str | None, completions: tuple[Completion, ...]
) -> None:
    turn = rows.turn(completions=completions, finish_reason=finish_reason, response_id="r")
    store.write([rows.session(), turn])
    assert store.turns("s") == [turn]
    assert store.turns_of_responses("s", ["r", "unknown"]) == {"r": turn}


def test_chains_read_back_share_their_nodes_and_can_be_extended(store: Store) -> None:
    root = Chain(None, b"a")
    first, second = Chain(root, b"b"), Chain(Chain(root, b"b"), b"c")
    turns = [rows.turn(index=at, sent=View((None,), node)) for at, node in enumerate((first, second))]
    store.write([rows.session(), *turns])
    views = [turn.sent for turn in store.turns("s")]
    assert [view and view.bytes() for view in views] == [b"ab", b"abc"]
    assert views[0] and views[1] and views[1].chain and views[1].chain.parent is views[0].chain
    longer = Chain(views[1].chain, b"d")
    store.write([rows.turn(index=2, sent=View((None,), longer))])
    found = store.turns("s")[2].sent
    assert found and found.bytes() == b"abcd"


@pytest.mark.parametrize(
    "row",
    [
        rows.turn(completions=(Completion(0, (2**31,), (0.0,)),)),
        rows.turn(usage={"cost": float("nan")}),
        rows.turn(usage={"cost": {1, 2}}),
        rows.turn(queue_us=2**63),
        rows.event(severity=object()),
        structs.replace(rows.event(), session_id="unknown"),
        Reward("s", 1, float("nan")),
    ],
)
def test_what_cannot_be_kept_as_it_is_is_refused_and_takes_the_whole_write_with_it(
    store: Store, row: Turn
) -> None:
    store.write([rows.session()])
    with pytest.raises(RowRefused):
        store.write([rows.turn(index=5), row])
    assert store.turns("s") == []
    assert store.rewards("s") == []
