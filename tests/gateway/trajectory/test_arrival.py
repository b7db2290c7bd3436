"""Order is arrival and age is lived time: a clock that is set changes no result."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import pytest

from crosswind.gateway import clock
from crosswind.gateway.trajectory.record import Reward, SessionClosed, Setting
from crosswind.gateway.trajectory.sqlite import arrival
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from tests.gateway.dialogue import body, user
from tests.gateway.servers import gateway, upstream
from tests.gateway.trajectory import rows

DAY_US = 86_400 * 1_000_000


class Clock:
    """The clocks of a machine: somebody sets the wall clock, and time passes."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.set_us = self.passed_us = 0
        wall, steady = time.time_ns, arrival.monotonic_us
        patch.setattr(time, "time_ns", lambda: wall() + 1000 * (self.set_us + self.passed_us))
        patch.setattr(arrival, "monotonic_us", lambda: steady() + self.passed_us)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.mark.parametrize("set_us", [-DAY_US, 2 * DAY_US])
async def test_the_clock_is_set_while_the_gateway_serves(tmp_path: Path, machine: Clock, set_us: int) -> None:
    limits = {"retention": {"age": "1d", "all": True, "every": "1h"}, "reward_expiry": "12h"}
    async with upstream() as app, gateway(tmp_path, app, **limits) as running:
        opened = (await running.api("POST", "/api/sessions", {})).json()["id"]
        waits = (await running.api("POST", "/api/sessions", {})).json()["id"]
        assert (await running.chat(body(user("Hello")), opened)).status_code == 200
        assert (await running.api("POST", f"/api/sessions/{opened}/reward", {"reward": 1.0})).is_success
        machine.set_us = set_us
        assert (await running.api("POST", f"/api/sessions/{opened}/reward", {"reward": 2.0})).is_success
        housekeeping = running.gateway._housekeeping
        assert housekeeping is not None
        await housekeeping.run_round()
        assert (await running.api("GET", f"/api/sessions/{opened}")).json()["reward"] == 2.0
        assert (await running.api("GET", f"/api/sessions/{waits}")).json()["reward_state"] == "pending"
        later = (await running.api("POST", "/api/sessions", {})).json()["id"]
        listed = (await running.api("GET", "/api/sessions")).json()["sessions"]
        assert [one["id"] for one in listed] == [later, waits, opened]
        machine.passed_us = DAY_US * 3 // 4
        await housekeeping.run_round()
        assert (await running.api("GET", f"/api/sessions/{waits}")).json()["reward_state"] == "expired"
        machine.passed_us = 2 * DAY_US
        await housekeeping.run_round()
        assert (await running.api("GET", "/api/sessions")).json()["sessions"] == []


def test_a_store_that_is_opened_after_a_boot_goes_on_behind_its_last_row(
    path: Path, machine: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(SqliteStore(path)) as store:
        store.write([rows.session("a"), rows.session("b"), Reward("a", 5, 1.0)])
    machine.set_us = -9 * DAY_US
    monkeypatch.setattr(arrival, "boot", lambda: "another boot")
    with closing(SqliteStore(path)) as store:
        store.write([Reward("a", 4, 2.0), SessionClosed("a", 4)])
        found = store.session("a")
        assert found is not None and found.reward == 2.0
        assert store.prunable_sessions(idle_s=60, everything=True, limit=9) == []
        machine.passed_us = DAY_US
        assert store.prunable_sessions(idle_s=3600, everything=True, limit=9) == ["a", "b"]
    assert rows.query(path, "SELECT boot FROM clock") == [("another boot",)]


def test_two_processes_tell_one_time(path: Path) -> None:
    with closing(SqliteStore(path)) as one, closing(SqliteStore(path)) as other:
        one.write([rows.session("s")])
        for turn in range(6):
            (one if turn % 2 else other).write([Reward("s", 1, float(turn))])
        stamps = rows.query(path, "SELECT arrival FROM reward ORDER BY id")
        assert stamps == sorted(set(stamps)) and [row.reward for row in one.rewards("s")] == list(range(6))


def test_the_last_statement_about_a_version_counts_after_a_restart(store: SqliteStore) -> None:
    store.write([Setting("version", "v2", {"trusted": False}, 9)])
    store.write([Setting("server", "s", {"trusted": False}, 7)])
    store.write([Setting("version", "v1", {"trusted": True}, 5)])
    told = store.settings_as_they_came(("version", "server"))
    assert [one.name for one in told] == ["v2", "s", "v1"]


def test_the_steady_clock_runs_on_where_the_wall_clock_is_set(machine: Clock) -> None:
    before = clock.steady_us()
    machine.set_us = -DAY_US
    assert clock.steady_us() >= before > clock.now_us()
