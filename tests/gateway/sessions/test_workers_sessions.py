"""Sessions that several workers serve: any of them takes the next turn, as if it had taken them all."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from crosswind.gateway.trajectory.store import StoreError
from crosswind.gateway.trajectory.turn_body import LedgerBody, decode_body, encode_body
from crosswind.testing import Answer, Call, Dialogue, ScriptedProvider
from crosswind.testing.replies import CUT, chunks, plain
from tests.gateway.dialogue import PROFILE, body, call, history, lead, result, user
from tests.gateway.servers import Running, answer, delta, event, gateway, raising, upstream
from tests.gateway.sessions.peers import flush, workers


async def test_turns_that_go_round_show_what_one_process_shows(tmp_path: Path) -> None:
    (tmp_path / "alone").mkdir()
    async with upstream() as app, gateway(tmp_path / "alone", app, noise=PROFILE) as running:
        await lead(running, "s", range(5))
        expected = [seen.body for seen in app.requests]
    async with upstream() as app, workers(tmp_path, app, 3, noise=PROFILE) as peers:
        for turn in range(5):
            assert (await peers[turn % 3].chat(body(*history(turn + 1)), "s")).status_code == 200
        assert [seen.body for seen in app.requests] == expected
        stored = await peers[0].trajectory("s")
        assert [(turn["index"], turn["parent"], turn["branch"]) for turn in stored["turns"]] == [
            (0, None, ""),
            (1, 0, ""),
            (2, 1, ""),
            (3, 2, ""),
            (4, 3, ""),
        ]
        events = [(one["turn_index"], one["operator"]) for one in stored["events"]]
        assert len(events) == len(set(events)) > 3, "nothing is decided twice"


async def test_what_was_shown_is_looked_up_not_computed_anew(tmp_path: Path) -> None:
    async with upstream() as app, workers(tmp_path, app, noise=PROFILE) as (first, second):
        await first.chat(body(*history(1)), "s")
        with closing(sqlite3.connect(tmp_path / "store.db")) as store, store:
            (ledger,) = store.execute("SELECT ledger FROM turn").fetchone()
            held = decode_body(ledger, LedgerBody)
            told = [replace(shown, text="as the ledger has it") for shown in held.shown]
            store.execute("UPDATE turn SET ledger = ?", (encode_body(LedgerBody(told, held.names)),))
        await second.chat(body(*history(2)), "s")
        assert app.requests[-1].texts()[0] == "as the ledger has it"
        await first.chat(body(*history(3)), "s")
        assert app.requests[-1].texts()[2] == app.requests[-2].texts()[2], "what the second one decided"


async def test_concurrent_turns_of_one_session_get_places_of_their_own(tmp_path: Path) -> None:
    together = asyncio.Barrier(8)

    async def wait(_: int) -> None:
        await together.wait()

    finish = event([delta("hello", finish="stop")])
    async with upstream(chunks(finish, before=wait)) as app, workers(tmp_path, app) as peers:
        await asyncio.gather(
            *(
                peers[number % 2].chat(body(user("the same"), user(f"task {number}"), stream=True), "s")
                for number in range(8)
            )
        )
        await flush(peers)
        stored = await peers[0].trajectory("s")
        assert [turn["index"] for turn in stored["turns"]] == list(range(8))
        assert len({turn["branch"] for turn in stored["turns"]}) == 8


async def test_equal_turns_at_the_same_moment_are_branches_too(tmp_path: Path) -> None:
    async with upstream() as app, workers(tmp_path, app, 3) as peers:
        hello = body(user("hello there"))
        await asyncio.gather(*(peers[number % 3].chat(hello, "s") for number in range(12)))
        await flush(peers)
        stored = await peers[0].trajectory("s")
        assert [turn["index"] for turn in stored["turns"]] == list(range(12))
        assert len({turn["branch"] for turn in stored["turns"]}) == 12


async def test_a_retry_that_another_worker_gets_is_an_attempt_at_the_same_turn(tmp_path: Path) -> None:
    async with (
        upstream(chunks(b"data: {}\n\n", CUT), plain(answer())) as app,
        workers(tmp_path, app) as (first, second),
    ):
        asked = body(user("hello"))
        with pytest.raises(Exception, match=r"peer closed|incomplete"):
            await first.chat(asked, "s")
        await second.chat(asked, "s", x_stainless_retry_count="1")
        await first.flush()
        stored = await second.trajectory("s")
        assert [(turn["index"], turn["attempt"]) for turn in stored["turns"]] == [(0, 0), (0, 1)]


async def test_closed_and_deleted_sessions_are_seen_by_all_at_once(tmp_path: Path) -> None:
    async with upstream() as app, workers(tmp_path, app, 3) as (control, first, second):
        opened = (await control.api("POST", "/api/sessions", {})).json()
        key = {"authorization": f"Bearer {opened['api_key']}"}
        for running in (first, second):
            assert (await running.chat(body(*history(1)), **key)).status_code == 200
        closed = await control.api("POST", f"/api/sessions/{opened['id']}/close")
        assert closed.is_success, closed.text
        for running in (first, second, control):
            assert (await running.chat(body(*history(2)), **key)).status_code == 409
        deleted = await control.api("DELETE", f"/api/sessions/{opened['id']}")
        assert deleted.is_success, deleted.text
        for running in (first, second):
            assert await running.gateway.sessions.get(opened["id"]) is None


async def test_a_session_that_another_worker_stopped_gets_no_noise_here(tmp_path: Path) -> None:
    async with upstream() as app, workers(tmp_path, app, noise=PROFILE) as (first, second):
        await second.chat(body(*history(1)), "s")
        assert app.requests[-1].texts() != [history(1)[0]["content"]]
        first.gateway.shared.receive_noise_switch(False)
        await first.chat(body(*history(1)), "s")
        await second.chat(body(*history(1)), "s")
        assert app.requests[-1].texts() == [history(1)[0]["content"]]
        stored = await second.trajectory("s")
        assert [turn["fitness"] for turn in stored["turns"]][1:] == ["noise_stopped"] * 2


async def test_a_profile_that_was_stored_is_in_force_for_sessions_opened_anywhere(tmp_path: Path) -> None:
    calm = PROFILE.replace("probability: 1.0", "probability: 0.0")
    async with upstream() as app:
        async with gateway(tmp_path, app) as running:
            await running.api("PUT", "/api/profiles/flaky", {"yaml": calm})
        async with workers(tmp_path, app, profile="flaky") as (control, worker):
            await worker.chat(body(*history(1)), "before")
            assert app.requests[-1].texts() == [history(1)[0]["content"]]
            put = await control.api("PUT", "/api/profiles/flaky", {"yaml": PROFILE})
            assert put.status_code == 200, put.text
            await worker.chat(body(*history(1)), "after")
            assert app.requests[-1].texts() != [history(1)[0]["content"]]
            await worker.chat(body(*history(1)), "before")
            assert app.requests[-1].texts() == [history(1)[0]["content"]], "its plan was frozen"


async def test_unnamed_sessions_are_numbered_over_all_processes(tmp_path: Path) -> None:
    async with upstream() as app, workers(tmp_path, app) as peers:
        opened = [(await peers[turn % 2].api("POST", "/api/sessions", {})).json() for turn in range(4)]
        assert [one["plan"]["scope_key"] for one in opened] == [f"unnamed-{number}" for number in range(4)]


async def test_a_worker_that_cannot_read_the_ledger_adds_no_noise_and_its_turns_are_unfit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with upstream() as app, workers(tmp_path, app, noise=PROFILE) as (first, second):
        await second.chat(body(*history(1)), "s")
        shown = app.requests[-1].texts()
        await first.chat(body(*history(2)), "s")
        with monkeypatch.context() as patch:
            for name in ("session_state", "session"):
                patch.setattr(second.gateway.store, name, raising(StoreError("no such disk")))
            await second.chat(body(*history(3)), "s")
            clean = [message["content"] for message in history(3)]
            assert app.requests[-1].texts() == [*shown, *clean[1:]], (
                "history as far as it is known, and nothing new"
            )
        await second.chat(body(*history(4)), "s")
        await first.flush()
        stored = await second.trajectory("s")
        assert [turn["fitness"] for turn in stored["turns"]] == [
            "no_token_ids",
            "no_token_ids",
            "ledger_unavailable",
            "no_token_ids",
        ]
        assert [turn["index"] for turn in stored["turns"]] == [0, 1, 2, 3]
        again = app.requests[-1].texts()
        await first.chat(body(*history(4)), "s")
        assert app.requests[-1].texts() == again


async def test_without_its_leases_a_turn_gets_a_place_that_is_no_other_ones(tmp_path: Path) -> None:
    async with upstream() as app, workers(tmp_path, app, noise=PROFILE) as (first, second):
        await first.chat(body(*history(1)), "s")
        assert second.gateway.worker_sync is not None
        second.gateway.worker_sync.leases.close()
        await second.chat(body(*history(2)), "s")
        await first.chat(body(*history(2)), "s")
        await second.flush()
        stored = await first.trajectory("s")
        found = [(turn["index"] < 10**9, turn["fitness"]) for turn in stored["turns"]]
        assert found == [(True, "no_token_ids"), (True, "no_token_ids"), (False, "ledger_unavailable")]


async def test_what_another_worker_delivered_alike_is_not_taken_for_this_ones(tmp_path: Path) -> None:
    """Some endpoints give one call id again and again: whose it is can't be told then, by no worker."""
    calling = answer()
    calling["choices"][0]["message"] = call("call_0", "W17")
    async with upstream(plain(calling)) as app, workers(tmp_path, app) as (first, second):
        for running in (first, second):
            await running.chat(body(*history(1)))
        await flush((first, second))
        await first.chat(body(*history(1), call("call_0", "W17"), result("call_0", "W17")))
        found = await first.sessions()
        assert len(found) == 2
        assert [one["quarantine"] for one in found if one["quarantine"]] == [
            "inferred: its history was delivered in several sessions alike"
        ]


