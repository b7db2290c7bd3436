"""`crosswind noise audit`: a store that a gateway made passes; one whose guard slept is caught, and so is one
that was tampered with."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gateway.cli import root
from gateway.trajectory.sqlite import SqliteStore
from injectors import operator, solvability, tool_guard
from injectors.conversation import Site, ToolSchema
from injectors.link import Exchanges
from injectors.operator import Draw, Recovery, ToolChange, ToolResultTarget, ToolTarget, UserTarget
from injectors.path import Path as Walked
from injectors.streams import Stream
from tests.gateway.dialogue import TURNS, body, history, lead, result, user
from tests.gateway.servers import gateway, upstream

EVERYTHING = """\
name: many
version: 1
assume_tools: declared
bounds: {faults_per_call: 1, faults_per_session: 3, events_per_tool: 6}
rules:
  - {operator: "user.*", severity: 0.6}
  - {operator: "tool.*", severity: 0.5, when: {probability: 0.3}}
  - {operator: "state.*", severity: 0.3}
  - {operator: "schema.*", severity: 0.5}
  - {operator: transport.latency, severity: 0.01}
"""


def audited(tmp_path: Path, *arguments: str) -> Result:
    command = ["noise", "audit", str(tmp_path / "store.db"), *arguments]
    return CliRunner().invoke(root, command, env={"COLUMNS": "200"})


def broken(tmp_path: Path) -> list[dict[str, Any]]:
    """What the audit finds; exit code 1 exactly where it finds something."""
    result = audited(tmp_path, "--json")
    found: list[dict[str, Any]] = json.loads(result.stdout)["breaches"]
    assert result.exit_code == (1 if found else 0), result.output
    return found


async def store(tmp_path: Path, profile: str, *, sessions: int = 1, statuses: bool = False) -> None:
    """A store, made by conversations through a gateway under the profile."""
    file = tmp_path / "profile.yaml"
    file.write_text(profile)
    async with upstream() as app, gateway(tmp_path, app, profile=str(file)) as running:
        for number in range(sessions):
            if statuses:
                for turn in range(len(TURNS)):
                    await running.chat(body(*history(turn + 1)), f"s{number}")
            else:
                await lead(running, f"s{number}", range(len(TURNS)))
        await running.flush()


async def test_a_store_made_through_the_gateway_holds_and_is_counted(tmp_path: Path) -> None:
    await store(tmp_path, EVERYTHING, sessions=12)
    result = await asyncio.to_thread(audited, tmp_path, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["noisy"] == found["audited"] == found["held"] == 12 and found["share_held"] == 1.0
    assert found["breaches"] == [] and set(found["guarantees"].values()) == {0}
    seen = {one["operator"] for one in found["operators"] if one["injected"]}
    assert len(seen) > 25, seen
    reads = found["tool_classes"]["read_only"]
    assert reads["results"] == 36 and 0 < reads["destroyed"] <= reads["injected"] <= 36
    assert sum(one["withdrawn"] for one in found["operators"]) > 0 and found["reasons"]
    told = await asyncio.to_thread(audited, tmp_path)
    assert "the guarantees held in 12 of 12 noisy sessions (100.0%)" in told.output
    one = await asyncio.to_thread(audited, tmp_path, "--json", "--session", "s3")
    assert json.loads(one.stdout)["sessions"] == 1


class Evil:
    """Severity: none; it does harm always."""

    def __init__(self, harm: Callable[[Any], Any], draw: Draw) -> None:
        self._harm, self._draw = harm, draw

    def draw(self, target: Any, rng: Stream, severity: float) -> Draw:
        return self._draw

    def apply(self, target: Any, draw: Draw) -> operator.Result:
        return operator.Result(self._harm(target), "Harm was done.")


@pytest.fixture
def evil() -> Iterator[Callable[..., str]]:
    """Registers an operator that does this harm, and gives the profile that has it."""
    before = dict(operator._registered)

    def register(
        harm: Callable[[Any], Any],
        site: Site,
        recovery: Recovery,
        *,
        fault: bool = False,
        draw: Draw | None = None,
        bounds: str = "{}",
    ) -> str:
        operator._registered["user.evil"] = operator.Registered(
            "user.evil", site, recovery, Evil(harm, draw or {}), fault=fault
        )
        rule = "rules: [{operator: user.evil, severity: 1}]"
        return f"name: evil\nbounds: {bounds}\n{rule}\n"

    yield register
    operator._registered.clear()
    operator._registered.update(before)


@pytest.fixture
def asleep(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guard lets everything through."""

    def nothing(*_: Any, **__: Any) -> None:
        return None

    for module, names in (
        (solvability, ("before_fault", "after_user", "after_tool")),
        (tool_guard, ("refused", "harmful")),
    ):
        for name in names:
            monkeypatch.setattr(module, name, nothing)
    monkeypatch.setattr(Walked, "full", lambda *_: False)
    monkeypatch.setattr(Exchanges, "_may_destroy", lambda *_: True)


