"""Drills: a share of the sessions that traffic opens gets a profile, until something ends it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from crosswind.gateway.sessions.drills import DRILLED, Drill, DrillEnd
from crosswind.testing import ScriptedProvider
from crosswind.testing.replies import plain
from tests.gateway.dialogue import PROFILE, body, history, user
from tests.gateway.proxy.test_tool_mcp import events_of, text_of
from tests.gateway.servers import Running, answer, gateway, settings, upstream
from tests.gateway.tools.shop import mcp_shop

ORDER = {"profile": "flaky", "share": 0.5, "seconds": 600}
WIDE = {"dose": {"drill_share": 1.0}}


async def begin(running: Running, **more: Any) -> dict[str, Any]:
    assert (await running.api("PUT", "/api/profiles/flaky", {"yaml": PROFILE})).status_code == 200
    begun = await running.api("POST", "/api/drills", {**ORDER, **more})
    assert begun.status_code == 200, begun.text
    return begun.json()


async def see(running: Running, drill: dict[str, Any]) -> dict[str, Any]:
    running.gateway.drill_control.look()
    return (await running.api("GET", f"/api/drills/{drill['id']}")).json()


async def injected(running: Running, session: str) -> int:
    return sum(one["after"] is not None for one in (await running.trajectory(session))["events"])


async def test_the_same_share_of_new_sessions_is_drilled_and_the_others_stay_as_they_were(
    tmp_path: Path, app: ScriptedProvider
) -> None:
    drawn = []
    for run in ("a", "b"):
        async with gateway(tmp_path, app, store=f"sqlite:///{tmp_path}/{run}.db", **WIDE) as running:
            await running.chat(body(user("hello")), "before")
            drill = await begin(running, labels={"team": "x"}, by="Ann")
            assert drill["began_by"] == "Ann (role admin)"
            second = await running.api("POST", "/api/drills", ORDER)
            assert second.status_code == 409 and drill["id"] in second.json()["error"]["message"]
            for number in range(20):
                app.requests.clear()
                raw = json.dumps(body(user(f"hello {number}"))).encode()
                await running.chat(raw, f"s{number}")
                await running.flush()
                labels = (await running.api("GET", f"/api/sessions/s{number}")).json()["labels"]
                changed = app.requests[-1].body != raw
                assert changed == (labels[DRILLED] == "yes") and labels["team"] == "x"
            await running.chat(body(user("again")), "before")
            opened = (await running.api("POST", "/api/sessions", {})).json()["id"]
            found = await running.sessions()
            labels = {one["id"]: one["labels"].get(DRILLED) for one in found}
            assert labels.pop("before") is labels.pop(opened) is None
            drawn.append(labels)
    assert drawn[0] == drawn[1] and 3 < list(drawn[0].values()).count("yes") < 17


async def test_an_end_by_order_stops_new_noise_and_is_on_record(
    tmp_path: Path, app: ScriptedProvider
) -> None:
    async with gateway(tmp_path, app, **WIDE) as running:
        drill = await begin(running, share=1.0)
        await running.chat(body(*history(1)), "s")
        before = await injected(running, "s")
        told = {"by": "Bob", "reason": "enough"}
        ended = (await running.api("POST", f"/api/drills/{drill['id']}/end", told)).json()
        assert (ended["end"], ended["ended_by"], ended["reason"]) == ("order", "Bob (role admin)", "enough")
        await running.chat(body(*history(3)), "s")
        await running.chat(body(user("hello")), "later")
        assert before == await injected(running, "s") > 0 == await injected(running, "later")
        assert (await begin(running))["id"] != drill["id"]
    async with gateway(tmp_path, app, **WIDE) as running:
        first, second = (await running.api("GET", "/api/drills")).json()["drills"]
        assert first["ended_by"] == "Bob (role admin)" and second["end"] is None


async def test_the_deadline_holds_by_the_clock_over_a_reload_and_a_restart(
    tmp_path: Path, app: ScriptedProvider
) -> None:
    given = {**WIDE, "store": f"sqlite:///{tmp_path}/store.db"}
    async with gateway(tmp_path, app, **given) as running:
        drill = await begin(running, share=1.0)
        same = settings(tmp_path, app.url, **given)
        keep = {"port": running.gateway.settings.port, "control_port": running.gateway.settings.control_port}
        await running.gateway.apply_settings(same.model_copy(update=keep))
        await running.chat(body(user("hello")), "first")
        assert await injected(running, "first")
    async with gateway(tmp_path, app, **given) as running:
        await running.chat(body(user("hello")), "second")
        assert await injected(running, "second") and (await see(running, drill))["end"] is None
        # At this moment nobody has looked yet: the deadline itself holds.
        running.gateway.drills.clock = lambda: drill["deadline_us"]
        await running.chat(body(user("hello")), "third")
        assert not await injected(running, "third")
        assert (await see(running, drill))["end"] == "deadline"
    async with gateway(tmp_path, app, **given) as running:
        assert (await see(running, drill))["reason"] == "its time is over"


async def test_no_more_is_injected_than_allowed_also_after_a_restart(
    tmp_path: Path, app: ScriptedProvider
) -> None:
    given = {**WIDE, "store": f"sqlite:///{tmp_path}/store.db"}
    async with gateway(tmp_path, app, **given) as running:
        drill = await begin(running, share=1.0, max_injections=3)
        for name in ("a", "b"):
            await running.chat(body(user("hello")), name)
            assert await injected(running, name) == 1
    async with gateway(tmp_path, app, **given) as running:
        # Two texts are too many for what is left: neither is touched, and that is said.
        app.requests.clear()
        raw = json.dumps(body(user("hello"), user("and again"))).encode()
        await running.chat(raw, "c")
        assert app.requests[-1].body == raw
        events = (await running.trajectory("c"))["events"]
        assert len(events) == 2 and all("max_injections" in one["note"] for one in events)
        assert (await see(running, drill))["end"] == "max_injections"


TOOLS = """
name: flaky
rules:
  - {operator: tool.misleading, severity: 1.0, when: {}}
  - {operator: schema.paraphrase_tool, severity: 1.0, when: {}}
