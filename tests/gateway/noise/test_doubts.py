"""Contradictions over turns, and whether anybody answers, on live traffic."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

from click.testing import CliRunner

from crosswind.gateway.cli import root
from tests.gateway.dialogue import body, user
from tests.gateway.servers import gateway, upstream
from tests.studies.replay.test_replay import replayed, store_of

PROFILE = """\
name: doubts
rules:
  - operator: user.inconsistent
    severity: 1.0
    options: {settles: next_message}
    when: {first_call: true}
"""
SAYS = user("I want to return the lamp of order #W2378156.")
ORDER = re.compile(r"#W\d+")
ASKS = {"role": "assistant", "content": "Which order is it?"}


async def test_a_doubt_is_settled_in_the_answer_and_the_audit_finds_it_so(tmp_path: Path) -> None:
    async with upstream() as app:
        async with gateway(tmp_path, app, noise=PROFILE) as running:
            await running.chat(body(SAYS), "s")
            await running.flush()
        async with gateway(tmp_path, app, profile="off") as running:
            await running.chat(body(SAYS, ASKS, user("The lamp's.")), "s")
            await running.flush()
    first, (again, _, settled) = (seen.texts() for seen in app.requests)
    assert first == [again] and again.startswith(SAYS["content"]) and len(ORDER.findall(again)) > 1
    assert settled.startswith("The lamp's.") and ORDER.findall(settled)[-1] == "#W2378156"
    replay = await replayed(tmp_path, "s", "--json")
    assert [turn["outcome"] for turn in json.loads(replay.stdout)["turns"]] == ["same", "same"]
    audit = await asyncio.to_thread(CliRunner().invoke, root, ["noise", "audit", store_of(tmp_path)])
    assert audit.exit_code == 0, audit.output
    with closing(sqlite3.connect(tmp_path / "store.db")) as store, store:
        store.execute("""UPDATE event SET draw_json = json_set(draw_json, '$.settles[0]', '#W1111111')
            WHERE draw_json ->> '$.settles[0]' = '#W2378156'""")
    audit = await asyncio.to_thread(CliRunner().invoke, root, ["noise", "audit", store_of(tmp_path)])
    assert audit.exit_code == 1 and "never in doubt" in audit.output


async def test_whoever_opens_a_session_says_whether_anybody_answers(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, noise=PROFILE) as running:
        for answers in (None, False):
            opened = await running.api("POST", "/api/sessions", {"user_can_answer": answers})
            assert opened.json()["plan"]["user_can_answer"] is (answers is None)
            await running.chat(body(SAYS), opened.json()["id"])
        await running.flush()
    asked, alone = (seen.texts()[0] for seen in app.requests)
    assert all(len(set(ORDER.findall(said))) == 2 for said in (asked, alone))
    with closing(sqlite3.connect(tmp_path / "store.db")) as store:
        draws = [
            json.loads(one) for (one,) in store.execute("SELECT draw_json FROM event ORDER BY created_us")
        ]
    assert [bool(draw.get("owed")) for draw in draws] == [True, False]
