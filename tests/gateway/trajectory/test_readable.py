"""What a person sees who opens the store with plain `sqlite3`."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from crosswind.gateway.trajectory.content import Chain, View
from crosswind.gateway.trajectory.record import Arm, Completion, Reward, SessionClosed
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from tests.gateway.trajectory import rows

CLEAN = '{"role":"tool","content":"shipped"}'
NOISY = '{"role":"tool","content":"timed out"}'
ASKED = '{"role":"user","content":"Where is #W1 → now?"}'


def _noisy_session(store: SqliteStore) -> None:
    asked = Chain(None, ASKED.encode())
    frame = (b'{"messages":[', None, b'],"n":1}')
    plan = {"profile": "noisyagent", "noise_type": "tool.timeout", "level": 2}
    first = rows.turn(received=View(frame, asked), sent=View(frame, asked), produced=View.plain(b"call"))
    second = rows.turn(
        index=1,
        fitness="fit",
        received=View(frame, Chain(asked, f",{CLEAN}".encode())),
        sent=View(frame, Chain(asked, f",{NOISY}".encode())),
        produced=View.plain(b"I will try again"),
        delivered_view=View.plain(b"I will try again!"),
        completions=(Completion(0, (1, 2, 3), (-0.1, -0.2, -0.3), "stop"),),
    )
    injected = rows.event(turn_index=1, before="shipped", after="timed out")
    withheld = rows.event(turn_index=1, ordinal=1, after=None, note="it would have broken the order id")
    store.write([rows.session(plan=plan, arm=Arm.NOISY), first, second, injected, withheld])
    store.write([Reward("s", 5, 1.0), SessionClosed("s", 9)])


def _query(store: SqliteStore, query: str) -> list[dict[str, object]]:
    with closing(sqlite3.connect(f"file:{store.path}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(query)]


def test_a_noisy_turn_shows_what_was_sent_seen_produced_and_delivered(store: SqliteStore) -> None:
    _noisy_session(store)
    first, second = _query(store, "SELECT * FROM readable_turn WHERE session_id = 's' ORDER BY turn")
    assert second["agent_sent"] == '{"messages":[' + ASKED + "," + CLEAN + '],"n":1}'
    assert second["policy_saw"] == '{"messages":[' + ASKED + "," + NOISY + '],"n":1}'
    assert (second["policy_produced"], second["agent_got"]) == ("I will try again", "I will try again!")
    assert (second["view_changed"], second["injected"], second["sampled_tokens"]) == (1, 1, 3)
    assert (first["view_changed"], first["injected"], first["agent_got"]) == (0, 0, "call")
    assert second["at"] == "2023-11-14T22:13:20Z"


def test_an_event_shows_before_after_and_why_the_task_stays_solvable(store: SqliteStore) -> None:
    _noisy_session(store)
    injected, withheld = _query(store, "SELECT * FROM readable_event ORDER BY ordinal")
    assert (injected["outcome"], injected["before"], injected["after"]) == (
        "injected",
        "shipped",
        "timed out",
    )
    assert (injected["solvable_by"], injected["note"]) == ("retry", "the next identical call is answered")
    assert (withheld["outcome"], withheld["after"]) == ("withheld", None)
    assert withheld["note"] == "it would have broken the order id"


def test_an_event_of_no_operator_is_no_withheld_noise(store: SqliteStore) -> None:
    why = "No noise: batches run without it."
    nobody = rows.event(operator="none", slot="", tool=None, after=None, note=why)
    store.write([rows.session(), rows.turn(), nobody])
    (event,) = _query(store, "SELECT * FROM readable_event")
    (session,) = _query(store, "SELECT * FROM readable_session")
    assert (event["outcome"], session["withheld"]) == ("no noise", 0)
    assert store.summary().noise == {}
    assert store.summary().without_noise == {why: 1}


def test_a_session_shows_its_plan_and_what_came_of_it(store: SqliteStore) -> None:
    _noisy_session(store)
    (found,) = _query(store, "SELECT * FROM readable_session")
    plan = [found[name] for name in ("arm", "profile", "noise_type", "level")]
    assert plan == ["noisy", "noisyagent", "tool.timeout", 2]
    counts = [found[name] for name in ("turns", "fit_turns", "injected", "withheld")]
    assert counts == [2, 1, 1, 1]
    assert (found["status"], found["reward_state"], found["reward"]) == ("closed", "given", 1.0)


def test_long_conversations_and_bodies_that_are_no_text_can_be_read(store: SqliteStore) -> None:
    chain = None
    for number in range(2000):
        chain = Chain(chain, f"<{number}>".encode())
    store.write([rows.session(), rows.turn(sent=View((None,), chain), produced=View.plain(b"\xff\0\xfe"))])
    (found,) = _query(store, "SELECT policy_saw, agent_sent, injected FROM readable_turn")
    assert found["policy_saw"] == "".join(f"<{number}>" for number in range(2000))
    assert found["agent_sent"] is None
