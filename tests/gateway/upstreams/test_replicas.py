"""Replicas: sessions stay on one, failures move them on, and nothing is sent twice that may be processed."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from crosswind.gateway.config.upstream import Health
from crosswind.gateway.upstreams.probing import probe_replica
from crosswind.gateway.upstreams.replicas import Replica, Replicas, ReplicaState
from crosswind.testing.replies import CUT, JSON, SSE, Part, ReceivedRequest, plain
from tests.gateway.dialogue import body, user
from tests.gateway.servers import delta, event, gateway, upstream

BODY = body(user("hi"))


def closed_port() -> str:
    """An address where nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}"


@given(st.lists(st.text(min_size=1), min_size=1, max_size=50, unique=True), st.integers(2, 6), st.data())
def test_only_the_sessions_of_a_replica_that_goes_move(
    sessions: list[str], count: int, data: st.DataObject
) -> None:
    replicas = Replicas([f"http://replica-{number}" for number in range(count)], Health(failures=1))
    before = {session: replicas.order(session)[0] for session in sessions}
    gone = data.draw(st.sampled_from(replicas.members))
    gone.record_failure("upstream_unreachable")
    for session in sessions:
        order = replicas.order(session)
        assert set(order) == set(replicas.members) and order[-1] is gone
        assert order[0] is before[session] or before[session] is gone
    gone.record_success()
    assert {session: replicas.order(session)[0] for session in sessions} == before


def test_sessions_spread_over_all_replicas() -> None:
    replicas = Replicas(["http://a", "http://b", "http://c"], Health())
    for key in ([f"s{number}" for number in range(3000)], [None] * 3000):
        shares = [sum(replicas.order(one)[0] is replica for one in key) for replica in replicas.members]
        assert all(850 < share < 1150 for share in shares)


def test_a_replica_is_left_out_for_longer_each_time() -> None:
    now = 100.0
    health = Health(failures=2, eject=5, eject_longest=12)
    replica = Replica("http://a", health, clock=lambda: now)
    replica.record_failure("status_500")
    assert replica.up
    for pause in (5, 10, 12, 12):
        replica.record_failure("status_500")
        now += pause - 0.01
        replica.record_failure("status_500")
        assert not replica.up
        now += 0.01
        assert replica.up
    replica.record_success()
    assert replica.state == ReplicaState(up=True, failures=0, last_error=None)
    replica.record_failure("status_500")
    assert replica.state == ReplicaState(up=True, failures=1, last_error="status_500")


@pytest.mark.parametrize(
    "bases,told",
    [
        (["http://a", "http://b"], "a replica is ejected"),
        (["http://a"], "the only replica fails; requests still go to it"),
    ],
)
def test_the_log_says_once_that_a_replica_fails_and_that_it_answers_again(
    bases: list[str], told: str
) -> None:
    replicas = Replicas(bases, Health(failures=2, eject=3600))
    replica = replicas.members[0]
    with capture_logs() as logs:
        replica.record_failure("status_500")
        replica.record_success()
        assert logs == []
        for _ in range(4):
            replica.record_failure("status_500")
        replica.record_success()
    assert [one["event"] for one in logs] == [told, "a replica answers again"]
    assert replicas.order(None)