PROFILES = (
    "noisyagent",
    "chaos/flaky-tools",
    "chaos/confused-users",
    "agentnoisebench/redundancy",
    "robustbench-tc/Typo",
    "robustbench-tc/Dup-Desc",
    "robustbench-tc/MisDesc-Abbr",
    "robustbench-tc/RedunTool",
)


def tool(name: str) -> dict[str, Any]:
    parameters = {
        "type": "object",
        "properties": {"order_id": {"type": "string", "description": "The order's id."}},
        "required": ["order_id"],
    }
    function = {"name": name, "description": f"Look up what {name} says.", "parameters": parameters}
    return {"type": "function", "function": function}


TOOLS = [tool("get_order_status"), tool("get_customer_record")]
WORDS = ("please", "check", "my order W17", "and", "the customer", "on Monday", "again", "total 120.50")


def policy(dialogue: Dialogue) -> Answer:
    """Calls what it is shown, one or two tools at once, and says a word when it has the results."""
    messages, names = dialogue.body["messages"], [one.name for one in dialogue.tools]
    at = len(messages)
    if messages[-1]["role"] == "tool":
        return Answer(f"Done after {at}.")
    chosen = [names[at % len(names)], *([names[-1]] if at % 3 else [])]
    calls = (Call(name, {"order_id": "W17"}, f"call-{at}-{number}") for number, name in enumerate(chosen))
    return Answer(calls=tuple(calls))


