"""Noise on live traffic: it stays put over turns and restarts, is recorded, and can be stopped."""

from __future__ import annotations

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.gateway.trajectory.store import StoreError
from crosswind.testing import ScriptedProvider
from tests.gateway.agents import ChatAgent, calling, play
from tests.gateway.closed_world import ABBREVIATED
from tests.gateway.dialogue import PROFILE, TOOLS, body, call, history, lead, result, user
from tests.gateway.servers import Running, gateway, raising, upstream


def clean_texts(turns: int) -> list[Any]:
    return [message["content"] for message in history(turns)]


def assert_prefixes(app: ScriptedProvider, start: int = 0) -> None:
    """Each request's messages begin, byte for byte, with those of the one before."""
    for before, after in zip(app.requests[start:], app.requests[start + 1 :], strict=False):
        shorter, longer = before.json["messages"], after.json["messages"]
        assert longer[: len(shorter)] == shorter
        assert after.body.startswith(before.body[: before.body.index(b'], "tools"')])


async def test_noise_stays_put_while_the_client_resends_its_clean_history(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, noise=PROFILE) as running:
        await lead(running, "s", range(5))
        assert_prefixes(app)
        last = app.requests[-1]
        touched = [shown != clean for shown, clean in zip(last.texts(), clean_texts(5), strict=True)]
        # The user's texts and the first result of each logical call are touched; the repeated call gets the
        # truth.
        assert touched == [True, False, True, False, False, False, True, False, True]
        assert b'"tools": [{"type": "function"' in last.body


async def test_noise_is_the_same_after_a_restart_and_in_a_second_run(tmp_path: Path) -> None:
    sent: list[list[bytes]] = []
    for run in ("one", "two"):
        (tmp_path / run).mkdir()
        async with upstream() as app:
            async with gateway(tmp_path / run, app, noise=PROFILE) as running:
                await lead(running, "s", range(3))
                if run == "two":
                    await lead(running, "s", range(3, 5))
            if run == "one":
                async with gateway(tmp_path / run, app, noise=PROFILE) as running:
                    await lead(running, "s", range(3, 5))
                    stored = await running.trajectory("s")
                    assert [turn["index"] for turn in stored["turns"]] == [0, 1, 2, 3, 4]
                    assert [turn["parent"] for turn in stored["turns"]] == [None, 0, 1, 2, 3]
            assert_prefixes(app)
            sent.append([seen.body for seen in app.requests])
    assert sent[0] == sent[1]


async def test_what_was_shown_and_why_is_recorded(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, noise=PROFILE) as running:
        await lead(running, "s", range(3))
        stored = await running.trajectory("s")
        for turn, seen, count in zip(stored["turns"], app.requests, (1, 2, 3), strict=True):
            assert json.loads(turn["received"]) == body(*history(count))
            assert turn["sent"].encode() == seen.body
            assert json.loads(turn["produced"])["choices"][0]["message"]["content"] == "hello"
            assert (turn["durable"], turn["delivered"]) == ("yes", "yes")
        events = stored["events"]
        assert [(one["turn_index"], one["operator"], one["after"] is None) for one in events] == [
            (0, "user.redundant", False),
            (1, "tool.timeout", False),
            (2, "tool.timeout", True),
        ]
        shown = {one["after"] for one in events}
        assert app.requests[-1].texts()[0] in shown and app.requests[-1].texts()[2] in shown
        assert [one["before"] for one in events] == [clean_texts(3)[0], clean_texts(3)[2], clean_texts(3)[4]]
        assert len({one["slot"] for one in events}) == 3


async def test_a_fork_keeps_the_shared_history_and_becomes_a_branch(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, noise=PROFILE) as running:
        await lead(running, "s", range(2))
        await running.chat(body(*history(1), call("d1", "W99"), result("d1", "W99")), "s")
        await lead(running, "s", range(2, 3))
        turns = (await running.trajectory("s"))["turns"]
        assert [turn["parent"] for turn in turns] == [None, 0, 0, 1]
        assert turns[2]["branch"] not in ("", None)
        assert [turn["branch"] for turn in turns if turn["index"] != 2] == ["", "", ""]
        assert app.requests[2].texts()[0] == app.requests[1].texts()[0]


async def test_clients_may_re_serialise_their_history(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, noise=PROFILE) as running:
        await lead(running, "s", range(2))
        other = history(2)
        other[0] = {
            "role": "user",
            "content": [{"type": "text", "text": other[0]["content"] + "\n", "cache_control": {}}],
        }
        other[2] = dict(reversed(other[2].items()))
        await running.chat(body(*other, user("Thanks!")), "s")
        assert app.requests[2].texts()[0][0]["text"] == app.requests[1].texts()[0]
        assert app.requests[2].texts()[0][0]["cache_control"] == {}
        assert app.requests[2].texts()[2] == app.requests[1].texts()[2]