async def test_a_session_stays_on_its_replica_and_moves_when_that_goes(tmp_path: Path) -> None:
    async with upstream() as one, upstream() as two:
        dead = closed_port()
        entry = {"name": "pool", "replicas": [f"{base}/v1" for base in (one.url, two.url, dead)]}
        health = {"failures": 1, "eject": 3600, "eject_longest": 3600}
        async with gateway(tmp_path, one, upstream=None, upstreams=[entry], health=health) as running:
            (known,) = running.gateway.upstreams
            bases = [f"{base}/v1" for base in (one.url, two.url, dead)]
            belongs = {f"s{number}": known.replicas.order(f"s{number}")[0].base for number in range(200)}
            names = [name for base in bases for name in [one for one in belongs if belongs[one] == base][:4]]
            firsts = {name: belongs[name] for name in names}
            assert len(names) == 12
            moved = next(name for name in names if firsts[name].startswith(dead))
            for name in [moved, *names]:
                assert (await running.chat(BODY, name)).status_code == 200
            (first, *_) = (await running.trajectory(moved))["turns"]
            assert [(note["kind"], note["replica"], note["outcome"]) for note in first["inner"]] == [
                ("attempt", f"{dead}/v1", "upstream_unreachable")
            ]
            assert len(one.requests) + len(two.requests) == 13
            for app in (one, two):
                kept = sum(base.startswith(app.url) for base in firsts.values())
                assert len(app.requests) >= kept
            ready = (await running.api("GET", "/readyz")).json()
            assert {base: state["up"] for base, state in ready["upstreams"]["pool"].items()} == {
                f"{one.url}/v1": True,
                f"{two.url}/v1": True,
                f"{dead}/v1": False,
            }
            metrics = (await running.api("GET", "/metrics")).text
            assert f'crosswind_upstream_up{{replica="{dead}/v1",upstream="pool"}} 0.0' in metrics
            assert f'crosswind_upstream_up{{replica="{one.url}/v1",upstream="pool"}} 1.0' in metrics


async def test_answers_are_tried_again_only_where_the_operator_lists_them(tmp_path: Path) -> None:
    busy = plain({"error": {"message": "busy"}}, 503, (b"retry-after", b"0"))
    forever = plain({"error": {"message": "busy"}}, 503, (b"retry-after", b"9999"))
    without = plain({"error": {"message": "busy"}}, 503)
    good = plain({"choices": []})
    async with upstream(busy, good) as app:
        async with gateway(tmp_path, app) as running:
            assert (await running.chat(BODY, "a")).status_code == 503
        async with gateway(tmp_path, app, retries={"on_status": [503]}) as running:
            for replies, status, requests in (
                ([busy, busy, good], 200, 3),
                ([busy, busy, busy, good], 503, 3),
                ([forever, good], 503, 1),
                ([without, good], 503, 1),
            ):
                app.steps[:], app.requests[:] = replies, []
                assert (await running.chat(BODY, "b")).status_code == status
                assert len(app.requests) == requests
            outcomes = [
                [note["outcome"] for note in turn["inner"]]
                for turn in (await running.trajectory("b"))["turns"]
            ]
            assert outcomes == [["status_503"] * 2, ["status_503"] * 2, [], []]


async def test_what_may_have_been_processed_is_never_repeated(tmp_path: Path) -> None:
    async def broken(_: ReceivedRequest) -> AsyncIterator[Part]:
        yield 200, [JSON, (b"content-length", b"100")]
        yield b"{"
        yield CUT

    async with upstream(broken) as one, upstream(broken) as two:
        entry = {"name": "pool", "replicas": [f"{one.url}/v1", f"{two.url}/v1"]}
        async with gateway(tmp_path, one, upstream=None, upstreams=[entry]) as running:
            assert (await running.chat(BODY, "s")).status_code == 502
            assert len(one.requests) + len(two.requests) == 1


