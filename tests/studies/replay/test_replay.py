"""`crosswind replay`: what was sent follows from the record, and what doesn't is named."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from crosswind.gateway.cli import root
from crosswind.gateway.protocols.json_values import encode
from crosswind.injectors import operator as operator_registry
from crosswind.injectors import registry
from crosswind.injectors.packs.load import load_all, use_folder
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, UserTarget
from crosswind.injectors.targets import Result as TextResult
from crosswind.simulators.environment import load
from crosswind.studies.replay.comparison import compare
from crosswind.testing import Answer, ScriptedProvider, answer_messages
from tests.gateway.agents import ChatAgent, calling, play
from tests.gateway.closed_world import ABBREVIATED
from tests.gateway.dialogue import PROFILE, TURNS, body, user
from tests.gateway.servers import Running, gateway, settings, upstream
from tests.own_packs import PROFILE as LIBRARY
from tests.own_packs import WORDS, conversation, write_packs
from tests.studies.audit.stores import tamper


def store_of(tmp_path: Path) -> str:
    return settings(tmp_path, "http://127.0.0.1:1/v1").store


async def replayed(tmp_path: Path, *arguments: str) -> Result:
    """The command, run beside the loop: it may ask an upstream that runs here."""
    command = ["replay", *arguments, "--store", store_of(tmp_path)]
    return await asyncio.to_thread(CliRunner().invoke, root, command)


async def led(running: Running, session: str, *, streaming: bool = False) -> None:
    """A conversation: the agent resends its clean history with every turn."""
    history: list[dict[str, Any]] = []
    for at, new in enumerate(TURNS):
        history += new
        headers = {"x_crosswind_noise": "off"} if at == 1 else {}
        answer = await running.chat(body(*history, stream=streaming), session, **headers)
        assert answer.status_code == 200


async def noisy(tmp_path: Path, session: str, app: Any, **more: Any) -> None:
    async with gateway(tmp_path, app, noise=PROFILE, steering=True, **more) as running:
        await led(running, session)
        await led(running, f"{session}-streaming", streaming=True)
        await running.flush()


async def test_what_was_sent_follows_from_the_plan_also_where_a_header_spared_noise(tmp_path: Path) -> None:
    async with upstream() as app:
        await noisy(tmp_path, "s", app)
        for session in ("s", "s-streaming"):
            result = await replayed(tmp_path, session, "--json")
            assert result.exit_code == 0, result.output
            turns = json.loads(result.stdout)["turns"]
            assert [turn["outcome"] for turn in turns] == ["same"] * len(TURNS)
            assert turns[0]["received_to_sent"], "the first user's text was touched"
            assert turns[1]["injected"] == [], "it was spared"
            assert not any(turn["sent_to_recomputed"] for turn in turns)


async def test_capture_and_a_models_other_name_are_taken_from_the_record(tmp_path: Path) -> None:
    async with upstream() as app:
        await noisy(tmp_path, "s", app, capture="on", token_ids=True)
        result = await replayed(tmp_path, "s", "--json")
        assert result.exit_code == 0, result.output
        assert {turn["outcome"] for turn in json.loads(result.stdout)["turns"]} == {"same"}


async def test_a_record_that_does_not_follow_from_its_plan_is_told(tmp_path: Path) -> None:
    async with upstream() as app:
        await noisy(tmp_path, "s", app)
    tamper(tmp_path, "UPDATE session SET plan_json = json_set(plan_json, '$.seed', 99) WHERE id = 's'")
    result = await replayed(tmp_path, "s")
    assert result.exit_code == 1 and "DIFFERS from what was sent" in result.stdout
    assert "sent, recomputed at messages[" in result.stdout


def change_version(monkeypatch: pytest.MonkeyPatch, operator: str) -> None:
    """Let an operator be of the next version, which draws otherwise."""
    entry = registry.operators()[operator]

    class Other:
        def draw(self, target: Any, rng: SeededRandom, severity: float) -> Draw | None:
            return {}

        def apply(self, target: UserTarget, draw: Draw) -> TextResult:
            return TextResult(f"{target.text} In other words.", "Other words.")

    other = replace(entry, version=entry.version + 1, implementation=Other())
    monkeypatch.setitem(operator_registry._registered, operator, other)


async def test_decisions_of_another_version_are_named_and_the_rest_is_recomputed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with upstream() as app:
        await noisy(tmp_path, "s", app)
    before = json.loads((await replayed(tmp_path, "s", "--json")).stdout)["turns"]
    change_version(monkeypatch, "user.redundant")
    result = await replayed(tmp_path, "s", "--json")
    assert result.exit_code == 3, result.output
    turns = json.loads(result.stdout)["turns"]
    assert [(turn["outcome"], turn["by_recorded_draws"]) for turn in turns] == [("same", False)] * len(TURNS)
    version = registry.operators()["user.redundant"].version
    why = f"version {version - 1} (version {version} is installed)"
    for was, now in zip(before, turns, strict=True):
        named = [one["operator"] for one in now["not_recomputed"] if one["injected"]]
        assert named == [name for name in was["injected"] if name == "user.redundant"]
        assert {one["why"] for one in now["not_recomputed"]} <= {why}
        assert now["injected"] == [name for name in was["injected"] if name != "user.redundant"]
    assert turns[0]["not_recomputed"] and any(turn["injected"] for turn in turns)
    assert f"taken from the record: user.redundant, {why}" in (await replayed(tmp_path, "s")).stdout


async def test_an_operator_that_is_not_installed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with upstream() as app:
        await noisy(tmp_path, "s", app)
    for operator in ("user.redundant", "tool.timeout"):
        monkeypatch.delitem(operator_registry._registered, operator)
    result = await replayed(tmp_path, "s", "--json")
    assert result.exit_code == 3, result.output
    turns = json.loads(result.stdout)["turns"]
    assert {turn["outcome"] for turn in turns} == {"same"}
    assert "which is not installed" in turns[0]["not_recomputed"][0]["why"]


async def test_a_pack_of_another_version_is_named(tmp_path: Path) -> None:
    async with upstream() as app:
        await noisy(tmp_path, "s", app)
    phrases = "json_set(draw_json, '$.phrases', json_array('en/travel@0#same-001'))"
    tamper(tmp_path, f"UPDATE event SET draw_json = {phrases} WHERE operator = 'user.redundant'")
    result = await replayed(tmp_path, "s")
    assert result.exit_code == 3, result.output
    assert "taken from the record: user.redundant, drawn from the pack en/travel@0 (version " in result.stdout


async def test_a_pack_whose_file_has_changed_is_named(tmp_path: Path) -> None:
    """A pack of one's own may have the name and the version of another one."""
    async with upstream() as app, gateway(tmp_path, app, noise=PROFILE, steering=True) as running:
        await led(running, "s")
        await running.flush()
        plan = (await running.trajectory("s"))["session"]["plan"]
    assert plan["packs"] and set(plan["packs"]) <= {pack.edition for pack in load_all()}
    for one in plan["packs"]:
        other = one.replace(":", ":0")
        tamper(tmp_path, f"UPDATE session SET plan_json = replace(plan_json, '{one}', '{other}')")
    result = await replayed(tmp_path, "s")
    assert result.exit_code == 3, result.output
    why = r"user.redundant, drawn from the pack en/\w+@\d+:0\w+ \(en/\w+@\d+:\w+ is installed"
    assert re.search(f"taken from the record: {why}", result.stdout)


