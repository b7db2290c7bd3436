"""`crosswind noise audit`: a store that a gateway made passes, and one that was
tampered with is caught."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from crosswind.gateway.cli import root
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from tests.gateway.dialogue import TURNS, body, lead, user
from tests.gateway.servers import gateway, upstream
from tests.studies.audit.stores import audited, broken, store, tamper

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
    assert sum(one["withheld"] for one in found["operators"]) > 0 and found["reasons"]
    told = await asyncio.to_thread(audited, tmp_path)
    assert "the guarantees held in 12 of 12 noisy sessions (100.0%)" in told.output
    one = await asyncio.to_thread(audited, tmp_path, "--json", "--session", "s3")
    assert json.loads(one.stdout)["sessions"] == 1


async def test_contradictions_of_all_kinds_hold_also_among_other_noise(tmp_path: Path) -> None:
    rules = "".join(
        f"  - {{operator: {name}, severity: 1}}\n"
        for name in ("user.inconsistent", "user.typos", "user.redundant", "user.paraphrase")
    )
    asked = (
        "How many suitcases may I take on Monday, and how much does the large one cost?",
        "Please exchange the blue kettle from order #W1 for the small red one. Send it to a@b.example.",
        "I want an aisle seat, and a morning flight if there is one, on flight HAT001.",
    )
    async with upstream() as app, gateway(tmp_path, app, noise=f"name: doubts\nrules:\n{rules}") as running:
        for number in range(18):
            await running.chat(body(user(f"{asked[number % 3]} This is my request {number}.")), f"s{number}")
        await running.flush()
    assert await asyncio.to_thread(broken, tmp_path) == []


async def test_noise_in_a_text_with_a_secret_is_accounted_for_by_its_events(tmp_path: Path) -> None:
    noise = "name: sure\nrules: [{operator: user.redundant, severity: 1}]\n"
    async with upstream() as app, gateway(tmp_path, app, noise=noise) as running:
        said = "Please send my order W1234 to the office. My login is bob, password=hunter22secret."
        await running.chat(body(user(said)), "s")
        await running.flush()
        (event,) = (await running.trajectory("s"))["events"]
        assert event["after"] and "[redacted]" in event["before"]
    assert await asyncio.to_thread(broken, tmp_path) == []
    shown = await asyncio.to_thread(
        CliRunner().invoke, root, ["sessions", "show", "s", "--store", str(tmp_path / "store.db")]
    )
    assert "user.redundant: eligible 1, decided 1, injected 1" in shown.output


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
        ("UPDATE event SET tool_class = 'unknown'", "tool classes", "a retry would repeat what it did"),
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
    tamper(tmp_path, tampering)
    found = await asyncio.to_thread(broken, tmp_path)
    assert [one for one in found if one["guarantee"] == guarantee and what in one["what"]], found
    assert not [one for one in found if re.search(r"\b(\d+) of \1\b", one["what"])], (
        "what meets a bound keeps it"
    )


async def test_what_is_not_recorded_is_not_said_to_hold(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, noise=SOUND, record="metadata") as running:
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
    rules = "rules: [{operator: transport.latency, severity: 0.01}]"
    slow = f"name: slow\nbounds: {{events_per_session: 3}}\n{rules}\n"
    async with upstream() as app:
        for turns in (range(2), range(2, len(TURNS))):
            async with gateway(tmp_path, app, noise=slow) as running:
                await lead(running, "s0", turns)
                await running.flush()
    found = json.loads((await asyncio.to_thread(audited, tmp_path, "--json")).stdout)
    assert [one["injected"] for one in found["operators"]] == [3] and found["breaches"] == []