"""


@pytest.mark.parametrize("most", [1, 3])
async def test_noise_on_tool_traffic_is_within_the_cap(
    tmp_path: Path, app: ScriptedProvider, most: int
) -> None:
    async with (
        mcp_shop() as shop,
        gateway(tmp_path, app, tools={"mcp": {"shop": {"url": shop.url}}}, **WIDE) as running,
    ):
        assert (await running.api("PUT", "/api/profiles/flaky", {"yaml": TOOLS})).status_code == 200
        order = {**ORDER, "share": 1.0, "max_injections": most}
        drill = (await running.api("POST", "/api/drills", order)).json()

        async def call(session: str) -> str:
            async with Client(f"{running.data}/s/{session}/mcp/shop") as client:
                await client.list_tools()
                return text_of(await client.call_tool("get_order", {"order_id": 7}))

        if most == 1:
            # More than is left: the list stays as it is, which is said, and the call gets what is left.
            clean = json.dumps({"id": 7, "city": "Lisbon", "total": 17.5})
            assert await call("s0") != clean
            spared = [one for one in await events_of(running, "s0") if one.slot and one.after is None]
            assert {one.operator for one in spared} == {"schema.paraphrase_tool"}
            assert all("max_injections" in one.note for one in spared)
        await asyncio.gather(*(call(f"s{number}") for number in range(1, 6)))
        events = [one for number in range(6) for one in await events_of(running, f"s{number}")]
        assert sum(one.after is not None for one in events) == most
        assert (await see(running, drill))["end"] == "max_injections"


async def test_what_a_relay_reports_counts_into_the_cap(tmp_path: Path, app: ScriptedProvider) -> None:
    async with gateway(tmp_path, app, **WIDE) as running:
        drill = await begin(running, share=1.0, max_injections=3)
        path = "/api/sessions/s1"
        attached = await running.api("POST", f"{path}/tool-leg", {"link": "stdio"})
        assert attached.status_code == 200
        fault = {
            "at_us": 1, "link": "stdio", "tool": "t", "operator": "tool.timeout", "site": "tool_result",
            "slot": "s", "note": "n", "before": "b", "after": "a", "recovery": "retry", "severity": 1.0,
            "session": "s1",
        }  # fmt: skip
        events = [{**fault, "id": f"leg-{number}", "anchor": f"wire:{number}"} for number in range(4)]
        told = await running.api("POST", f"{path}/tool-events", {"events": events})
        assert told.status_code == 200, told.text
        seen = await see(running, drill)
        assert (seen["end"], seen["reason"]) == (
            "max_injections", "it has injected 4 times, of 3 at most"
        )  # fmt: skip


async def test_the_kill_switch_ends_it_and_noise_on_again_is_no_drill(
    tmp_path: Path, app: ScriptedProvider
) -> None:
    async with gateway(tmp_path, app, **WIDE) as running:
        drill = await begin(running, share=1.0)
        await running.api("PUT", "/api/noise", {"enabled": False})
        off = await running.api("POST", "/api/drills", ORDER)
        assert off.status_code == 409 and off.json()["error"]["code"] == "noise_off"
        await running.api("PUT", "/api/noise", {"enabled": True})
        await running.chat(body(user("hello")), "s")
        assert not await injected(running, "s")
        assert (await see(running, drill))["end"] == "kill_switch"


async def test_failed_turns_of_drilled_sessions_end_it(tmp_path: Path) -> None:
    failing = plain({"error": {"message": "down"}}, status=500)
    async with (
        upstream(plain(answer()), failing, failing) as app,
        gateway(tmp_path, app, **WIDE, abort={"least": 3}, retries={"attempts": 1}) as running,
    ):
        drill = await begin(running, share=1.0, abort_above=0.5)
        for name, end in (("a", None), ("b", None), ("c", "abort")):
            await running.chat(body(user("hello")), name)
            found = await see(running, drill)
            assert found["end"] == end
        assert (found["turns"], found["failed"]) == (3, 2)
        assert found["reason"] == "2 of 3 turns of drilled sessions failed, more than 0.5"


@pytest.mark.parametrize(
    ("order", "says"),
    [
        ({"share": 0.2}, "0.2 is more than a drill may have, 0.1"),
        ({"profile": "off", "share": 0.05}, "has no rules"),
        ({"profile": "nosuch", "share": 0.05}, "unknown profile"),
        ({"labels": {"drill": "x"}, "share": 0.05}, "set by the drill itself"),
        ({"seconds": 0, "share": 0.05}, "seconds"),
    ],
)
async def test_what_cant_be_drilled_is_refused(running: Running, order: dict[str, Any], says: str) -> None:
    refused = await running.api("POST", "/api/drills", {**ORDER, "profile": "chaos/flaky-tools", **order})
    assert refused.status_code in (400, 404) and says in refused.json()["error"]["message"]
    assert (await running.api("GET", "/api/drills")).json() == {"drills": []}


async def test_the_caps_on_noise_hold(tmp_path: Path, app: ScriptedProvider) -> None:
    async with gateway(tmp_path, app, dose={"share": 0.3, "drill_share": 1.0}) as running:
        assert (await running.api("POST", "/api/drills", ORDER)).status_code == 400
        await begin(running, share=0.3)
        for number in range(30):
            await running.chat(body(user("hello")), f"s{number}")
        drilled = [one["labels"][DRILLED] for one in await running.sessions()].count("yes")
        assert 2 <= drilled <= 18


def test_an_end_is_never_undone(tmp_path: Path) -> None:
    from crosswind.gateway.sessions.drills import DrillCounts, Drills

    drill = Drill(id="d", profile="p", share=1, seed=0, began_us=1, deadline_us=9, began_by="Ann")
    ended = Drill(**{**drill.setting().value, "end": DrillEnd.ORDER, "ended_us": 2})
    counts = DrillCounts(None, {})
    drills = Drills([ended.setting(), drill.setting()], counts, clock=lambda: 3)
    assert drills.running is drills.open is None
    counts.close()
