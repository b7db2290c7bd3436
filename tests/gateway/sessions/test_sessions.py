"""Who is a session: by path, header, key or inference; open, strict and closed ones; keys of all kinds."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path
from typing import Any

import httpx
import pytest

from crosswind.gateway.client import AsyncClient, GatewayError
from crosswind.gateway.http.auth import Caller
from crosswind.testing.replies import plain
from tests.gateway.dialogue import PROFILE, body, history, user
from tests.gateway.servers import Running, gateway, peak_memory, upstream
from tests.gateway.sessions.peers import workers
from tests.gateway.trajectory.rows import locked

HELLO = body(user("hello there"))


async def test_the_path_goes_before_the_header_and_the_header_before_inference(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app) as running:
        await running.chat(HELLO, "by-path", x_crosswind_session="by-header")
        await running.chat(HELLO, x_crosswind_session="by-header")
        await running.chat(HELLO)
        await running.chat(body(*history(2)))
        await running.chat(HELLO)
        await running.chat(HELLO, "with%20space")
        found = {one["id"]: one for one in await running.sessions()}
        assert (found["by-path"]["identity"], found["by-header"]["identity"]) == ("path", "header")
        assert "with space" in found
        inferred = [one for one in found.values() if one["identity"] == "inferred"]
        assert len(inferred) == 3, "two that began, and one that had begun elsewhere"
        assert all(one["confidence"] < 1 for one in inferred)
        assert sum(one["quarantine"] is not None for one in inferred) == 1
        assert found["by-path"]["quarantine"] is None


async def test_a_session_key_finds_its_session_even_after_a_restart_and_never_reaches_the_upstream(
    tmp_path: Path,
) -> None:
    async with upstream() as app:
        async with gateway(tmp_path, app) as running:
            opened = (await running.api("POST", "/api/sessions", {"task_id": "t"})).json()
            assert opened["api_key"].startswith("cw-")
            assert opened["base_url"] == f"{running.data}/s/{opened['id']}/v1"
            assert opened["anthropic_base_url"] == f"{running.data}/s/{opened['id']}"
            key = {"authorization": f"Bearer {opened['api_key']}"}
            await running.chat(HELLO, **key)
        async with gateway(tmp_path, app, upstream_key="sk-of-the-upstream") as running:
            await running.chat(HELLO, **key)
            await running.http.get(f"{running.data}/v1/models", headers=key)
            await running.chat(HELLO, opened["id"], x_api_key=opened["api_key"])
            stored = await running.trajectory(opened["id"])
            assert [turn["index"] for turn in stored["turns"]] == [0, 1, 2]
        assert "authorization" not in app.requests[0].headers
        assert all(seen.headers["authorization"] == "Bearer sk-of-the-upstream" for seen in app.requests[1:])
        assert not [seen for seen in app.requests if opened["api_key"] in repr(seen)]


async def test_wrong_keys_are_refused_in_shape(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app) as running:
        one = (await running.api("POST", "/api/sessions", {})).json()
        two = (await running.api("POST", "/api/sessions", {})).json()
        for answer in (
            await running.chat(HELLO, authorization="Bearer cw-never-issued"),
            await running.chat(HELLO, one["id"], authorization=f"Bearer {two['api_key']}"),
            await running.http.get(f"{running.data}/v1/models", headers={"api-key": "cw-never-issued"}),
        ):
            assert (answer.status_code, answer.json()["error"]["code"]) == (401, "invalid_api_key")
        assert app.requests == []


async def test_keys_of_ours_are_checked_and_replaced(tmp_path: Path) -> None:
    profile = tmp_path / "flaky.yaml"
    profile.write_text(PROFILE)
    keys = [{"key": "our-key-for-team-a", "tenant": "a", "profile": str(profile)}, {"key": "our-key-for-b"}]
    async with (
        upstream() as app,
        gateway(tmp_path, app, auth="keys", keys=keys, upstream_key="sk-up") as running,
    ):
        assert (await running.chat(HELLO)).status_code == 401
        assert (await running.chat(HELLO, authorization="Bearer wrong")).status_code == 401
        await running.chat(HELLO, "a", authorization="Bearer our-key-for-team-a")
        await running.chat(HELLO, "b", authorization="Bearer our-key-for-b")
        assert [seen.headers["authorization"] for seen in app.requests] == ["Bearer sk-up"] * 2
        found = {one["id"]: one for one in await running.sessions()}
        assert (found["a"]["tenant"], found["a"]["arm"]) == ("a", "noisy")
        assert (found["b"]["tenant"], found["b"]["arm"]) == ("default", "clean")


async def test_the_clients_own_credential_passes_through(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, upstream_key="sk-up") as running:
        await running.chat(HELLO, authorization="Bearer sk-of-the-client")
        assert app.requests[0].headers["authorization"] == "Bearer sk-of-the-client"


async def test_strict_sessions_must_have_been_opened(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, sessions="strict") as running:
        for session in ("unseen", None):
            refused = await running.chat(HELLO, session)
            assert (refused.status_code, refused.json()["error"]["code"]) == (404, "session_not_found")
            assert "POST /api/sessions" in refused.json()["error"]["message"]
        opened = (await running.api("POST", "/api/sessions", {})).json()
        assert (await running.chat(HELLO, opened["id"])).status_code == 200
        assert (await running.chat(HELLO, authorization=f"Bearer {opened['api_key']}")).status_code == 200
        assert len(app.requests) == 2


async def test_a_closed_session_takes_no_more_turns_but_rewards(tmp_path: Path) -> None:
    async with upstream() as app:
        async with gateway(tmp_path, app) as running:
            opened = (await running.api("POST", "/api/sessions", {})).json()["id"]
            await running.chat(HELLO, opened)
            assert (await running.api("POST", f"/api/sessions/{opened}/close")).status_code == 200
            assert (await running.chat(HELLO, opened)).status_code == 409
            assert (await running.api("POST", f"/api/sessions/{opened}/close")).status_code == 200
        async with gateway(tmp_path, app) as running:
            refused = await running.chat(HELLO, opened)
            assert (refused.status_code, refused.json()["error"]["code"]) == (409, "session_closed")
            listing = await running.http.get(f"{running.data}/s/{opened}/v1/models")
            assert listing.status_code == 409
            late = await running.api(
                "POST", f"/api/sessions/{opened}/reward", {"reward": 0.5, "components": {"db": 1}}
            )
            assert late.status_code == 200
            session = (await running.api("GET", f"/api/sessions/{opened}")).json()
            assert (session["status"], session["reward"], session["reward_components"]) == (
                "closed",
                0.5,
                {"db": 1},
            )
            assert session["created"] < session["closed"] and session["closed"].endswith("Z")


async def test_headers_steer_only_where_the_operator_allows_and_within_the_cap(tmp_path: Path) -> None:
    headers = {
        "x_crosswind_profile": "noisyagent",
        "x_crosswind_seed": "5",
        "x_crosswind_task": "t",
        "x_crosswind_group": "g",
    }
    async with upstream() as app:
        (tmp_path / "a").mkdir()
        async with gateway(tmp_path / "a", app) as running:
            await running.chat(HELLO, "ignored", **headers)
            (session,) = await running.sessions()
            assert (session["plan"]["profile"], session["plan"]["seed"], session["task_id"]) == (
                "off",
                7,
                None,
            )
        cap = {"profiles": ["noisyagent"]}
        async with gateway(tmp_path, app, steering=True, steering_cap=cap) as running:
            await running.chat(HELLO, "steered", **headers)
            refused = await running.chat(HELLO, "beyond", x_crosswind_profile="everything")
            assert (refused.status_code, refused.json()["error"]["code"]) == (403, "profile_not_allowed")
            assert (await running.chat(HELLO, "odd", x_crosswind_seed="x")).status_code == 400
            (session,) = await running.sessions()
            assert (session["plan"]["profile"], session["plan"]["seed"]) == ("noisyagent", 5)
            assert (session["task_id"], session["group_id"]) == ("t", "g")


async def test_sessions_that_leave_memory_come_back_from_the_store(tmp_path: Path) -> None:
    async with (
        upstream() as app,
        gateway(tmp_path, app, noise=PROFILE, limits={"live_sessions": 2}) as running,
    ):
        for turn in range(1, 4):
            for name in ("one", "two", "three", "four"):
                await running.chat(body(*history(turn)), name)
                await running.sessions()
        assert running.gateway.sessions.live() <= 3
        for at, name in enumerate(("one", "two", "three", "four")):
            own = app.requests[at::4]
            assert own[1].texts()[:1] == own[0].texts() and own[2].texts()[:3] == own[1].texts()
            stored = await running.trajectory(name)
            assert [(turn["index"], turn["parent"]) for turn in stored["turns"]] == [
                (0, None),
                (1, 0),
                (2, 1),
            ]


@pytest.mark.parametrize("session", ["a" * 201, "%00", "%2F"])
async def test_ids_that_cannot_be_are_refused(tmp_path: Path, session: str) -> None:
    async with upstream() as app, gateway(tmp_path, app) as running:
        refused = await running.chat(HELLO, session)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "invalid_session_id")


async def test_routes_that_are_none_and_bodies_that_are_too_large(tmp_path: Path) -> None:
    async with (
        upstream(plain(b"{}")) as app,
        gateway(tmp_path, app, limits={"body": 1000, "header": 2000}) as running,
    ):
        assert (await running.http.get(f"{running.data}/nowhere")).json()["error"]["code"] == "not_found"
        assert (await running.http.get(f"{running.data}/healthz")).json() == {"status": "ok"}
        large = await running.chat(b"x" * 1001)
        assert (large.status_code, large.json()["error"]["code"]) == (413, "body_too_large")

        async def parts() -> Any:
            for _ in range(3):
                yield b"x" * 500

        large = await running.http.post(f"{running.data}/v1/chat/completions", content=parts())
        assert large.status_code == 413
        headers = await running.chat(HELLO, x_long="y" * 2000)
        assert (headers.status_code, headers.json()["error"]["code"]) == (431, "headers_too_large")
        assert app.requests == []


async def test_a_session_stays_in_memory_while_its_rows_wait_for_the_store(tmp_path: Path) -> None:
    """Nothing waits under `relaxed`, so a session's own ledger may be the only one for a while."""
    limits = {"live_sessions": 1}
    async with (
        upstream() as app,
        gateway(tmp_path, app, noise=PROFILE, durability="relaxed", limits=limits) as running,
    ):
        with locked(tmp_path / "store.db"):
            for turn in range(1, 4):
                for name in ("one", "two", "three"):
                    assert (await running.chat(body(*history(turn)), name)).status_code == 200
            assert running.gateway.sessions.live() == 3
        await running.flush()
        await running.chat(body(*history(1)), "four")
        assert running.gateway.sessions.live() == 1
        for at in range(3):
            stored = await running.trajectory(("one", "two", "three")[at])
            assert [turn["index"] for turn in stored["turns"]] == [0, 1, 2]
            own = app.requests[at:9:3]
            assert own[2].texts()[:3] == own[1].texts() and own[1].texts()[:1] == own[0].texts()