async def test_each_time_out_has_its_name_and_may_be_an_upstreams_own(tmp_path: Path) -> None:
    never = asyncio.Event()

    async def stall(request: ReceivedRequest) -> AsyncIterator[Part]:
        # By the model, since on a busy machine the first request may never come.
        if request.json["model"] != "a":
            yield 200, [SSE]
            yield event([delta("a")])
        await never.wait()

    async with upstream(stall) as app, upstream() as rest:
        several = [
            {"name": "a", "base": f"{app.url}/v1", "models": ["a"], "timeouts": {"first_byte": 0.05}},
            {"name": "b", "base": f"{app.url}/v1", "models": ["b"], "timeouts": {"between_chunks": 0.05}},
            {"name": "c", "base": f"{app.url}/v1", "models": ["c"], "timeouts": {"total": 0.5}},
        ]
        async with gateway(tmp_path, rest, upstreams=several) as running:
            given = await running.chat({**BODY, "model": "a"}, "a")
            assert (given.status_code, given.json()["error"]["code"]) == (504, "upstream_timeout")
            assert "0.05 s (timeouts.first_byte)" in given.json()["error"]["message"]
            for model, said in (("b", "timeouts.between_chunks"), ("c", "timeouts.total")):
                with suppress(httpx.RemoteProtocolError):
                    # On a busy machine the time may be over before the answer's head is here.
                    late = await running.chat({**BODY, "model": model, "stream": True}, model)
                    assert (late.status_code, model) == (504, "c")
                (turn,) = (await running.trajectory(model))["turns"]
                assert turn["error"]["source"] == "upstream" and said in turn["error"]["message"]
            assert (await running.chat(BODY, "rest")).status_code == 200


async def test_waiting_for_a_connection_has_a_time_out_of_its_own(tmp_path: Path) -> None:
    reached, go = asyncio.Event(), asyncio.Event()

    async def held(_: ReceivedRequest) -> AsyncIterator[Part]:
        reached.set()
        await go.wait()
        yield 200, [JSON]
        yield b"{}"

    limits = {"limits": {"connections": 1}, "timeouts": {"pool_wait": 0.05}}
    async with upstream(held) as app, gateway(tmp_path, app, **limits) as running:
        first = asyncio.create_task(running.chat(BODY, "a"))
        await reached.wait()
        second = await running.chat(BODY, "b")
        assert (second.status_code, second.json()["error"]["code"]) == (504, "upstream_pool_wait")
        go.set()
        assert (await first).status_code == 200
        assert (await running.chat(BODY, "b")).status_code == 200
        assert all(replica.up for one in running.gateway.upstreams for replica in one.replicas.members)


async def test_a_connection_that_is_never_accepted_times_out_by_name(tmp_path: Path) -> None:
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for one in (first, second):
            # The queue of connections that wait to be accepted is full after these.
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        url = f"http://127.0.0.1:{full.getsockname()[1]}"
        patience = {"timeouts": {"connect": 0.05}, "retries": {"attempts": 0}}
        async with gateway(tmp_path, url, **patience) as running:
            given = await running.chat(BODY, "a")
            assert (given.status_code, given.json()["error"]["code"]) == (504, "upstream_connect_timeout")


async def test_a_probe_says_whether_a_replica_is_well(tmp_path: Path) -> None:
    async with upstream(plain({}), plain({}, 500), plain({}, 401)) as app:
        replicas = [f"{app.url}/v1", f"{closed_port()}/v1"]
        entry = {"name": "pool", "replicas": replicas, "key": "sk-own", "health": {"failures": 1}}
        async with gateway(tmp_path, app, upstream=None, upstreams=[entry]) as running:
            (known,) = running.gateway.upstreams
            well, dead = known.replicas.members
            for up in (True, False, True):
                await probe_replica(known, well, "/models")
                assert well.up is up
            await probe_replica(known, dead, "/models")
            assert not dead.up and dead.last_error == "upstream_unreachable"
        request = app.requests[0]
        assert (request.path, request.headers["authorization"]) == ("/v1/models", "Bearer sk-own")


async def test_replicas_are_asked_by_themselves_where_a_path_is_named(tmp_path: Path) -> None:
    asked = asyncio.Event()

    async def well(_: ReceivedRequest) -> AsyncIterator[Part]:
        asked.set()
        yield 200, [JSON]
        yield b"{}"

    async with upstream(well) as app, gateway(tmp_path, app, health={"probe": "/health"}):
        await asyncio.wait_for(asked.wait(), 60)
        assert app.requests[0].path == "/v1/health"
