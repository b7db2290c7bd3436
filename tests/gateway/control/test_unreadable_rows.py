"""One row that can't be read is named and skipped: the gateway starts, and serves the rest."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.gateway.dialogue import PROFILE, body, user
from tests.gateway.servers import gateway, upstream
from tests.gateway.sessions.peers import workers

MINE = "name: mine\nrules:\n  - operator: Typo\n    severity: 1\n"
GONE = MINE.replace("Typo", "vendor.gone")
REASON = "its profile could not be read"


def spoil(tmp_path: Path, kind: str, name: str, value: str) -> None:
    """Set the value of a stored setting as it stands."""
    with sqlite3.connect(tmp_path / "store.db") as store:
        row = (kind, name, value, 1)
        store.execute(
            "INSERT OR REPLACE INTO setting (kind, name, value_json, updated_us) VALUES (?, ?, ?, ?)", row
        )
    store.close()


async def test_a_profile_that_is_refused_is_not_stored(tmp_path: Path) -> None:
    async with upstream() as app:
        async with gateway(tmp_path, app) as running:
            for text in (MINE.replace("mine", "other"), GONE, "name: [", MINE + "  bad"):
                refused = await running.api("PUT", "/api/profiles/mine", {"yaml": text})
                assert refused.status_code == 400, refused.text
        async with gateway(tmp_path, app) as running:
            assert "mine" not in (await running.api("GET", "/api/profiles")).json()["profiles"]


@pytest.mark.parametrize(
    "value", ['{"yaml": "name: other\\nrules: []"}', '{"yaml": 7}', "{}", "[]", "no JSON", '{"yaml": "[[["}']
)
async def test_a_profile_that_cannot_be_used_is_skipped(tmp_path: Path, value: str) -> None:
    async with upstream() as app:
        async with gateway(tmp_path, app):
            pass
        spoil(tmp_path, "profile", "mine", value)
        with capture_logs() as logs:
            async with gateway(tmp_path, app) as running:
                assert (await running.chat(body(user("Hello")))).is_success
                again = await running.api("PUT", "/api/profiles/mine", {"yaml": MINE})
                assert again.is_success, again.text
                opened = await running.api("POST", "/api/sessions", {"profile": "mine"})
                assert opened.json()["arm"] == "noisy"
        named = [one for one in logs if "skipped" in one["event"]]
        assert len(named) == 1 and named[0]["log_level"] == "error" and "mine" in str(named[0])


async def test_sessions_of_a_profile_whose_operator_is_gone_are_clean_and_do_not_train(
    tmp_path: Path,
) -> None:
    async with upstream() as app:
        async with gateway(tmp_path, app) as running:
            await running.api("PUT", "/api/profiles/mine", {"yaml": MINE})
        spoil(tmp_path, "profile", "mine", f'{{"yaml": {GONE!r}}}'.replace("'", '"'))
        async with gateway(tmp_path, app, profile="mine") as running:
            sent = body(user("Please find the cheapest flight to London and book a seat for me."))
            assert (await running.chat(sent, "s")).is_success
            stored = (await running.trajectory("s"))["session"]
            assert (stored["arm"], stored["quarantine"]) == ("clean", REASON)
            for name in ("mine", "mine/level-1"):
                refused = await running.api("POST", "/api/sessions", {"profile": name})
                assert refused.status_code == 400 and "vendor.gone" in refused.json()["error"]["message"]
            assert (await running.api("GET", "/api/profiles/mine")).json()["yaml"] == GONE, "to be mended"


async def test_a_session_goes_on_when_an_operator_of_its_plan_is_gone(tmp_path: Path) -> None:
    said = body(user("Please find the cheapest flight to London and book a seat for me."))
    async with upstream() as app:
        async with gateway(tmp_path, app, noise=MINE) as running:
            assert (await running.chat(said, "s")).is_success
            await running.flush()
        with sqlite3.connect(tmp_path / "store.db") as store:
            store.execute("UPDATE session SET plan_json = replace(plan_json, 'user.typos', 'vendor.gone')")
        store.close()
        with capture_logs() as logs:
            async with gateway(tmp_path, app) as running:
                assert (await running.chat(said, "s")).is_success
        assert [one["operators"] for one in logs if "are gone" in one["event"]] == [["vendor.gone"]]


SETTINGS = [("curriculum", "current"), ("version", "v1"), ("server", "http://a:1"), ("noise", "switch")]


@pytest.mark.parametrize("value", ["no JSON", "[]", '{"rho": 7}'])
async def test_no_setting_keeps_the_gateway_from_starting(tmp_path: Path, value: str) -> None:
    async with upstream() as app:
        async with gateway(tmp_path, app):
            pass
        for kind, name in SETTINGS:
            spoil(tmp_path, kind, name, value)
        async with gateway(tmp_path, app, noise=PROFILE) as running:
            assert (await running.chat(body(user("Hello")))).is_success
            assert not running.gateway.switch.enabled, "in doubt there is no noise"


async def test_workers_skip_it_too_until_it_is_put_again(tmp_path: Path) -> None:
    said = body(user("Please find the cheapest flight to London and book a seat for me."))
    async with upstream() as app:
        async with gateway(tmp_path, app):
            pass
        spoil(tmp_path, "profile", "mine", "{}")
        async with workers(tmp_path, app, profile="mine") as (control, worker):
            assert (await worker.chat(said, "before")).is_success
            assert (await control.api("PUT", "/api/profiles/mine", {"yaml": MINE})).is_success
            assert (await worker.chat(said, "after")).is_success
            found = [(await worker.trajectory(name))["session"] for name in ("before", "after")]
            assert [(one["arm"], one["quarantine"]) for one in found] == [("clean", REASON), ("noisy", None)]


async def test_a_name_is_no_path_on_the_server(tmp_path: Path) -> None:
    """Neither a file that could be told, nor one that never ends."""
    (tmp_path / "secret.yaml").write_text("password: hunter2\n")
    os.mkfifo(tmp_path / "pipe.yaml")
    curriculum: dict[str, Any] = {"version": 1, "rho": 0.5}
    async with upstream() as app, gateway(tmp_path, app, noise=PROFILE) as running, asyncio.timeout(60):
        for file in (tmp_path / "secret.yaml", tmp_path / "pipe.yaml", Path("/dev/zero.yaml")):
            for method, path, sent in (
                ("POST", "/api/sessions", {"profile": str(file)}),
                ("PUT", "/api/curriculum", curriculum | {"profile": str(file)}),
            ):
                refused = await running.api(method, path, sent)
                assert refused.status_code == 404 and "hunter2" not in refused.text
                assert "only the configuration names files" in refused.json()["error"]["message"]
        named = await running.api("POST", "/api/sessions", {"profile": str(tmp_path / "noise.yaml")})
        assert named.json()["arm"] == "noisy", "the one that the configuration names"


async def test_aliases_that_multiply_are_refused(tmp_path: Path) -> None:
    lines = ["name: b", "lineage:", "  a0: &a0 [x]"]
    lines += [f"  a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 9)}]" for at in range(1, 10)]
    async with upstream() as app, gateway(tmp_path, app) as running, asyncio.timeout(60):
        refused = await running.api("PUT", "/api/profiles/b", {"yaml": "\n".join(lines)})
        assert refused.status_code == 400 and "20000 values" in refused.json()["error"]["message"]
        long = await running.api("PUT", "/api/profiles/b", {"yaml": "#" * 300_000})
        assert long.status_code == 400


async def test_an_expression_without_end_does_not_stop_the_traffic(tmp_path: Path) -> None:
    slow = MINE + "    where: {text: '(?:a|aa)+$'}\n"
    async with upstream() as app, gateway(tmp_path, app, timeouts={"expression": 0.02}) as running:
        assert (await running.api("PUT", "/api/profiles/mine", {"yaml": slow})).is_success
        opened = (await running.api("POST", "/api/sessions", {"profile": "mine"})).json()["id"]
        with capture_logs() as logs:
            async with asyncio.timeout(60):
                for number in range(5):
                    said = body(user(f"{'a' * 5000} {number}b"))
                    assert (await running.chat(said, opened)).is_success
        late = [one for one in logs if one.get("expression") == "(?:a|aa)+$"]
        assert len(late) == 3 and late[-1]["then"] == "its rule doesn't act any more"
        assert [seen.texts() for seen in app.requests] == [[f"{'a' * 5000} {number}b"] for number in range(5)]