async def test_sessions_leave_memory_when_their_histories_grow_too_large(tmp_path: Path) -> None:
    limits = {"live_bytes": 100_000}
    async with upstream() as app, gateway(tmp_path, app, limits=limits) as running:
        for name in ("large-1", "large-2", "large-3"):
            await running.chat(body(user("x" * 30_000)), name)
        assert running.gateway.sessions.live() == 1
        await running.chat(body(user("small")), "small")
        assert running.gateway.sessions.live() == 2
        stored = await running.trajectory("large-1")
        assert [turn["index"] for turn in stored["turns"]] == [0]


@pytest.mark.parametrize("turns", [1, 4])
async def test_sessions_are_weighed_as_what_they_take(tmp_path: Path, turns: int) -> None:
    """Else `live_bytes` bounds nothing: short conversations took twice to three times what was counted."""
    async with upstream() as app, gateway(tmp_path, app, profile="noisyagent") as running:
        sessions = running.gateway.sessions
        with peak_memory():
            for number in range(40):
                for length in range(1, turns + 1):
                    await running.chat(body(*history(length)), f"s{number}")
            await running.flush()
            gc.collect()
            counted, before = sessions.bytes(), tracemalloc.get_traced_memory()[0]
            sessions.forget_all()
            gc.collect()
            taken = before - tracemalloc.get_traced_memory()[0]
    assert 0.6 * counted < taken < 1.2 * counted, (taken // 40, counted // 40)


async def test_a_fixed_key_goes_on_from_session_to_session(tmp_path: Path) -> None:
    key = "cw-of-a-long-lived-agent-1"
    async with upstream() as app, gateway(tmp_path, app) as running, AsyncClient(running.control) as client:
        for task in ("first", "second"):
            opened = await client.open_session(task_id=task, api_key=key)
            assert opened.api_key == key
            for text in ("a", "b"):
                url = f"{running.data}/v1/chat/completions"
                headers = {"authorization": f"Bearer {key}"}
                answered = await running.http.post(url, json=body(user(text)), headers=headers)
                assert answered.status_code == 200
        found = {one["task_id"]: one for one in await running.sessions()}
        assert (found["first"]["status"], found["second"]["status"]) == ("closed", "open")
        for one in found.values():
            assert len((await running.trajectory(one["id"]))["turns"]) == 2
        with pytest.raises(GatewayError, match="api_key"):
            await client.open_session(api_key="too-short")
        assert not [seen for seen in app.requests if key in repr(seen)]


async def test_a_history_that_is_spelled_otherwise_goes_on_from_its_turn(tmp_path: Path) -> None:
    def spelled(messages: list[dict[str, Any]], way: int) -> list[dict[str, Any]]:
        if way == 0:
            return messages
        marker = {"cache_control": {"type": "ephemeral"}} if way == 2 else {}
        return [
            one | {"content": [{"type": "text", "text": one["content"], **marker}]}
            if isinstance(one["content"], str)
            else one
            for one in messages
        ]

    async with upstream() as app, gateway(tmp_path, app) as running:
        for number in range(1, 5):
            await running.chat(body(*spelled(history(number), number % 3)), "one")
        await running.chat(body(*history(1), user("something else")), "one")
        turns = (await running.trajectory("one"))["turns"]
        assert [turn["parent"] for turn in turns] == [None, 0, 1, 2, 0]
        assert len({turn["branch"] for turn in turns[:4]}) == 1 and turns[4]["branch"] != turns[0]["branch"]


KEYS: Any = [{"key": "the-key-of-team-a", "tenant": "a"}, {"key": "the-key-of-team-b", "tenant": "b"}]


def bearer(team: str) -> dict[str, str]:
    return {"authorization": f"Bearer the-key-of-team-{team}"}


async def ask(running: Running, path: str, team: str, **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await running.http.post(
        running.data + path, json=body(user("Where is my order?")), headers=bearer(team) | named
    )


async def refused_to_b(one: Running, other: Running) -> None:
    chat = "/v1/chat/completions"
    assert (await ask(one, f"/s/ours{chat}", "a")).is_success
    by_path = await ask(other, f"/s/ours{chat}", "b")
    assert (by_path.status_code, by_path.json()["error"]["code"]) == (404, "session_not_found")
    assert (await ask(other, chat, "b", x_crosswind_session="ours")).status_code == 404
    stored = await other.http.get(f"{other.data}/s/ours/v1/responses/resp_1", headers=bearer("b"))
    assert stored.status_code == 404
    in_its_shape = (await ask(other, "/s/ours/v1/messages", "b")).json()
    assert (in_its_shape["type"], in_its_shape["error"]["type"]) == ("error", "not_found_error")
    assert (await ask(other, f"/s/ours{chat}", "a")).is_success
    assert len((await one.trajectory("ours"))["turns"]) == 2


async def test_a_session_is_its_tenants(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, auth="keys", keys=KEYS) as running:
        await refused_to_b(running, running)
        assert len({seen.body for seen in app.requests}) == 1 and len(app.requests) == 2


async def test_a_refusal_does_not_tell_whether_there_is_or_was_such_a_session(tmp_path: Path) -> None:
    async with (
        upstream() as app,
        gateway(tmp_path, app, auth="keys", keys=KEYS, sessions="strict") as running,
    ):
        opened = [
            (await running.api("POST", "/api/sessions", {"tenant": "a"})).json()["id"] for _ in range(2)
        ]
        assert (await running.api("DELETE", f"/api/sessions/{opened[1]}")).is_success
        told = set()
        for session in (*opened, "never-opened"):
            answer = await ask(running, f"/s/{session}/v1/chat/completions", "b")
            told.add((answer.status_code, answer.text.replace(session, "ID")))
        assert len(told) == 1, told


async def test_on_every_worker(tmp_path: Path) -> None:
    async with upstream() as app, workers(tmp_path, app, auth="keys", keys=KEYS) as (one, other):
        await refused_to_b(one, other)


async def test_a_session_that_the_control_plane_opened_is_its_tenants(tmp_path: Path) -> None:
    """And of the tenant of keys that name none, where it was opened for none."""
    keys = [*KEYS, {"key": "the-key-of-team-c"}]
    async with upstream() as app, gateway(tmp_path, app, auth="keys", keys=keys) as running:
        for asked, owner in (({"tenant": "a"}, "a"), ({}, "c")):
            opened = (await running.api("POST", "/api/sessions", asked)).json()
            path = f"/s/{opened['id']}/v1/chat/completions"
            for team in ("a", "b", "c"):
                answer = await ask(running, path, team)
                assert answer.status_code == (200 if team == owner else 404), (asked, team)
                if team != owner:
                    assert answer.json()["error"]["code"] == "session_not_found"
            by_key = {"authorization": f"Bearer {opened['api_key']}"}
            assert (
                await running.http.post(running.data + path, json=body(user("Hi")), headers=by_key)
            ).is_success


async def test_names_that_would_steer_a_terminal_are_refused(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, steering=True) as running:
        for name in ("a%C2%9B31mb", "a%1B%5B31m", "a%0Ab", "a%E2%80%A8b"):
            refused = await running.http.post(f"{running.data}/s/{name}/v1/chat/completions", content=b"{}")
            assert (refused.status_code, refused.json()["error"]["code"]) == (400, "invalid_session_id")
        for header, code in (
            ("session", "invalid_session_id"),
            ("task", "invalid_name"),
            ("group", "invalid_name"),
        ):
            raw = {f"x-crosswind-{header}": b"a\x9b31mb", "content-type": b"application/json"}
            url = f"{running.data}/v1/chat/completions"
            refused = await running.http.post(url, json=body(user("Hi")), headers=raw)  # type: ignore[arg-type]
            assert (refused.status_code, refused.json()["error"]["code"]) == (400, code)
        assert app.requests == []
        spelled = {"x-crosswind-session": "Reise-À".encode(), "content-type": b"application/json"}
        taken = await running.http.post(url, json=body(user("Hi")), headers=spelled)  # type: ignore[arg-type]
        assert taken.is_success


async def test_without_keys_a_tenants_session_goes_on_by_what_was_delivered(tmp_path: Path) -> None:
    """Callers have no tenant then, so that it can't keep a session from being found again."""
    async with upstream() as app, gateway(tmp_path, app) as running:
        opened = (await running.api("POST", "/api/sessions", {"tenant": "a"})).json()["id"]
        assert (await running.chat({**body(*history(1)), "store": True}, opened)).is_success
        await running.flush()
        owner = await running.gateway.sessions.of_response("chatcmpl-1", Caller())
        assert owner == opened