@dataclass(frozen=True)
class Step:
    """One user turn: what is said, how the client writes its history, and who serves its requests."""

    text: str
    parts: bool
    """Contents as lists of parts, with a cache marker."""
    spaced: bool
    """JSON written with spaces and another order of keys."""
    back: bool
    """The client first drops its last turn: a branch."""
    stream: bool
    served_by: tuple[int, int, int]


STEPS = st.lists(
    st.builds(
        Step,
        st.lists(st.sampled_from(WORDS), min_size=2, max_size=6).map(" ".join),
        st.booleans(),
        st.booleans(),
        st.booleans(),
        st.booleans(),
        st.tuples(*[st.integers(0, 1)] * 3),
    ),
    min_size=2,
    max_size=4,
)


class Client:
    """An agent that leads a conversation by steps over several workers."""

    def __init__(self, peers: list[Running], session: str, profile: str) -> None:
        self._crew = peers
        self._session = session
        self._profile = profile
        self.messages: list[dict[str, Any]] = []
        self.delivered: list[dict[str, Any]] = []

    async def lead(self, steps: list[Step]) -> None:
        starts = [0]
        for step in steps:
            if step.back and len(starts) > 1:
                del self.messages[starts.pop() :]
            starts.append(len(self.messages))
            self.messages.append({"role": "user", "content": step.text})
            for served_by in step.served_by:
                answer = await self._ask(step, served_by)
                if not (calls := answer.get("tool_calls")):
                    break
                for made in calls:
                    content = json.dumps({"order_id": "W17", "status": "shipped", "total": 120.5})
                    self.messages.append({"role": "tool", "tool_call_id": made["id"], "content": content})

    async def _ask(self, step: Step, served_by: int) -> dict[str, Any]:
        running = self._crew[served_by % len(self._crew)]
        body = {"model": "tiny", "messages": [self._written(one, step) for one in self.messages]}
        body |= {"tools": TOOLS, "stream": step.stream}
        raw = json.dumps(body, indent=1 if step.spaced else None, sort_keys=step.spaced).encode()
        given = await running.chat(raw, self._session, x_crosswind_profile=self._profile)
        assert given.status_code == 200, given.text
        message = _streamed(given.text) if step.stream else given.json()["choices"][0]["message"]
        self.delivered.append(message)
        self.messages.append(message)
        return message

    def _written(self, message: dict[str, Any], step: Step) -> dict[str, Any]:
        if not step.parts or not isinstance(message.get("content"), str):
            return message
        marked = {"type": "text", "text": message["content"], "cache_control": {"type": "ephemeral"}}
        return {**message, "content": [marked]}


