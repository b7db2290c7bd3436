"""Two operators that meet on one text, through a gateway: the guard takes the second back, and the audit sees
what was shown in the end."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.injectors.guard import shown_text
from crosswind.injectors.operators.user.asides.redundant import RedundantMessage
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, UserTarget
from crosswind.studies.replay.recompute import replay
from tests.gateway.dialogue import user
from tests.gateway.servers import gateway, upstream
from tests.studies.audit.stores import broken

TEXT = (
    "Hello, I would like a table for some people. Could you book one in the garden by Friday? It is for us."
)
PROFILE = """\
name: meeting
rules:
  - {operator: user.inconsistent, severity: 1}
  - {operator: user.redundant, severity: 1}
"""
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "book_table",
            "parameters": {"type": "object", "properties": {"day": {"type": "string", "format": "date"}}},
        },
    }
]
SESSIONS = 12


async def _lead(tmp_path: Path, profile: str = PROFILE, text: str = TEXT) -> list[Any]:
    """The events of some sessions, each with one message."""
    async with upstream() as app, gateway(tmp_path, app, noise=profile) as running:
        for number in range(SESSIONS):
            answer = await running.chat(
                {"model": "tiny", "messages": [user(text)], "tools": TOOLS}, f"s{number}"
            )
            assert answer.status_code == 200
        await running.flush()
    store = SqliteStore(tmp_path / "store.db")
    found = [store.trajectory(f"s{number}") for number in range(SESSIONS)]
    store.close()
    return [event for one in found if one is not None for event in one.events]


@pytest.fixture
def repeats_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let user.redundant say the message once more behind it, up to the day that the user took back."""

    def draw(self: RedundantMessage, target: UserTarget, rng: SeededRandom, severity: float) -> Draw:
        [again] = re.findall(r"(?s)^.*?\b(?:Mon|Tues|Wednes|Thurs|Satur|Sun)day", target.text)
        return {"asides": [{"at": len(target.text), "said": again}], "phrases": [], "language": "en"}

    monkeypatch.setattr(RedundantMessage, "draw", draw)


async def test_the_false_half_of_a_contradiction_is_not_repeated(tmp_path: Path) -> None:
    events = await _lead(tmp_path)
    assert all(event.after is not None for event in events) and len(events) == 2 * SESSIONS
    assert await asyncio.to_thread(broken, tmp_path) == []


@pytest.mark.usefixtures("repeats_all")
async def test_an_operator_that_says_it_again_is_taken_back(tmp_path: Path) -> None:
    events = await _lead(tmp_path)
    taken = [event for event in events if event.after is None]
    assert taken and {event.operator for event in taken} == {"user.redundant"}
    assert all("as what the user says last, and not 'Friday'" in event.note for event in taken)
    assert await asyncio.to_thread(broken, tmp_path) == []


@pytest.mark.usefixtures("repeats_all")
async def test_the_audit_sees_what_a_guard_that_slept_let_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shown_text, "check_shown_text", lambda *_: None)
    await _lead(tmp_path)
    found = await asyncio.to_thread(broken, tmp_path)
    assert found and {one["guarantee"] for one in found} == {"contradictions settled"}
    assert {one["operator"] for one in found} == {"user.redundant"}
    assert all(one["event"] is not None and "is what was said last" in one["what"] for one in found)


@pytest.mark.usefixtures("repeats_all")
async def test_what_was_shown_before_is_shown_again_and_not_judged_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shown_text, "check_shown_text", lambda *_: None)
    await _lead(tmp_path)
    monkeypatch.undo()
    history = [user(TEXT), {"role": "assistant", "content": "hello"}, user("Thanks a lot for that.")]
    async with upstream() as app, gateway(tmp_path, app, noise=PROFILE) as running:
        for number in range(SESSIONS):
            await running.chat({"model": "tiny", "messages": history, "tools": TOOLS}, f"s{number}")
        await running.flush()
    store, otherwise = SqliteStore(tmp_path / "store.db"), 0
    for number in range(SESSIONS):
        found = store.trajectory(f"s{number}")
        assert found is not None
        replayed = replay(found.session, found.turns, found.events, store.ledger_since(f"s{number}", 0))
        assert all(turn.same for turn in replayed)
        otherwise += any(turn.by_recorded_draws for turn in replayed)
        first, second = (json.loads(turn.sent.bytes())["messages"][0] for turn in found.turns if turn.sent)
        assert first == second
    store.close()
    assert otherwise > 0


async def test_nothing_is_added_to_a_text_that_is_to_be_passed_on(tmp_path: Path) -> None:
    text = "Please open a ticket. It has the description 'My old lamp is broken and so is the small one."
    events = await _lead(tmp_path, text=text)
    assert all(event.after is None or event.after.endswith(text) for event in events)
    taken = [event.note for event in events if event.after is None]
    assert all("added to what is to be passed on word for word" in note for note in taken)
    assert await asyncio.to_thread(broken, tmp_path) == []