async def test_a_ledger_that_cannot_be_read_means_no_new_noise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with upstream() as app:
        async with gateway(tmp_path, app, noise=PROFILE) as running:
            await lead(running, "s", range(1))
        async with gateway(tmp_path, app, noise=PROFILE) as running:
            lost = raising(StoreError("the ledger is lost"))
            monkeypatch.setattr(running.gateway.store, "ledger_since", lost)
            await lead(running, "s", range(1, 2))
            assert app.requests[-1].texts() == clean_texts(2)
            stored = await running.trajectory("s")
            assert [turn["fitness"] for turn in stored["turns"]] == ["no_token_ids", "ledger_unavailable"]


async def test_a_store_that_cannot_be_read_does_not_stop_traffic(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = raising(StoreError("no such disk"))
    async with upstream() as app:
        async with gateway(tmp_path, app, noise=PROFILE) as running:
            for look in ("is_unknown", "session"):
                monkeypatch.setattr(running.gateway.store, look, broken)
            await lead(running, "new", range(2))
            assert app.requests[-1].texts() == clean_texts(2)
        async with gateway(tmp_path, app, sessions="strict") as running:
            for look in ("is_unknown", "session"):
                monkeypatch.setattr(running.gateway.store, look, broken)
            refused = await running.chat(body(user("hi")), "new")
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "store_unavailable")


async def stop(running: Running, enabled: bool) -> None:
    assert (await running.api("PUT", "/api/noise", {"enabled": enabled})).json() == {"enabled": enabled}


async def test_the_kill_switch_reverts_history_and_takes_the_session_out_of_training(tmp_path: Path) -> None:
    async with upstream() as app:
        async with gateway(tmp_path, app, noise=PROFILE) as running:
            await lead(running, "s", range(2))
            await stop(running, enabled=False)
            await lead(running, "s", range(2, 3))
            assert app.requests[-1].texts() == clean_texts(3)
            stored = await running.trajectory("s")
            assert stored["session"]["noise_stopped"] is True
            assert stored["turns"][-1]["fitness"] == "noise_stopped"
        async with gateway(tmp_path, app, noise=PROFILE) as running:
            assert not (await running.api("GET", "/api/noise")).json()["enabled"]
            await lead(running, "other", range(1))
            assert app.requests[-1].texts() == clean_texts(1)
            await stop(running, enabled=True)
            await lead(running, "third", range(1))
            assert app.requests[-1].texts() != clean_texts(1)
            await lead(running, "s", range(3, 4))
            assert app.requests[-1].texts() == clean_texts(4), "a session that was stopped stays clean"


async def test_the_kill_switch_works_when_the_store_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with upstream() as app, gateway(tmp_path, app, noise=PROFILE) as running:
        full = raising(OSError(28, "No space left on device"))
        monkeypatch.setattr(running.gateway.store, "write", full)
        await stop(running, enabled=False)
        await lead(running, "s", range(1))
        assert app.requests[-1].texts() == clean_texts(1)
        assert (tmp_path / "store.db.noise-off").exists()


async def test_a_file_is_a_kill_switch_too(tmp_path: Path) -> None:
    async with upstream() as app:
        (tmp_path / "stop").touch()
        async with gateway(tmp_path, app, noise_off_file=tmp_path / "stop", noise=PROFILE) as running:
            await lead(running, "s", range(1))
            assert app.requests[-1].texts() == clean_texts(1)


async def test_one_request_may_be_spared_new_noise_where_clients_may_steer(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, steering=True, noise=PROFILE) as running:
        await lead(running, "s", range(1))
        await running.chat(body(*history(2)), "s", x_crosswind_noise="off")
        assert app.requests[1].texts()[0] == app.requests[0].texts()[0] != clean_texts(1)[0], (
            "history stays as it was"
        )
        assert app.requests[1].texts()[2] == clean_texts(2)[2]
        await lead(running, "s", range(2, 4))
        assert app.requests[3].texts()[2] == clean_texts(2)[2], "what was shown clean stays clean"
        assert app.requests[3].texts()[6] != clean_texts(4)[6]
    async with upstream() as app, gateway(tmp_path, app, noise=PROFILE) as running:
        await running.chat(body(*history(1)), "t", x_crosswind_noise="off")
        assert app.requests[0].texts() != clean_texts(1), "clients may not steer by default"


