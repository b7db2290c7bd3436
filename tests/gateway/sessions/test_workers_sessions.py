"""Sessions that several workers serve: any of them takes the next turn, as if it had taken them all."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from crosswind.gateway.trajectory.store import StoreError
from crosswind.testing.replies import CUT, chunks, plain
from tests.gateway.dialogue import PROFILE, body, call, history, result, user
from tests.gateway.servers import answer, delta, event, gateway, upstream
from tests.gateway.sessions.peers import workers


@pytest.fixture
def flaky(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "flaky.yaml").write_text(PROFILE)
    return {"profile": str(tmp_path / "flaky.yaml")}


async def alone(tmp: Path, turns: int, **given: Any) -> list[Any]:
    """What the policy sees, turn by turn, where one process serves the session."""
    async with upstream() as app, gateway(tmp, app, **given) as running:
        for turn in range(turns):
            await running.chat(body(*history(turn + 1)), "s")
        return [seen.body for seen in app.requests]


async def test_turns_that_go_round_show_what_one_process_shows(tmp_path: Path, flaky: dict[str, Any]) -> None:
    apart = tmp_path / "alone"
    apart.mkdir()
    expected = await alone(apart, 5, **flaky)
    async with upstream() as app, workers(tmp_path, app, 3, **flaky) as peers:
        for turn in range(5):
            assert (await peers[turn % 3].chat(body(*history(turn + 1)), "s")).status_code == 200
        assert [seen.body for seen in app.requests] == expected
        stored = await peers[0].trajectory("s")
        assert [(turn["index"], turn["parent"], turn["branch"]) for turn in stored["turns"]] == [
            (0, None, ""),
            (1, 0, ""),
            (2, 1, ""),
            (3, 2, ""),
            (4, 3, ""),
        ]
        events = [(one["turn_index"], one["operator"]) for one in stored["events"]]
        assert len(events) == len(set(events)) > 3, "nothing is decided twice"


async def test_what_was_shown_is_looked_up_not_computed_anew(tmp_path: Path, flaky: dict[str, Any]) -> None:
    async with upstream() as app, workers(tmp_path, app, **flaky) as (first, second):
        await first.chat(body(*history(1)), "s")
        with closing(sqlite3.connect(tmp_path / "store.db")) as store, store:
            store.execute("UPDATE shown SET text = 'as the ledger has it'")
        await second.chat(body(*history(2)), "s")
        assert app.requests[-1].texts()[0] == "as the ledger has it"
        await first.chat(body(*history(3)), "s")
        assert app.requests[-1].texts()[2] == app.requests[-2].texts()[2], "what the second one decided"


async def test_concurrent_turns_of_one_session_get_places_of_their_own(tmp_path: Path) -> None:
    together = asyncio.Barrier(8)

    async def wait(_: int) -> None:
        await together.wait()

    finish = event([delta("hello", finish="stop")])
    async with upstream(chunks(finish, before=wait)) as app, workers(tmp_path, app) as peers:
        await asyncio.gather(
            *(
                peers[number % 2].chat(body(user("the same"), user(f"task {number}"), stream=True), "s")
                for number in range(8)
            )
        )
        for running in peers:
            await running.flush()
        stored = await peers[0].trajectory("s")
        assert [turn["index"] for turn in stored["turns"]] == list(range(8))
        assert len({turn["branch"] for turn in stored["turns"]}) == 8


async def test_equal_turns_at_the_same_moment_are_branches_too(tmp_path: Path) -> None:
    async with upstream() as app, workers(tmp_path, app, 3) as peers:
        hello = body(user("hello there"))
        await asyncio.gather(*(peers[number % 3].chat(hello, "s") for number in range(12)))
        for running in peers:
            await running.flush()
        stored = await peers[0].trajectory("s")
        assert [turn["index"] for turn in stored["turns"]] == list(range(12))
        assert len({turn["branch"] for turn in stored["turns"]}) == 12


async def test_a_retry_that_another_worker_gets_is_an_attempt_at_the_same_turn(tmp_path: Path) -> None:
    async with (
        upstream(chunks(b"data: {}\n\n", CUT), plain(answer())) as app,
        workers(tmp_path, app) as (first, second),
    ):
        asked = body(user("hello"))
        with pytest.raises(Exception, match=r"peer closed|incomplete"):
            await first.chat(asked, "s")
        await second.chat(asked, "s", x_stainless_retry_count="1")
        await first.flush()
        stored = await second.trajectory("s")
        assert [(turn["index"], turn["attempt"]) for turn in stored["turns"]] == [(0, 0), (0, 1)]


async def test_closed_and_deleted_sessions_are_seen_by_all_at_once(tmp_path: Path) -> None:
    async with upstream() as app, workers(tmp_path, app, 3) as (control, first, second):
        opened = (await control.api("POST", "/api/sessions", {})).json()
        key = {"authorization": f"Bearer {opened['api_key']}"}
        for running in (first, second):
            assert (await running.chat(body(*history(1)), **key)).status_code == 200
        await control.api("POST", f"/api/sessions/{opened['id']}/close")
        for running in (first, second, control):
            assert (await running.chat(body(*history(2)), **key)).status_code == 409
        await control.api("DELETE", f"/api/sessions/{opened['id']}")
        for running in (first, second):
            assert await running.gateway.sessions.get(opened["id"]) is None


async def test_a_session_that_another_worker_stopped_gets_no_noise_here(
    tmp_path: Path, flaky: dict[str, Any]
) -> None:
    async with upstream() as app, workers(tmp_path, app, **flaky) as (first, second):
        await second.chat(body(*history(1)), "s")
        assert app.requests[-1].texts() != [history(1)[0]["content"]]
        first.gateway.receive_noise_switch(False)
        await first.chat(body(*history(1)), "s")
        await second.chat(body(*history(1)), "s")
        assert app.requests[-1].texts() == [history(1)[0]["content"]]
        stored = await second.trajectory("s")
        assert [turn["fitness"] for turn in stored["turns"]][1:] == ["noise_stopped"] * 2


async def test_a_profile_that_was_stored_is_in_force_for_sessions_opened_anywhere(tmp_path: Path) -> None:
    calm = PROFILE.replace("probability: 1.0", "probability: 0.0")
    async with upstream() as app:
        async with gateway(tmp_path, app) as running:
            await running.api("PUT", "/api/profiles/flaky", {"yaml": calm})
        async with workers(tmp_path, app, profile="flaky") as (control, worker):
            await worker.chat(body(*history(1)), "before")
            assert app.requests[-1].texts() == [history(1)[0]["content"]]
            put = await control.api("PUT", "/api/profiles/flaky", {"yaml": PROFILE})
            assert put.status_code == 200, put.text
            await worker.chat(body(*history(1)), "after")
            assert app.requests[-1].texts() != [history(1)[0]["content"]]
            await worker.chat(body(*history(1)), "before")
            assert app.requests[-1].texts() == [history(1)[0]["content"]], "its plan was frozen"


async def test_unnamed_sessions_are_numbered_over_all_processes(tmp_path: Path) -> None:
    async with upstream() as app, workers(tmp_path, app) as peers:
        opened = [(await peers[turn % 2].api("POST", "/api/sessions", {})).json() for turn in range(4)]
        assert [one["plan"]["scope_key"] for one in opened] == [f"unnamed-{number}" for number in range(4)]


async def test_a_worker_that_cannot_read_the_ledger_adds_no_noise_and_its_turns_are_unfit(
    tmp_path: Path, flaky: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with upstream() as app, workers(tmp_path, app, **flaky) as (first, second):
        await second.chat(body(*history(1)), "s")
        shown = app.requests[-1].texts()
        await first.chat(body(*history(2)), "s")

        def broken(*_: Any) -> Any:
            raise StoreError("no such disk")

        with monkeypatch.context() as patch:
            for name in ("session_state", "session"):
                patch.setattr(second.gateway.store, name, broken)
            await second.chat(body(*history(3)), "s")
            clean = [message["content"] for message in history(3)]
            assert app.requests[-1].texts() == [*shown, *clean[1:]], (
                "history as far as it is known, and nothing new"
            )
        await second.chat(body(*history(4)), "s")
        await first.flush()
        stored = await second.trajectory("s")
        assert [turn["fitness"] for turn in stored["turns"]] == [
            "no_token_ids",
            "no_token_ids",
            "ledger_unavailable",
            "no_token_ids",
        ]
        assert [turn["index"] for turn in stored["turns"]] == [0, 1, 2, 3]
        again = app.requests[-1].texts()
        await first.chat(body(*history(4)), "s")
        assert app.requests[-1].texts() == again


async def test_without_its_leases_a_turn_gets_a_place_that_is_no_other_ones(
    tmp_path: Path, flaky: dict[str, Any]
) -> None:
    async with upstream() as app, workers(tmp_path, app, **flaky) as (first, second):
        await first.chat(body(*history(1)), "s")
        assert second.gateway.worker_sync is not None
        second.gateway.worker_sync.leases.close()
        await second.chat(body(*history(2)), "s")
        await first.chat(body(*history(2)), "s")
        await second.flush()
        stored = await first.trajectory("s")
        found = [(turn["index"] < 10**9, turn["fitness"]) for turn in stored["turns"]]
        assert found == [(True, "no_token_ids"), (True, "no_token_ids"), (False, "ledger_unavailable")]


async def test_what_another_worker_delivered_alike_is_not_taken_for_this_ones(tmp_path: Path) -> None:
    """Some endpoints give one call id again and again: whose it is can't be told then, by no worker."""
    calling = answer()
    calling["choices"][0]["message"] = call("call_0", "W17")
    async with upstream(plain(calling)) as app, workers(tmp_path, app) as (first, second):
        for running in (first, second):
            await running.chat(body(*history(1)))
        for running in (first, second):
            await running.flush()
        await first.chat(body(*history(1), call("call_0", "W17"), result("call_0", "W17")))
        await first.flush()
        found = (await first.api("GET", "/api/sessions")).json()["sessions"]
        assert len(found) == 2
        assert [one["quarantine"] for one in found if one["quarantine"]] == [
            "inferred: its history was delivered in several sessions alike"
        ]