def without_figures(target: UserTarget) -> str:
    return "".join(letter for letter in target.text if not letter.isdigit())


def another_status(target: ToolResultTarget) -> str:
    return target.text.replace("shipped", "delivered")


def without_parameters(target: ToolTarget) -> ToolChange:
    return ToolChange(ToolSchema(target.tool.name, "Look up an order.", {"type": "object", "properties": {}}))


TIMED_OUT = "Tool execution timed out."


@pytest.mark.usefixtures("asleep")
@pytest.mark.parametrize(
    "guarantee,turn,what,given",
    [
        (
            "protected entities",
            0,
            "'W17' is lost",
            {"harm": without_figures, "site": Site.USER_TEXT, "recovery": Recovery.NONE_NEEDED},
        ),
        (
            "protected entities",
            0,
            "'W99' is made up",
            {
                "harm": lambda target: f"{target.text} Or W99.",
                "site": Site.USER_TEXT,
                "recovery": Recovery.IGNORE,
            },
        ),
        (
            "contradictions settled",
            0,
            "isn't what was said last",
            {
                "harm": lambda target: f"This is final: W17. {target.text} Green, no, I mean.",
                "site": Site.USER_TEXT,
                "recovery": Recovery.IGNORE,
                "draw": {"final": ["W17"], "edits": [{"at": 0, "was": "", "now": "Green, no, I mean"}]},
            },
        ),
        (
            "contradictions settled",
            0,
            "isn't settled",
            {
                "harm": lambda target: f"Not W17 maybe. {target.text}".replace("Not W17", "Not this"),
                "site": Site.USER_TEXT,
                "recovery": Recovery.IGNORE,
                "draw": {"final": ["W17"]},
            },
        ),
        (
            "true value",
            1,
            "values are gone, and 'ignore' brings none back",
            {"harm": lambda _: TIMED_OUT, "site": Site.TOOL_RESULT, "recovery": Recovery.IGNORE},
        ),
        (
            "true value",
            1,
            "no other tool is declared",
            {
                "harm": lambda _: TIMED_OUT,
                "site": Site.TOOL_RESULT,
                "recovery": Recovery.OTHER_TOOL,
                "fault": True,
            },
        ),
        (
            "detectable",
            1,
            "could be taken for a true one",
            {"harm": another_status, "site": Site.TOOL_RESULT, "recovery": Recovery.RETRY, "fault": True},
        ),
        (
            "forced success",
            2,
            "fault 2 of 1 on get_order",
            {
                "harm": lambda _: TIMED_OUT,
                "site": Site.TOOL_RESULT,
                "recovery": Recovery.RETRY,
                "fault": True,
            },
        ),
        (
            "forced success",
            2,
            "fault 2 of 1 in all",
            {
                "harm": lambda _: TIMED_OUT,
                "site": Site.TOOL_RESULT,
                "recovery": Recovery.RETRY,
                "fault": True,
                "bounds": "{faults_per_call: 1, faults_per_session: 1}",
            },
        ),
        (
            "forced success",
            1,
            "2 turns in a row destroyed",
            {
                "harm": lambda _: {"where": "request", "kind": "status", "status": 503},
                "site": Site.TRANSPORT,
                "recovery": Recovery.RETRY,
                "fault": True,
            },
        ),
        (
            "dose caps",
            2,
            "injection 2 of 1",
            {
                "harm": lambda target: f"{target.text} ",
                "site": Site.TOOL_RESULT,
                "recovery": Recovery.IGNORE,
                "bounds": "{events_per_session: 1}",
            },
        ),
        (
            "dose caps",
            2,
            "injection 2 of 1 on get_order",
            {
                "harm": lambda target: f"{target.text} ",
                "site": Site.TOOL_RESULT,
                "recovery": Recovery.IGNORE,
                "bounds": "{events_per_tool: 1}",
            },
        ),
        (
            "true tools",
            0,
            "get_order: the declared tool takes other parameters than it did",
            {"harm": without_parameters, "site": Site.TOOL_SCHEMA, "recovery": Recovery.IGNORE},
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_guard_that_slept_is_caught(
    tmp_path: Path,
    evil: Callable[..., str],
    guarantee: str,
    turn: int,
    what: str,
    given: dict[str, Any],
) -> None:
    await store(tmp_path, evil(**given), statuses=True)
    found = [one for one in await asyncio.to_thread(broken, tmp_path) if one["guarantee"] == guarantee]
    first = next((one for one in found if what in one["what"]), None)
    assert first is not None, found
    assert (first["session"], first["turn"], first["operator"]) == ("s0", turn, "user.evil")
    assert first["event"] is not None
    told = await asyncio.to_thread(audited, tmp_path)
    assert told.exit_code == 1 and f"BROKEN {guarantee}: session s0, turn {turn}, event" in told.output


@pytest.mark.usefixtures("asleep")
async def test_a_write_that_was_destroyed_is_caught(tmp_path: Path, evil: Callable[..., str]) -> None:
    profile = evil(lambda _: TIMED_OUT, Site.TOOL_RESULT, Recovery.RETRY, fault=True)
    file = tmp_path / "profile.yaml"
    file.write_text(profile)
    function = {"name": "cancel_order", "arguments": "{}"}
    called = {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": function}]}
    async with upstream() as app, gateway(tmp_path, app, profile=str(file)) as running:
        await running.chat(body(user("Cancel it."), called, result("c", "W1")), "s0")
        await running.flush()
    [found] = await asyncio.to_thread(broken, tmp_path)
    assert found["guarantee"] == "tool classes"
    assert found["what"] == "cancel_order is unknown: a retry would repeat what it did"


SOUND = (
    "name: sound\nrules: [{operator: user.redundant, severity: 1}, {operator: tool.timeout, severity: 1}]\n"
)


@pytest.mark.parametrize(
    "tampering,guarantee,what",
    [
        ("DELETE FROM event WHERE operator = 'tool.timeout'", "accounted", "no event says so"),
        ("UPDATE event SET before = before || 'x'", "accounted", "it doesn't begin with what stood there"),
        ("UPDATE event SET after = after || ' W99'", "accounted", "the policy wasn't sent what it says"),
        ("UPDATE event SET after = after || ' W99'", "protected entities", "'W99' is made up"),
        ("UPDATE event SET recovery = 'ignore'", "true value", "'ignore' brings none back"),
        ("UPDATE event SET tool_class = 'unknown'", "tool classes", "get_order is read_only"),
        ("UPDATE session SET arm = 'clean'", "accounted", "a clean session got noise"),
        (
            "UPDATE session SET plan_json = json_set(plan_json, '$.bounds.faults_per_session', 1)",
            "forced success",
            "fault 2 of 1 in all",
        ),
        (
            "UPDATE session SET plan_json = json_set(plan_json, '$.bounds.events_per_session', 2)",
            "dose caps",
            "injection 3 of 2",
        ),
        (
            "UPDATE session SET plan_json = "
            "json_set(plan_json, '$.tool_classes', json('{\"get_*\": \"unknown\"}'))",
            "tool classes",
            "a retry would repeat what it did",
        ),
    ],
)
async def test_a_store_that_was_tampered_with_is_caught(
    tmp_path: Path, tampering: str, guarantee: str, what: str
) -> None:
    await store(tmp_path, SOUND)
    assert await asyncio.to_thread(broken, tmp_path) == []
    connection = sqlite3.connect(tmp_path / "store.db")
    with connection:
        connection.execute(tampering)
    connection.close()
    found = await asyncio.to_thread(broken, tmp_path)
    assert [one for one in found if one["guarantee"] == guarantee and what in one["what"]], found


async def test_what_is_not_recorded_is_not_said_to_hold(tmp_path: Path) -> None:
    file = tmp_path / "profile.yaml"
    file.write_text(SOUND)
    async with upstream() as app, gateway(tmp_path, app, profile=str(file), record="metadata") as running:
        await lead(running, "s", range(2))
        await running.flush()
    found = json.loads((await asyncio.to_thread(audited, tmp_path, "--json")).stdout)
    assert (found["noisy"], found["audited"], found["share_held"]) == (1, 0, None)
    assert found["not_audited"] == {"its bodies are not recorded": 1}


def test_what_can_not_be_audited_is_named(tmp_path: Path) -> None:
    missing = audited(tmp_path)
    assert missing.exit_code == 2 and "there is no store" in missing.stderr
    SqliteStore.from_url(f"sqlite:///{tmp_path}/store.db").close()
    nobody = audited(tmp_path, "--session", "nobody")
    assert nobody.exit_code == 2 and "no session 'nobody'" in nobody.stderr


async def test_links_have_a_dose_too_also_over_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "profile.yaml"
    rules = "rules: [{operator: transport.latency, severity: 0.01}]"
    file.write_text(f"name: slow\nbounds: {{events_per_session: 3}}\n{rules}\n")
    async with upstream() as app:
        for turns in (range(2), range(2, len(TURNS))):
            async with gateway(tmp_path, app, profile=str(file)) as running:
                await lead(running, "s0", turns)
                await running.flush()
    found = json.loads((await asyncio.to_thread(audited, tmp_path, "--json")).stdout)
    assert [one["injected"] for one in found["operators"]] == [3] and found["breaches"] == []
