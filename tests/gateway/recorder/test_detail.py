"""How much is recorded: `full`, `metadata`, `none`."""

from __future__ import annotations

from crosswind.gateway.config.sections import Detail
from crosswind.gateway.recorder.detail import filter_rows
from crosswind.gateway.recorder.recorder import Recorder
from crosswind.gateway.trajectory.content import Chain, View
from crosswind.gateway.trajectory.fitness import Fitness, Source
from crosswind.gateway.trajectory.record import (
    Completion,
    Durable,
    InnerRound,
    Row,
    SessionClosed,
    Setting,
    TurnFailure,
)
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from tests.gateway.trajectory import rows

SECRET = b"what was said"
TEXT = SECRET.decode()


def _traffic() -> list[Row]:
    view = View((b"[", None, b"]"), Chain(None, SECRET))
    turn = rows.turn(
        fitness=Fitness.FIT,
        received=view,
        sent=view,
        produced=View.plain(SECRET),
        delivered_view=View.plain(SECRET),
        prompt_ids=Chain(None, b"\1\0\0\0"),
        completions=(Completion(0, (7, 8), (-0.5, -0.25), "stop"),),
        usage={"completion_tokens": 2},
        error=TurnFailure(Source.UPSTREAM, "overloaded", TEXT),
        inner=(InnerRound(TEXT, (), Fitness.FIT, {}),),
    )
    return [
        rows.session(),
        turn,
        rows.event(before=TEXT, after=TEXT),
        rows.event(ordinal=1, before=TEXT, after=None, note="withdrawn: nothing to retry"),
        rows.shown(
            "s", "text:1#0", text=TEXT, decisions=({"operator": "user.typos", "draw": {"swap": [3]}},)
        ),
        Setting("noise", "switch", {"enabled": True}, 1),
    ]


def test_full_is_every_row_as_it_stands() -> None:
    traffic = _traffic()
    assert filter_rows(traffic, Detail.FULL) is traffic


async def test_metadata_keeps_what_was_decided_and_no_content(store: SqliteStore) -> None:
    recorder = Recorder(store, detail=Detail.METADATA)
    recorder.offer(_traffic())
    assert await recorder.flush(30)
    (turn,) = store.turns("s")
    assert (turn.received, turn.sent, turn.produced, turn.delivered_view, turn.prompt_ids) == (None,) * 5
    assert turn.completions == (Completion(0, (), (), "stop"),)
    assert (turn.fitness, turn.inner) == (Fitness.CONTENT_NOT_RECORDED, ())
    assert (turn.error, turn.usage) == (
        TurnFailure(Source.UPSTREAM, "overloaded"),
        {"completion_tokens": 2},
    )
    assert [(event.before, event.after) for event in store.events("s")] == [("", ""), ("", None)]
    (shown,) = store.ledger("s")
    assert shown.text == TEXT, "the next turn has to show it again"
    recorder.offer([SessionClosed("s", 9)])
    await recorder.aclose()
    (shown,) = store.ledger("s")
    assert shown.text is None and shown.decisions[0]["draw"] == {"swap": [3]}
    store.close()
    assert SECRET not in store.path.read_bytes()


async def test_none_writes_no_session_and_keeps_working(store: SqliteStore) -> None:
    recorder = Recorder(store, detail=Detail.NONE)
    assert await recorder.wait_durable(recorder.submit(_traffic()[:-1])) is Durable.YES
    await recorder.ensure_durable(recorder.submit(_traffic()))
    await recorder.aclose()
    counts = dict(store.counts())
    assert counts.pop("settings") == 1
    assert not any(counts.values())
