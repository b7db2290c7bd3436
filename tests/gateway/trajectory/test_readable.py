"""What a person sees of a store: with plain `sqlite3`, and with `crosswind sessions show`."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import Any

import pytest
from click.testing import CliRunner, Result

from crosswind.gateway.cli import root
from crosswind.gateway.trajectory.content import Chain, View
from crosswind.gateway.trajectory.fitness import Source
from crosswind.gateway.trajectory.record import (
    WIRE,
    Arm,
    Completion,
    Delivered,
    Reward,
    SessionClosed,
    TurnFailure,
)
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


def test_a_turn_shows_what_came_of_it(store: SqliteStore) -> None:
    _noisy_session(store)
    first, second = _query(store, "SELECT * FROM readable_turn WHERE session_id = 's' ORDER BY turn")
    assert (second["view_changed"], second["injected"], second["sampled_tokens"]) == (1, 1, 3)
    assert (first["view_changed"], first["injected"], first["sampled_tokens"]) == (0, 0, None)
    assert (second["fitness"], second["durable"], second["delivered"]) == ("fit", "yes", "unknown")
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


def _show(store: SqliteStore, *arguments: str) -> str:
    result = CliRunner().invoke(root, ["sessions", "show", *arguments, "--store", str(store.path)])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_command_shows_what_was_sent_seen_produced_and_delivered(store: SqliteStore) -> None:
    _noisy_session(store)
    shown = json.loads(_show(store, "s", "--turn", "1", "--json"))
    (turn,) = shown["turns"]
    assert turn["agent_sent"] == '{"messages":[' + ASKED + "," + CLEAN + '],"n":1}'
    assert turn["policy_saw"] == '{"messages":[' + ASKED + "," + NOISY + '],"n":1}'
    assert (turn["policy_produced"], turn["agent_got"]) == ("I will try again", "I will try again!")
    told = _show(store, "s")
    assert "tool.timeout" in told and NOISY in told and "I will try again!" in told
    assert told.count(ASKED) == 1, "what the turn before had is counted"
    assert f'agent sent: {{"messages":[… 1 message as before,{CLEAN}],"n":1}}' in told
    assert f'policy saw: {{"messages":[… 1 message as before,{NOISY}],"n":1}}' in told
    assert _show(store, "s", "--turn", "1").count(ASKED) == 2, "of a turn alone all is told"


@pytest.mark.parametrize(
    ("told", "fields"),
    [
        ("the same, then an error event (upstream_cut)", {"stream": True}),
        ("an error (upstream_cut)", {"stream": False}),
        (
            "an error (upstream_unreachable)",
            {"kind": "upstream_unreachable", "stream": True, "produced": None},
        ),
        (
            "the same, up to where it hung up",
            {"source": Source.CLIENT, "kind": "disconnected", "stream": True},
        ),
        ("the same\n", {"kind": "status_500", "delivered": Delivered.YES}),
    ],
)
def test_a_turn_that_broke_off_says_what_the_agent_got(
    store: SqliteStore, told: str, fields: dict[str, Any]
) -> None:
    given = {"produced": View.plain(b"I will t"), "delivered": Delivered.NO, **fields}
    failure = TurnFailure(given.pop("source", Source.UPSTREAM), given.pop("kind", "upstream_cut"))
    store.write([rows.session(), rows.turn(error=failure, **given)])
    assert f"  agent got: {told}" in _show(store, "s")


def test_a_command_shows_bodies_that_are_no_text(store: SqliteStore) -> None:
    chain = None
    for number in range(2000):
        chain = Chain(chain, f"<{number}>".encode())
    store.write([rows.session(), rows.turn(sent=View((None,), chain), produced=View.plain(b"\xff\0\xfe"))])
    (turn,) = json.loads(_show(store, "s", "--json"))["turns"]
    assert turn["policy_saw"] == "".join(f"<{number}>" for number in range(2000))
    assert turn["agent_sent"] is None and turn["policy_produced"] == {"base64": "/wD+"}


def test_a_diff_is_what_noise_changed_and_nothing_else(store: SqliteStore) -> None:
    _noisy_session(store)
    told = _show(store, "s", "--diff")
    assert [line.split() for line in told.splitlines() if line] == [
        ["turn", "1:", "tool.timeout,", "get_order"],
        ["before", "shipped"],
        ["after", "timed", "out"],
        "the next identical call is answered".split(),
    ]
    turns = json.loads(_show(store, "s", "--diff", "--json"))["turns"]
    assert [len(turn["noise"]) for turn in turns] == [0, 2] and all("agent_sent" not in one for one in turns)
    assert _show(store, "s", "--diff", "--turn", "0") == ""
    late = {"turn_index": -1, "created_us": 2**52, "anchor": f"{WIRE}orders", "draw": {"link": "orders"}}
    store.write(
        [rows.event(**late, before="paid", after="refused"), rows.event(**late, ordinal=1, after=None)]
    )
    heads = [line for line in _show(store, "s", "--diff").splitlines() if line and line[0] != " "]
    assert heads == ["turn 1: tool.timeout, get_order", "on the wire to orders: tool.timeout, get_order"]
    store.write([rows.event(turn_index=0, before="a", after="a\n\nb\x1b")])
    assert "  after  a\n\nb\\x1b\n" in _show(store, "s", "--diff", "--turn", "0"), (
        "lines break as in a preview"
    )


def _list(store: SqliteStore, *arguments: str) -> Result:
    result = CliRunner().invoke(root, ["sessions", "list", *arguments, "--store", str(store.path)])
    assert result.exit_code == 0, result.output
    return result


def test_a_list_tells_sessions_apart(store: SqliteStore) -> None:
    _noisy_session(store)
    long = {
        "input": [{"role": "system", "content": "x"}, {"role": "user", "content": [{"text": "a\x1b " * 50}]}]
    }
    asked = View.plain(json.dumps(long).encode())
    store.write([rows.session("t"), rows.turn("t", protocol="responses", received=asked), rows.session("u")])
    bare, other, first = _list(store).stdout.splitlines()
    assert first.startswith("s  2023-11-14T22:13:20Z  2 turns, noisy, profile noisyagent, closed, reward 1: ")
    assert first.endswith(": Where is #W1 → now?")
    assert other.startswith("t  2023-11-14T22:13:20Z  1 turn, clean") and other.endswith("…")
    assert "\x1b" not in other and len(other) < 200
    assert bare.endswith("0 turns, clean, profile off, open, reward pending"), bare
    listed = json.loads(_list(store, "--json").stdout)["sessions"]
    assert [(one["id"], one["turns"]) for one in listed] == [("u", 0), ("t", 1), ("s", 2)]
    assert listed[2]["first_message"] == "Where is #W1 → now?"


def test_a_list_of_no_session_says_so(store: SqliteStore) -> None:
    assert "has no session\n" in _list(store).stderr
    assert "has no session of group 'g'\n" in _list(store, "--group", "g").stderr
    assert json.loads(_list(store, "--json").stdout) == {"sessions": []}


def test_a_session_or_turn_that_is_not_there_is_named(store: SqliteStore) -> None:
    store.write([rows.session()])
    for arguments, complaint in ((["x"], "no session 'x'"), (["s", "--turn", "7"], "no turn 7")):
        result = CliRunner().invoke(root, ["sessions", "show", *arguments, "--store", str(store.path)])
        assert result.exit_code == 1 and complaint in result.stderr


def test_a_note_cannot_steer_the_terminal(store: SqliteStore) -> None:
    store.write([rows.session(), rows.turn(), rows.event(note="of \x1b]0;mine\x07\r\nturn 9")])
    shown = CliRunner().invoke(root, ["sessions", "show", "s", "--store", str(store.path)], color=True).stdout
    assert "\x1b" not in shown and "\r" not in shown and "\nturn 9" not in shown
    assert r"of \x1b]0;mine\x07\r\nturn 9" in shown
