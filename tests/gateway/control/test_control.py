"""The control plane: sessions, curricula, profiles, the guard against browsers, the typed client."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest

from crosswind.gateway.client import AsyncClient, Client, GatewayError
from tests import ROOT
from tests.gateway.dialogue import PROFILE, body, lead, user
from tests.gateway.servers import Running, gateway, upstream

CURRICULUM = {
    "version": 1,
    "profile": "noisyagent",
    "rho": 0.5,
    "types": {"tool.timeout": {"level": 2, "share": 0.5}, "user.typos": {"level": 1, "share": 0.5}},
}


async def open_group(running: Running, group: str, size: int = 8) -> list[dict[str, Any]]:
    opened = []
    for index in range(size):
        asked = {"task_id": "t", "group_id": group, "group_size": size, "rollout_index": index}
        opened.append((await running.api("POST", "/api/sessions", asked)).json())
    return opened


async def test_a_curriculum_assigns_arms_and_a_group_keeps_the_one_it_was_opened_under(
    tmp_path: Path,
) -> None:
    async with upstream() as app:
        async with gateway(tmp_path, app) as running:
            assert (await running.api("GET", "/api/curriculum")).json()["error"]["code"] == "no_curriculum"
            assert (await running.api("PUT", "/api/curriculum", CURRICULUM)).status_code == 200
            first = await open_group(running, "g")
            arms = Counter(one["arm"] for one in first)
            assert arms == {"clean": 4, "noisy": 4}
            noisy = [one["plan"] for one in first if one["arm"] == "noisy"]
            assert {(plan["noise_type"], plan["level"]) for plan in noisy} == {
                ("tool.timeout", 2),
                ("user.typos", 1),
            }
            hotter = CURRICULUM | {"version": 2, "types": {"user.typos": {"level": 5, "share": 0.5}}}
            assert (await running.api("PUT", "/api/curriculum", hotter)).status_code == 200
        async with gateway(tmp_path, app) as running:
            assert (await running.api("GET", "/api/curriculum")).json()["version"] == 2
            again = await open_group(running, "g")
            assert [one["plan"] for one in again] == [one["plan"] for one in first]
            assert {one["plan"]["curriculum_version"] for one in await open_group(running, "h")} == {2}
            listed = (await running.api("GET", "/api/sessions?group_id=h&limit=3")).json()["sessions"]
            assert [one["rollout_index"] for one in listed] == [7, 6, 5]


async def test_under_a_curriculum_noise_is_met_at_the_first_place_where_it_says_so(running: Running) -> None:
    for must in (True, False):
        asked = CURRICULUM | {"version": 1 + must, "at_least_one": must, "types_per_group": 1}
        assert (await running.api("PUT", "/api/curriculum", asked)).status_code == 200
        noisy = [one["plan"] for one in await open_group(running, f"g{must}") if one["arm"] == "noisy"]
        assert len({plan["noise_type"] for plan in noisy}) == 1
        assert {rule["when"]["at_least_one"] for plan in noisy for rule in plan["rules"]} == {must}
    for wrong in ({"types_per_group": 2}, {"at_least_one": "often"}):
        answer = await running.api("PUT", "/api/curriculum", CURRICULUM | wrong)
        assert answer.status_code == 400 and next(iter(wrong)) in answer.text


async def test_arms_without_a_curriculum_follow_the_profile(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, profile="noisyagent") as running:
        for asked, arm in [
            ({}, "noisy"),
            ({"profile": "off"}, "clean"),
            ({"arm": "clean"}, "clean"),
            (
                {
                    "arm": "noisy",
                    "noise_type": "user.typos",
                    "level": 4,
                    "seed": 3,
                    "seed_scope": "task",
                    "task_id": "t",
                },
                "noisy",
            ),
        ]:
            opened = (await running.api("POST", "/api/sessions", asked)).json()
            assert opened["arm"] == opened["plan"]["arm"] == arm
        plan = opened["plan"]
        assert (plan["noise_type"], plan["level"], plan["seed"], plan["scope"], plan["scope_key"]) == (
            "user.typos", 4, 3, "task", "t",
        )  # fmt: skip


BAD_REQUESTS = [
    ({"arm": "loud"}, "arm", 400),
    ({"task": "t"}, "task", 400),
    ({"rollout_index": -1}, "rollout_index", 400),
    ({"profile": "noisyagnet"}, "did you mean 'noisyagent'?", 404),
    ({"profile": "noisyagent", "level": 99}, "level", 400),
    ({"profile": "noisyagent", "noise_type": "user.typo"}, "did you mean", 400),
    ({"group_id": "g", "group_size": 2}, "rollout_index", 400),
    ({"group_id": "g", "group_size": 2, "rollout_index": 2}, "rollout_index", 400),
]


@pytest.mark.parametrize(("asked", "named", "status"), BAD_REQUESTS)
async def test_bad_openings_name_the_field(
    running: Running, asked: dict[str, Any], named: str, status: int
) -> None:
    await running.api("PUT", "/api/curriculum", CURRICULUM)
    answer = await running.api("POST", "/api/sessions", asked)
    assert answer.status_code == status
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"} and named in error["message"]


async def test_profiles_are_kept_and_affect_new_sessions_only(tmp_path: Path) -> None:
    async with upstream() as app:
        async with gateway(tmp_path, app) as running:
            assert "levels" in (await running.api("GET", "/api/profiles/noisyagent")).json()["yaml"]
            assert (await running.api("PUT", "/api/profiles/flaky", {"yaml": PROFILE})).status_code == 200
            before = (await running.api("POST", "/api/sessions", {"profile": "flaky"})).json()
            calm = PROFILE.replace("tool.timeout", "tool.incomplete").replace("version: 1", "version: 2")
            assert (await running.api("PUT", "/api/profiles/flaky", {"yaml": calm})).status_code == 200
            after = (await running.api("POST", "/api/sessions", {"profile": "flaky"})).json()
            operators = [[rule["operator"] for rule in one["plan"]["rules"]] for one in (before, after)]
            assert operators == [["user.redundant", "tool.timeout"], ["user.redundant", "tool.incomplete"]]
            await lead(running, before["id"], range(2))
            events = (await running.api("GET", f"/api/sessions/{before['id']}/events")).json()["events"]
            assert [one["operator"] for one in events] == ["user.redundant", "tool.timeout"]
            wrong = await running.api("PUT", "/api/profiles/flaky", {"yaml": PROFILE + "  bad"})
            assert (wrong.status_code, "flaky:12: not valid YAML" in wrong.json()["error"]["message"]) == (
                400,
                True,
            )
        async with gateway(tmp_path, app, profile="flaky") as running:
            assert "tool.incomplete" in (await running.api("GET", "/api/profiles/flaky")).json()["yaml"]
            assert "flaky" in (await running.api("GET", "/api/profiles")).json()["profiles"]


async def test_a_profiles_labels_keep_noise_to_the_sessions_that_have_them(running: Running) -> None:
    await running.api("PUT", "/api/profiles/flaky", {"yaml": f"{PROFILE}labels: {{team: support-*}}\n"})
    rules = []
    for team in ("support-eu", "sales"):
        body = {"profile": "flaky", "labels": {"team": team}}
        opened = (await running.api("POST", "/api/sessions", body)).json()
        rules.append(len(opened["plan"]["rules"]))
    assert rules == [2, 0]


async def test_operators_declare_their_recovery(running: Running) -> None:
    operators = {one["name"]: one for one in (await running.api("GET", "/api/operators")).json()["operators"]}
    assert (operators["tool.timeout"]["recovery"], operators["tool.timeout"]["site"]) == (
        "retry",
        "tool_result",
    )


async def test_a_session_can_be_deleted_with_all_that_hangs_on_it(running: Running) -> None:
    opened = (await running.api("POST", "/api/sessions", {})).json()["id"]
    await lead(running, opened, range(2))
    await running.trajectory(opened)
    assert running.gateway.store.counts()["turns"] == 2
    assert (await running.api("DELETE", f"/api/sessions/{opened}")).status_code == 200
    assert running.gateway.store.counts()["turns"] == 0
    for path in ("", "/trajectory", "/events"):
        assert (await running.api("GET", f"/api/sessions/{opened}{path}")).status_code == 404
    for path, content in (("/close", {}), ("/reward", {"reward": 1})):
        gone = await running.api("POST", f"/api/sessions/{opened}{path}", content)
        assert (gone.status_code, gone.json()["error"]["code"]) == (404, "session_not_found")


@pytest.mark.parametrize(
    ("headers", "let_in"),
    [
        ({}, True),
        ({"host": "localhost:8081"}, True),
        ({"host": "gateway.internal:8081"}, True),
        ({"host": "[::1]:8081"}, True),
        ({"host": "rebound.example:8081"}, False),
        ({"host": ""}, False),
        ({"origin": "http://evil.example"}, False),
        ({"origin": "null"}, False),
        ({"sec-fetch-site": "cross-site"}, False),
    ],
)
async def test_pages_in_browsers_do_not_get_in(tmp_path: Path, headers: dict[str, str], let_in: bool) -> None:
    async with (
        upstream() as app,
        gateway(tmp_path, app, control_allowed_hosts=["gateway.internal"]) as running,
    ):
        answer = await running.http.put(
            f"{running.control}/api/noise", json={"enabled": False}, headers=headers
        )
        assert (answer.status_code == 200) is let_in
        assert running.gateway.switch.enabled is not let_in
        assert not [name for name in answer.headers if name.startswith("access-control")]
        if not let_in:
            assert answer.json()["error"]["type"] == "permission_error"


def documented() -> dict[str, set[str]]:
    """The methods of each route in the table of docs/protocols.md."""
    page = (ROOT / "docs" / "protocols.md").read_text()
    table = page[page.index("| route | what |") : page.index("## Messages")]
    found: dict[str, set[str]] = {}
    for methods, path in re.findall(r"((?:`[A-Z]+`, )*`[A-Z]+) (/[^`]+)`", table):
        found.setdefault(path, set()).update(re.findall("[A-Z]+", methods.replace("`", "")))
    return found


async def test_the_api_describes_itself(running: Running) -> None:
    paths = (await running.api("GET", "/openapi.json")).json()["paths"]
    assert {path: {method.upper() for method in paths[path]} for path in paths} == documented()
    missing = await running.api("GET", "/api/nothing")
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "not_found")


async def test_metrics_count_turns_noise_and_failures(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, noise=PROFILE) as running:
        await lead(running, "s", range(3))
        await running.trajectory("s")
        text = (await running.api("GET", "/metrics")).text
        for line in (
            'crosswind_requests_total{route="chat",status="200"} 3.0',
            'crosswind_turns_total{fitness="no_token_ids"} 3.0',
            'crosswind_events_total{operator="tool.timeout"} 1.0',
            'crosswind_events_withheld_total{operator="tool.timeout"} 1.0',
            "crosswind_recorder_queue_rows 0.0",
            "crosswind_sessions_live 1.0",
            'crosswind_turn_seconds_bucket{le="+Inf"} 3.0',
            "crosswind_turn_seconds_count 3.0",
        ):
            assert line in text
        again = (await running.api("GET", "/metrics")).text
        assert "crosswind_turn_seconds_count 3.0" in again


async def test_the_typed_client_does_what_the_api_does(running: Running) -> None:
    async with AsyncClient(running.control) as client:
        assert await client.healthy() and await client.get_curriculum() is None
        await client.put_curriculum(CURRICULUM)
        assert (await client.get_curriculum() or {})["rho"] == 0.5
        await client.put_profile("flaky", PROFILE)
        opened = await client.open_session(task_id="t", profile="flaky", labels={"purpose": "eval"})
        await lead(running, opened.id, range(1))
        await client.reward(opened.id, 1.0, components={"db": 1.0}, source="verifier")
        await client.close(opened.id)
        await running.trajectory(opened.id)
        found = await client.session(opened.id)
        assert (found.status, found.reward, found.reward_state) == ("closed", 1.0, "given")
        assert len((await client.trajectory(opened.id))["turns"]) == len(await client.events(opened.id)) == 1
        await client.set_noise(False)
        assert not await client.noise_enabled()
        with pytest.raises(GatewayError, match="unknown session 'none'") as refused:
            await client.session("none")
        assert (refused.value.status, refused.value.code) == (404, "session_not_found")


async def test_the_synchronous_client_blocks(running: Running) -> None:
    """It shares its calls with the asynchronous one."""

    def open_and_close() -> str:
        with Client(running.control) as client:
            session = client.open_session(arm="clean")
            client.close(session.id)
            with pytest.raises(GatewayError, match="unknown session 'none'"):
                client.trajectory("none")
            return client.session(session.id).status

    assert await asyncio.to_thread(open_and_close) == "closed"


def test_a_client_says_that_nobody_answers() -> None:
    with Client("http://127.0.0.1:1") as client:
        assert not client.healthy()
        with pytest.raises(httpx.HTTPError, match=r"http://127.0.0.1:1 can't be reached"):
            client.open_session()


async def test_unnamed_sessions_get_different_noise_and_a_second_run_the_same(tmp_path: Path) -> None:
    runs = []
    for run in ("one", "two"):
        (tmp_path / run).mkdir()
        async with upstream() as app, gateway(tmp_path / run, app, profile="noisyagent") as running:
            keys = []
            for _ in range(3):
                opened = (await running.api("POST", "/api/sessions", {})).json()
                keys.append(opened["plan"]["scope_key"])
                await running.chat(body(user("Where is my order?")), opened["id"])
            runs.append((keys, [seen.body for seen in app.requests]))
    assert runs[0] == runs[1] and len(set(runs[0][0])) == 3


@pytest.mark.parametrize("content", [None, b"", b"off", b"[]"])
async def test_a_request_without_its_body_is_told_what_to_send(content: bytes | None, tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app) as running:
        async with httpx.AsyncClient(headers={"content-type": "application/json"}) as http:
            answer = await http.put(f"{running.control}/api/noise", content=content)
        assert answer.status_code == 400
        assert answer.json()["error"]["message"] == (
            'body: send a JSON object, with `content-type: application/json`, such as {"enabled": false}'
        )


async def test_a_session_may_have_a_name_that_none_has_or_had(running: Running) -> None:
    opened = await running.api("POST", "/api/sessions", {"id": "mine", "task_id": "t"})
    assert opened.json()["id"] == "mine"
    assert opened.json()["base_url"].endswith("/s/mine/v1")
    unnamed = await running.api("POST", "/api/sessions", {"task_id": "t"})
    assert unnamed.json()["plan"] == opened.json()["plan"], "draws don't depend on the name"
    again = await running.api("POST", "/api/sessions", {"id": "mine"})
    assert (again.status_code, again.json()["error"]["code"]) == (409, "session_exists")
    assert (await running.api("DELETE", "/api/sessions/mine")).status_code == 200
    gone = await running.api("POST", "/api/sessions", {"id": "mine"})
    assert (gone.status_code, gone.json()["error"]["code"]) == (409, "session_exists")
    for wrong in ("a/b", ".", "", "x" * 101, "sk-ant-api03-" + "a" * 80):
        assert (await running.api("POST", "/api/sessions", {"id": wrong})).status_code == 400
