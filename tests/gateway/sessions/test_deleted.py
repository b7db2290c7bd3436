"""A request that comes after a deletion doesn't bring the session back."""

from __future__ import annotations

from pathlib import Path

import pytest

from crosswind.gateway.recorder.queue import NotDurable
from crosswind.gateway.trajectory.record import SessionDeleted
from tests.gateway.dialogue import body, history, user
from tests.gateway.servers import Running, gateway, upstream
from tests.gateway.sessions.peers import workers
from tests.gateway.trajectory import rows


async def test_a_late_request_is_refused_in_its_protocols_shape(running: Running) -> None:
    assert (await running.chat(body(user("Hello")), "s")).status_code == 200
    assert (await running.api("DELETE", "/api/sessions/s")).is_success
    late = await running.chat(body(user("Hello again")), "s")
    assert late.status_code == 404 and late.json()["error"]["code"] == "session_not_found"
    assert "was deleted" in late.json()["error"]["message"]
    message = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello"}]}
    shaped = await running.http.post(f"{running.data}/s/s/v1/messages", json=message)
    assert shaped.status_code == 404 and shaped.json()["error"]["type"] == "not_found_error"
    assert (await running.api("GET", "/api/sessions/s")).status_code == 404
    assert (await running.chat(body(user("Hello")), "another")).status_code == 200


async def test_no_worker_opens_it_anew_whatever_it_remembers(tmp_path: Path) -> None:
    async with upstream() as app, workers(tmp_path, app) as (first, second):
        opened = (await first.api("POST", "/api/sessions", {})).json()["id"]
        for peer in (first, second):
            assert (await peer.chat(body(*history(1)), opened)).status_code == 200
        assert (await first.api("DELETE", f"/api/sessions/{opened}")).is_success
        for peer in (first, second):
            assert (await peer.chat(body(*history(2)), opened)).status_code == 404
        assert first.gateway.store.session(opened) is None


async def test_a_turn_in_flight_does_not_write_it_anew(running: Running) -> None:
    store, recorder = running.gateway.store, running.gateway.recorder
    store.write([rows.session("s"), SessionDeleted("s")])
    ticket = recorder.submit([rows.session("s"), rows.turn("s")])
    with pytest.raises(NotDurable, match="was deleted"):
        await recorder.ensure_durable(ticket, 60)
    assert store.session("s") is None


async def test_its_id_is_free_again_after_a_while_and_after_a_restart_not_before(tmp_path: Path) -> None:
    async with upstream() as app:
        async with gateway(tmp_path, app) as running:
            assert (await running.chat(body(user("Hello")), "s")).status_code == 200
            assert (await running.api("DELETE", "/api/sessions/s")).is_success
        async with gateway(tmp_path, app) as running:
            assert (await running.chat(body(user("Hello")), "s")).status_code == 404
        async with gateway(tmp_path, app, retention={"deleted_ids": 1e-6}) as running:
            housekeeping = running.gateway._housekeeping
            assert housekeeping is not None
            await housekeeping.run_round()
            assert (await running.chat(body(user("Hello")), "s")).status_code == 200


async def test_an_unnamed_client_goes_on_in_a_session_of_its_own(running: Running) -> None:
    assert (await running.chat(body(*history(1)))).status_code == 200
    (first,) = await running.sessions()
    assert (await running.api("DELETE", f"/api/sessions/{first['id']}")).is_success
    assert (await running.chat(body(*history(2)))).status_code == 200
    (other,) = await running.sessions()
    assert other["id"] != first["id"] and other["quarantine"]