async def test_a_session_of_own_packs_is_recomputed_with_these(tmp_path: Path) -> None:
    packs = write_packs(tmp_path)
    async with upstream() as app, gateway(tmp_path, app, noise=LIBRARY, packs=packs) as running:
        await running.chat(conversation(), "s")
        await running.flush()
        assert WORDS in str(app.requests[-1].texts())
    use_folder(None)
    result = await replayed(tmp_path, "s", "--packs", str(packs))
    assert result.exit_code == 0 and "as it was sent" in result.output, result.output
    result = await replayed(tmp_path, "s")
    assert result.exit_code == 3 and "drawn from the pack en/general@70 (version" in result.output
    write_packs(tmp_path, words="Shelf marks may change.")
    result = await replayed(tmp_path, "s", "--packs", str(packs))
    assert result.exit_code == 3 and "drawn from the pack en/general@70:" in result.output, result.output


async def test_the_entries_that_a_rule_may_draw_are_recomputed(tmp_path: Path) -> None:
    rule = "{operator: user.redundant, severity: 1.0, entries: {'*#again-*': 0, '*#chat-*1': 5}}"
    async with upstream() as app, gateway(tmp_path, app, noise=f"name: t\nrules: [{rule}]\n") as running:
        await led(running, "s")
        await running.flush()
    assert "by its recorded draws" not in (await replayed(tmp_path, "s")).stdout
    entries = "json_set(plan_json, '$.rules[0].entries', json_object('*', 0))"
    tamper(tmp_path, f"UPDATE session SET plan_json = {entries}")
    assert "by its recorded draws" in (await replayed(tmp_path, "s")).stdout


async def test_a_session_begun_before_goes_on_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = user("Hello! I would like to know where my order is.")
    more = ({"role": "assistant", "content": "Which?"}, user("The one with the blue lamp, thank you."))
    async with upstream() as app:
        async with gateway(tmp_path, app, noise=PROFILE) as running:
            await running.chat(body(said), "s")
            await running.flush()
        first = app.requests[-1].json["messages"]
        change_version(monkeypatch, "user.redundant")
        tamper(tmp_path, "UPDATE session SET plan_json = json_remove(plan_json, '$.generator')")
        async with gateway(tmp_path, app, noise=PROFILE) as running:
            await running.chat(body(said, *more), "s")
            await running.flush()
        then = app.requests[-1].json["messages"]
        assert first != [said] and then[: len(first)] == first
        assert then[-1]["content"].endswith("In other words."), "what is new is drawn by what is installed"
    result = await replayed(tmp_path, "s", "--json")
    assert result.exit_code == 3, result.output
    assert {turn["outcome"] for turn in json.loads(result.stdout)["turns"]} == {"same"}