def _streamed(text: str) -> dict[str, Any]:
    """The message that a stream's pieces make."""
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    calls: dict[int, dict[str, Any]] = {}
    for line in text.splitlines():
        if not line.startswith("data: {"):
            continue
        for choice in json.loads(line[6:])["choices"]:
            message["content"] += choice["delta"].get("content") or ""
            for piece in choice["delta"].get("tool_calls", ()):
                call = calls.setdefault(
                    piece["index"], {"type": "function", "function": {"name": "", "arguments": ""}}
                )
                call["id"] = piece.get("id") or call.get("id")
                for field, part in piece.get("function", {}).items():
                    call["function"][field] += part
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    return message


@dataclass
class World:
    """One process alone and two workers, before the same upstream."""

    loop: asyncio.AbstractEventLoop
    app: ScriptedProvider
    alone: list[Running]
    peers: list[Running]

    async def seen(self, peers: list[Running], session: str, profile: str, steps: list[Step]) -> Any:
        before = len(self.app.requests)
        client = Client(peers, session, profile)
        await client.lead(steps)
        await flush(peers)
        stored = await peers[0].trajectory(session)
        places = [
            (turn["index"], turn["parent"], turn["branch"], turn["fitness"]) for turn in stored["turns"]
        ]
        return [seen.body for seen in self.app.requests[before:]], client.delivered, places


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    loop = asyncio.new_event_loop()
    one, several = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("several")
    steering: dict[str, Any] = {"steering": True, "steering_cap": {"profiles": PROFILES}}

    async def enter(stack: AsyncExitStack) -> World:
        app = await stack.enter_async_context(upstream(policy))
        alone = await stack.enter_async_context(gateway(one, app, **steering))
        peers = await stack.enter_async_context(workers(several, app, 2, **steering))
        return World(loop, app, [alone], peers)

    stack = AsyncExitStack()
    try:
        yield loop.run_until_complete(enter(stack))
    finally:
        loop.run_until_complete(stack.aclose())
        loop.close()


NUMBERS = count()


@settings(max_examples=30)
@given(st.sampled_from(PROFILES), STEPS)
def test_any_order_of_workers_shows_what_one_process_shows(
    world: World, profile: str, steps: list[Step]
) -> None:
    session = f"session-{next(NUMBERS)}"
    expected = world.loop.run_until_complete(world.seen(world.alone, session, profile, steps))
    shown = world.loop.run_until_complete(world.seen(world.peers, session, profile, steps))
    assert shown == expected