async def test_latency_is_carried_out_and_recorded_as_injected(tmp_path: Path) -> None:
    async with (
        upstream() as app,
        gateway(
            tmp_path,
            app,
            noise="name: slow\nversion: 1\nsummary: Slow answers.\nrules:\n"
            "  - {operator: transport.latency, severity: 0.05, when: {probability: 1.0}}\n",
        ) as running,
    ):
        await lead(running, "s", range(1))
        stored = await running.trajectory("s")
        (event,) = stored["events"]
        assert (event["operator"], event["site"]) == ("transport.latency", "transport")
        delay_ms = json.loads(event["after"])["delay_ms"]
        assert delay_ms > 0
        assert stored["turns"][0]["total_us"] >= delay_ms * 1000
        assert stored["turns"][0]["error"] is None


async def test_a_marked_retry_is_another_attempt_at_the_same_turn(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, noise=PROFILE) as running:
        await lead(running, "s", range(1))
        await running.chat(body(*history(1)), "s", x_stainless_retry_count="1")
        await running.chat(body(*history(1)), "s", x_stainless_retry_count="0")
        turns = (await running.trajectory("s"))["turns"]
        assert [(turn["index"], turn["attempt"]) for turn in turns] == [(0, 0), (0, 1), (1, 0)]
        assert app.requests[0].body == app.requests[1].body == app.requests[2].body


async def test_an_operator_that_fails_lets_the_clean_request_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crosswind.gateway.noise.decide.perturb_messages", raising(RuntimeError("a defect")))
    async with upstream() as app, gateway(tmp_path, app, noise=PROFILE) as running:
        await lead(running, "s", range(1))
        assert app.requests[0].texts() == clean_texts(1)
        assert (await running.trajectory("s"))["turns"][0]["fitness"] == "noise_failed"


NOISY = "name: noisy\nversion: 1\nsummary: All is touched.\ncompose: all_of\nrules:\n" + "".join(
    f"  - operator: {operator}\n    severity: 1.0\n    when: {{probability: 0.7}}\n"
    for operator in ("user.redundant", "user.typos", "tool.redundant", "tool.timeout", "tool.misleading")
)
SUMMARY = user("Summary of what came before: the customer asked about several orders.")


def exchange(number: int) -> list[dict[str, Any]]:
    order = f"W{number + 10}"
    return [
        user(f"Question {number}: please check the order {order} and tell me when it comes."),
        call(f"call-{number}", order),
        result(f"call-{number}", order),
        {"role": "assistant", "content": f"The order {order} is on its way."},
    ]


def shown(body: dict[str, Any]) -> dict[str, str]:
    """What the policy met of each message that has an anchor, by what tells it apart."""
    out = {}
    for message in body["messages"]:
        if message["role"] == "tool":
            out[message["tool_call_id"]] = message["content"]
        elif message["role"] == "user" and "Summary" not in message["content"]:
            found = re.search(r"W\d\d", message["content"])
            out[found[0] if found else message["content"][:10]] = message["content"]
    return out


@pytest.mark.parametrize("restart", [False, True], ids=["one process", "another process"])
@settings(max_examples=12, deadline=None)
@given(st.integers(2, 6), st.data())
async def test_what_is_left_stays_as_it_was(restart: bool, turns: int, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, turns - 1)) * 4 + data.draw(st.sampled_from([0, 3]))
    history = [message for number in range(turns) for message in exchange(number)]
    with TemporaryDirectory() as folder:
        tmp = Path(folder)
        async with upstream() as app:
            async with gateway(tmp, app, noise=NOISY) as running:
                for number in range(turns):
                    body = {"model": "m", "tools": TOOLS, "messages": history[: 4 * number + 3]}
                    await running.chat(body, "one")
                before = shown(app.requests[-1].json)
                compacted = [SUMMARY, *history[cut:]]
                if not restart:
                    await running.chat({"model": "m", "tools": TOOLS, "messages": compacted}, "one")
            if restart:
                async with gateway(tmp, app, noise=NOISY) as running:
                    await running.chat({"model": "m", "tools": TOOLS, "messages": compacted}, "one")
            after = shown(app.requests[-1].json)
            assert after == {name: text for name, text in before.items() if name in after}
            kept = [one for one in history[cut:] if one["role"] in ("user", "tool")]
            assert len(after) == len(kept), "nothing got lost"


async def test_what_was_put_back_is_put_back_behind_a_summary_too(tmp_path: Path) -> None:
    async with play(tmp_path, ChatAgent, ABBREVIATED, calling(1, 0), calling(0)) as (app, _, agent):
        await agent.ask()
        await agent.answer_calls()
        kept = agent.history[1:3]
        agent.history = [SUMMARY, *kept]
        await agent.ask("And what else?")
        del app.dialogues[2:]  # It doesn't go on from the one before.
        met, again = (app.bodies(agent.path)[at]["messages"] for at in (1, 2))
        assert json.dumps(met[1:4]) == json.dumps(again[1:4]), (
            "the phantom's call and result with the real one"
        )