async def test_a_masked_turn_is_named_with_its_reason(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app) as running:
        secret = "sk-proj-q8ZtR4mVw2Lx7KpD1nHs5Gb9Yc3Fj6Te0UaXoEiWrMkBvCz"
        await running.chat(body(user(f"my key is {secret}")), "s")
        await running.chat(body(user("hello")), "t")
        await running.flush()
        assert "not replayable: a secret was masked" in (await replayed(tmp_path, "s")).stdout
        masked = await replayed(tmp_path, "s", "--json")
        assert masked.exit_code == 0 and secret not in masked.stdout
        assert json.loads((await replayed(tmp_path, "t", "--json")).stdout)["turns"][0]["outcome"] == "same"


async def test_turns_without_content_are_named(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, record="metadata") as running:
        await running.chat(body(user("hello")), "s")
        await running.flush()
        assert "not replayable: its bodies are not recorded" in (await replayed(tmp_path, "s")).stdout


async def test_an_upstream_is_asked_again_and_its_answers_compared(tmp_path: Path) -> None:
    async with upstream() as app:
        await noisy(tmp_path, "s", app)
        before = len(app.requests)
        same = json.loads((await replayed(tmp_path, "s-streaming", "--json", "--against", app.url)).stdout)
        assert [turn["answer"]["status"] for turn in same["turns"]] == [200] * len(TURNS)
        assert [one.json.get("stream") for one in app.requests[before:]] == [None] * len(TURNS)
        assert not any("authorization" in one.headers for one in app.requests[before:])
        known = await replayed(tmp_path, "s", "--against", app.url, "--key", "sk-of-the-upstream")
        assert app.requests[-1].headers["authorization"] == "Bearer sk-of-the-upstream"
        assert known.exit_code == 0 and "sk-of-the-upstream" not in known.output
        gone = await replayed(tmp_path, "s", "--against", "http://127.0.0.1:1/v1")
        assert gone.exit_code == 1 and "ConnectError" in gone.stdout


async def test_a_base_url_without_its_version_segment_is_told_so(tmp_path: Path) -> None:
    async with upstream() as app:
        await noisy(tmp_path, "s", app)
        async with ScriptedProvider(answer_messages(load("retail").oracle().decide), strict=False) as server:
            bare = server.url
            done = await replayed(tmp_path, "s", "--against", f"{bare}/")
            assert done.exit_code == 1
            hint = f"HTTP 404 at {bare}/chat/completions: is {bare} a base URL, with its /v1?"
            assert done.stdout.count(hint) == len(TURNS)
            assert (await replayed(tmp_path, "s", "--against", f"{server.base_url}/")).exit_code == 0
    for url, says in (("127.0.0.1/v1", "give a URL such as"), ("http://a:b@x/v1", "a URL with a password")):
        refused = await replayed(tmp_path, "s", "--against", url)
        assert refused.exit_code == 2 and f"--against: {says}" in refused.stderr


async def test_what_is_missing_is_named(tmp_path: Path) -> None:
    none = await replayed(tmp_path, "s")
    assert none.exit_code == 2 and "there is no store" in none.stderr
    async with upstream() as app, gateway(tmp_path, app):
        unknown = await replayed(tmp_path, "nobody")
    assert unknown.exit_code == 1 and "has no session 'nobody'" in unknown.stderr


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, JSON)
def test_documents_differ_exactly_where_they_are_not_equal(before: Any, after: Any) -> None:
    found = compare(encode(before), encode(after))
    assert bool(found) == (json.dumps(before) != json.dumps(after))


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize(
    "answers",
    [
        [calling(1, text="Let me see."), calling(0, text="So then."), Answer("Done.")],
        [calling(1, 0, 1, 0), Answer("Two orders."), Answer("Done.")],
        [*[calling(1, text=f"Try {number}.") for number in range(4)], Answer("Five."), Answer("Done.")],
    ],
    ids=["answered inside", "withheld", "again and again"],
)
async def test_calls_that_the_client_never_got_are_taken_from_the_ledger(
    tmp_path: Path, stream: bool, answers: list[Any]
) -> None:
    async with play(tmp_path, partial(ChatAgent, stream=stream), ABBREVIATED, *answers) as (
        _,
        running,
        agent,
    ):
        await agent.ask()
        for _ in range(2):
            await (agent.answer_calls() if agent.last.calls else agent.ask("And now?"))
        await running.flush()
    result = await replayed(tmp_path, "one", "--json")
    assert result.exit_code == 0, result.output
    assert {turn["outcome"] for turn in json.loads(result.stdout)["turns"]} == {"same"}
