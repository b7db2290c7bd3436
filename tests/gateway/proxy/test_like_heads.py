"""What heads have in common is found out once. What differs counts for each request, and for each answer."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from crosswind.testing.replies import plain
from tests.gateway.dialogue import body, user
from tests.gateway.servers import answer, connection, gateway, upstream

BODY = body(user("Where is order W17?"))


async def test_each_request_has_its_own_session_and_task(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, steering=True) as running:
        for name in ("one", "two", "three"):
            got = await running.chat(BODY, X_Crosswind_Session=name, X_Crosswind_Task=f"task of {name}")
            assert got.status_code == 200
        stored = {one["id"]: one["task_id"] for one in await running.sessions()}
    assert stored == {name: f"task of {name}" for name in ("one", "two", "three")}


@pytest.mark.parametrize(
    ("name", "code"), [("x" * 201, "invalid_session_id"), ("sk-of-the-client-itself", "secret_in_name")]
)
async def test_a_session_name_is_checked_behind_a_good_one(tmp_path: Path, name: str, code: str) -> None:
    credential = {"authorization": "Bearer sk-of-the-client-itself"}
    async with upstream() as app, gateway(tmp_path, app) as running:
        assert (await running.chat(BODY, X_Crosswind_Session="good", **credential)).status_code == 200
        refused = await running.chat(BODY, X_Crosswind_Session=name, **credential)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, code)
        assert len(app.requests) == 1


async def test_each_client_is_known_by_its_own_credential(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, auth="keys", keys=[{"key": "ours"}]) as running:
        statuses = [
            (await running.chat(BODY, authorization=f"Bearer {key}")).status_code
            for key in ("ours", "theirs", "ours", "other")
        ]
    assert statuses == [200, 401, 200, 401]
    assert all("authorization" not in seen.headers for seen in app.requests)


async def test_clients_that_share_a_connection_are_told_apart(tmp_path: Path) -> None:
    """As behind a load balancer: requests of several clients, each with its session and key, come mixed."""

    def request(client: str, turn: int, names: tuple[str, str]) -> bytes:
        given = json.dumps(body(user(f"{client}'s question {turn}"))).encode()
        named = {"session": f"X-Crosswind-Session: {client}", "key": f"Authorization: Bearer key-of-{client}"}
        lines = (named[names[0]], f"Content-Length: {len(given)}", named[names[1]], "Host: x")
        return "\r\n".join(("POST /v1/chat/completions HTTP/1.1", *lines, "", "")).encode() + given

    orders = ("session", "key"), ("key", "session")
    async with upstream() as app, gateway(tmp_path, app) as running, connection(running) as (reader, writer):
        for turn in range(6):
            for client in ("ann", "bob", "cy!"):
                writer.write(request(client, turn, orders[turn // 2 % 2]))
                length = re.search(rb"content-length: (\d+)", await reader.readuntil(b"\r\n\r\n"))
                assert length is not None
                await reader.readexactly(int(length[1]))
                seen = app.requests[-1]
                assert seen.headers["authorization"] == f"Bearer key-of-{client}"
                assert seen.json["messages"][-1]["content"] == f"{client}'s question {turn}"
        stored = {
            one["id"]: len((await running.trajectory(one["id"]))["turns"]) for one in await running.sessions()
        }
    assert stored == {"ann": 6, "bob": 6, "cy!": 6}


async def test_the_body_is_announced_by_its_own_length(tmp_path: Path) -> None:
    texts = ["short", "quite a lot longer than that", ""]
    async with upstream(*(plain(answer(text)) for text in texts)) as app, gateway(tmp_path, app) as running:
        for text in texts:
            given = body(user(f"{text}?"))
            assert (await running.chat(given)).json() == answer(text)
            assert app.requests[-1].json == given


async def test_a_name_with_a_percent_sign_is_relayed_each_time(tmp_path: Path) -> None:
    odd = (b"x-%b-%d", b"100%"), (b"set-cookie", b"a=%s")
    async with upstream(plain(answer("Yes."), 200, *odd)) as app, gateway(tmp_path, app) as running:
        for _ in range(3):
            got = await running.chat(BODY)
            assert got.status_code == 200
            assert (got.headers["x-%b-%d"], got.headers["set-cookie"]) == ("100%", "a=%s")
