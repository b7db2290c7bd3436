"""The dose of a session: what it was assigned, its places, and what was decided, injected and withheld."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from crosswind.gateway.cli import root
from crosswind.gateway.trajectory.dose import measure, read_dose
from crosswind.injectors.engine.dose import Exposure, OperatorDose, add_doses, count_doses
from tests.gateway.dialogue import PROFILE, lead, user
from tests.gateway.servers import gateway, upstream

ALL_LEGS = """\
name: legs
rules:
  - {operator: user.redundant, severity: 1.0}
  - {operator: tool.timeout, severity: 1.0}
  - {operator: schema.paraphrase_tool, severity: 1.0}
  - {operator: transport.latency, severity: 0.001}
  - {operator: model.unknown_tool, severity: 0.001, when: {probability: 0.0}}
"""
RARE = "name: rare\n{more}rules: [{{operator: {operator}, severity: 0.01, when: {{probability: 0.02}}}}]\n"


async def test_the_dose_counts_all_legs_in_one_vocabulary(tmp_path: Path) -> None:
    """Two user messages, three results of which one repeats a call, one tool, five exchanges."""
    async with upstream() as app, gateway(tmp_path, app, noise=ALL_LEGS) as running:
        await lead(running, "s", range(5))
        trajectory = await running.trajectory("s")
        asked = (await running.api("GET", "/api/sessions/s/dose")).json()
        store = running.gateway.store
        [session] = store.sessions()
        whole = store.trajectory("s")
        assert whole is not None
        assert asked == trajectory["dose"] == json.loads(json.dumps(read_dose(whole).to_json()))
        assert measure(store, session) == read_dose(whole)
    assert (asked["arm"], asked["noise_type"], asked["exposure"]) == ("noisy", None, "exposed")
    counts = {
        name: tuple(one[what] for what in ("eligible", "decided", "injected", "withheld", "exposed"))
        for name, one in asked["operators"].items()
    }
    assert counts == {
        "user.redundant": (2, 2, 2, 0, 1),
        "tool.timeout": (3, 3, 2, 1, 1),
        "schema.paraphrase_tool": (1, 1, 1, 0, 1),
        "transport.latency": (5, 5, 5, 0, 1),
        "model.unknown_tool": (5, 0, 0, 0, 0),
    }
    told = await asyncio.to_thread(_show, tmp_path, "s")
    assert "assigned all of its profile: exposed" in told
    assert "tool.timeout: eligible 3, decided 3, injected 2, withheld 1" in told
    printed = json.loads(await asyncio.to_thread(_show, tmp_path, "s", "--json"))
    assert printed["dose"] == asked


def _show(tmp_path: Path, *arguments: str) -> str:
    given = ["sessions", "show", *arguments, "--store", f"sqlite:///{tmp_path}/store.db"]
    return CliRunner().invoke(root, given).stdout


@pytest.mark.parametrize("operator", ["user.typos", "tool.timeout", "schema.paraphrase_tool", "model.empty"])
async def test_a_session_is_exposed_by_design(tmp_path: Path, operator: str) -> None:
    """By chance next to none meets it, and with `at_least_one` all do."""
    met: dict[bool, list[str]] = {}
    for must in (False, True):
        text = RARE.format(more="at_least_one: true\n" if must else "", operator=operator)
        folder = tmp_path / str(must)
        folder.mkdir()
        async with upstream() as app, gateway(folder, app, noise=text) as running:
            for seed in range(4):
                await _lead_through_faults(running, f"s{seed}")
            met[must] = [
                (await running.api("GET", f"/api/sessions/s{seed}/dose")).json()["exposure"]
                for seed in range(4)
            ]
    assert met[True] == ["exposed"] * 4
    assert met[False].count("exposed") <= 1 and set(met[False]) <= {"exposed", "eligible"}


async def _lead_through_faults(running: Any, session: str) -> None:
    for turn in range(3):
        await lead(running, session, range(turn, turn + 1))


async def test_a_clean_session_has_no_dose_and_an_unmet_place_says_so(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, noise=PROFILE) as running:
        clean = (await running.api("POST", "/api/sessions", {"arm": "clean"})).json()
        await lead(running, clean["id"], range(2))
        noisy = (await running.api("POST", "/api/sessions", {"noise_type": "tool.timeout"})).json()
        doses = {
            name: (await running.api("GET", f"/api/sessions/{one['id']}/dose")).json()
            for name, one in (("clean", clean), ("unplayed", noisy))
        }
        await lead(running, noisy["id"], range(1))
        talked = (await running.api("GET", f"/api/sessions/{noisy['id']}/dose")).json()
    assert (doses["clean"]["exposure"], doses["clean"]["operators"]) == (None, {})
    assert doses["unplayed"]["exposure"] == talked["exposure"] == Exposure.ASSIGNED
    assert talked["operators"]["tool.timeout"]["eligible"] == 0


def test_doses_of_many_sessions_add_up() -> None:
    one = {"tool.timeout": OperatorDose(1, 3, 2, 1, 1)}
    other = {"tool.timeout": OperatorDose(1, 2, 0, 0, 0), "user.typos": OperatorDose(1, None, 1, 0, 1)}
    assert add_doses([one, other]) == {
        "tool.timeout": OperatorDose(2, 5, 2, 1, 1),
        "user.typos": OperatorDose(1, None, 1, 0, 1),
    }
    assert add_doses([one, other])["tool.timeout"].exposure_rate == 0.5


MIXTURE = """\
name: mixture
compose: one_of
at_least_one: true
rules:
  - {operator: tool.timeout, severity: 0.1, weight: 1000}
  - {operator: user.redundant, severity: 0.1}
