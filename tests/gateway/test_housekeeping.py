"""A gateway keeps its store within limits, and deletes what it is told to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crosswind.gateway.sessions.profiles import Profiles
from crosswind.gateway.trajectory.record import Reward, RewardState, SessionClosed
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.injectors.engine.plan import Assignment, Seed, make_plan
from tests.gateway.dialogue import body, user
from tests.gateway.servers import Running, gateway, settings, upstream, wait_until
from tests.gateway.trajectory.rows import forget_arrival, session, talk

PLAN = make_plan(Profiles().get("off"), Seed(0, "s"), Assignment("clean")).to_json()


def old_store(tmp_path: Path) -> SqliteStore:
    """The store that the gateway of these tests will use, with sessions of long ago."""
    store = SqliteStore(settings(tmp_path, "http://127.0.0.1:1/v1").store.removeprefix("sqlite:///"))
    store.write([*talk("done", 90), Reward("done", 5, 1.0), SessionClosed("done", 5)])
    store.write([session("waiting", created_us=5, plan=PLAN), SessionClosed("waiting", 6)])
    store.write([session("open", created_us=5)])
    forget_arrival(store.path)
    return store


def names(running: Running) -> set[str]:
    return {one.id for one in running.gateway.store.sessions()}


async def metric(running: Running, name: str) -> float:
    text = (await running.api("GET", "/metrics")).text
    return sum(float(line.split()[1]) for line in text.splitlines() if line.split()[0] == name)


async def test_what_is_too_old_goes_by_itself_and_the_unfinished_stays(tmp_path: Path) -> None:
    old_store(tmp_path).close()
    async with upstream() as app, gateway(tmp_path, app, retention={"age": "30d"}) as running:
        assert (await running.chat(body(user("Hello")), "s")).status_code == 200
        await wait_until(lambda: names(running) == {"waiting", "open", "s"})
        assert running.gateway.store.session("done") is None
        counted = running.gateway.metrics.registry
        await wait_until(lambda: counted.get_sample_value("crosswind_sessions_pruned_total") == 1)
        assert not running.gateway.store.sweep(), "its content went with it"
        assert running.gateway.store.check().whole


async def test_nothing_goes_by_itself_unless_configured(tmp_path: Path) -> None:
    old_store(tmp_path).close()
    async with upstream() as app, gateway(tmp_path, app) as running:
        housekeeping = running.gateway._housekeeping
        assert housekeeping is not None
        await housekeeping.run_round()
        assert names(running) == {"done", "waiting", "open"}
        assert {one.reward_state for one in running.gateway.store.sessions()} == {
            RewardState.GIVEN,
            RewardState.PENDING,
        }


async def test_the_oldest_go_when_the_store_is_too_large(tmp_path: Path) -> None:
    store = old_store(tmp_path)
    limits = {"size": store.used_bytes() - 1, "all": True, "every": "1h"}
    store.close()
    async with upstream() as app, gateway(tmp_path, app, retention=limits) as running:
        await wait_until(lambda: running.gateway.store.used_bytes() <= limits["size"])
        assert running.gateway.store.check().whole


async def test_a_reward_that_does_not_come_expires_and_counts_when_it_comes_late(tmp_path: Path) -> None:
    old_store(tmp_path).close()
    async with upstream() as app, gateway(tmp_path, app, reward_expiry="7d") as running:
        opened = (await running.api("POST", "/api/sessions", {})).json()["id"]
        housekeeping = running.gateway._housekeeping
        assert housekeeping is not None
        await housekeeping.run_round()
        found = (await running.api("GET", "/api/sessions/waiting")).json()
        assert (found["reward_state"], found["reward"]) == ("expired", None), "never 0"
        assert (await running.api("GET", f"/api/sessions/{opened}")).json()["reward_state"] == "pending"
        assert await metric(running, "crosswind_rewards_expired_total") == 2
        assert (await running.api("POST", "/api/sessions/waiting/reward", {"reward": 0.5})).status_code == 200
        await housekeeping.run_round()
        late = (await running.api("GET", "/api/sessions/waiting")).json()
        assert (late["reward_state"], late["reward"]) == ("given", 0.5)
        corrected = {"reward": 0.25, "source": "judge"}
        assert (await running.api("POST", "/api/sessions/waiting/reward", corrected)).status_code == 200
        assert (await running.api("GET", "/api/sessions/waiting")).json()["reward"] == 0.25
        assert (await running.api("GET", "/api/sessions/done")).json()["reward"] == 1.0


async def test_sessions_go_by_label_and_by_tenant_with_what_they_said(running: Running) -> None:
    ids = []
    for labels in ({"team": "a", "n": 1}, {"team": "a"}, {"team": "b"}):
        opened = (await running.api("POST", "/api/sessions", {"labels": labels})).json()["id"]
        assert (await running.chat(body(user(f"secret of {opened}")), opened)).status_code == 200
        ids.append(opened)
    await running.flush()
    store = running.gateway.store
    store.write([session("elsewhere", tenant="t")])
    gone = await running.api("DELETE", "/api/sessions?label=team%3Da")
    assert (gone.status_code, gone.json()) == (200, {"deleted": 2})
    assert (await running.api("DELETE", "/api/sessions?tenant=t")).json() == {"deleted": 1}
    assert (await running.api("DELETE", "/api/sessions?tenant=t")).json() == {"deleted": 0}
    assert [one.id for one in store.sessions()] == [ids[2]]
    assert [one.value["session"] for one in store.settings("session_key")] == [ids[2]]
    assert store.check().whole


@pytest.mark.parametrize("query", ["", "?label=team", "?label==x"])
async def test_a_deletion_of_everything_has_to_be_meant(running: Running, query: str) -> None:
    refused: Any = await running.api("DELETE", f"/api/sessions{query}")
    assert refused.status_code == 400 and "label=key=value" in refused.json()["error"]["message"]