"""


@pytest.mark.parametrize("named", [True, False])
async def test_the_type_is_one_that_the_first_request_allows(tmp_path: Path, named: bool) -> None:
    """Without tools there are no results: the heavy type isn't drawn, and the session meets the other one."""
    async with upstream() as app, gateway(tmp_path, app, noise=MIXTURE) as running:
        session = "s" if named else None
        said = "Please tell me where my order is, it was to come on Monday."
        await running.chat({"model": "tiny", "messages": [user(said)]}, session)
        [found] = (await running.api("GET", "/api/sessions")).json()["sessions"]
        dose = (await running.api("GET", f"/api/sessions/{found['id']}/dose")).json()
        again = (await running.trajectory(found["id"]))["session"]["plan"]
    assert (found["plan"]["noise_type"], found["plan"]["allowed_types"]) == (
        "user.redundant",
        ["user.redundant"],
    )
    assert (dose["exposure"], dose["allowed_types"]) == ("exposed", ["user.redundant"])
    assert again == found["plan"]
    async with upstream() as app, gateway(tmp_path, app, noise=MIXTURE) as running:
        if named:  # After a restart the plan stands, whatever is declared by now.
            await lead(running, "s", range(1))
            assert (await running.trajectory("s"))["session"]["plan"] == again


async def test_a_plan_that_was_made_before_the_tools_were_known_stays_as_assigned(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, noise=MIXTURE) as running:
        opened = (await running.api("POST", "/api/sessions", {})).json()
        await running.chat({"model": "tiny", "messages": [user("Where is my order?")]}, opened["id"])
        stored = (await running.trajectory(opened["id"]))["session"]["plan"]
        dose = (await running.api("GET", f"/api/sessions/{opened['id']}/dose")).json()
    assert stored == opened["plan"] and stored["noise_type"] == "tool.timeout"
    assert (dose["exposure"], dose["allowed_types"]) == ("assigned", None)


def test_more_noise_than_counted_places_says_that_the_places_are_not_known() -> None:
    """Calls on a tool leg that no turn reported aren't in the ledger."""
    doses = count_doses({"tool.timeout": 0, "tool.rate_limit": 0}, [("tool.timeout", True)])
    assert [doses[name].eligible for name in ("tool.timeout", "tool.rate_limit")] == [None, 0]
