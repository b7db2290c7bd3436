"""Noise in the words of a language model: asked for, checked, kept, and never waited for too long."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from crosswind.gateway.cli import root
from crosswind.injectors.operators.user.simulated_user.interaction_pattern import OBJECTIVES
from crosswind.testing import Answer, Dialogue, ProviderError, Reply, ScriptedProvider, Step
from crosswind.testing.replies import plain
from tests.gateway.dialogue import body, call, result, user
from tests.gateway.noise.test_system_prompt import PROFILE, TOLD, system
from tests.gateway.noise_model.writer import configured, prompts, writer
from tests.gateway.servers import Running, answer, gateway, upstream
from tests.gateway.sessions.peers import workers
from tests.studies.replay.test_replay import replayed, store_of

ASKED = "Please find out whether order #W2378156 can be sent to mia@example.com before Friday."
REWORDED = "Could order #W2378156 possibly go to mia@example.com before Friday? Do look into that."


def profile(*rules: str) -> dict[str, Any]:
    return {"noise": "name: words\nrules:\n" + "".join(f"  - {rule}\n" for rule in rules)}


PARAPHRASE = "{operator: user.paraphrase, severity: 1.0}"


@asynccontextmanager
async def wording_by(
    tmp_path: Path, *steps: Step | str, rule: str = PARAPHRASE, **model: Any
) -> AsyncIterator[tuple[ScriptedProvider, ScriptedProvider, Running]]:
    """A model that writes by these steps, an upstream, and the gateway in front of it."""
    async with (
        writer(*steps) as scribe,
        upstream() as app,
        gateway(tmp_path, app, **profile(rule), noise_model=configured(scribe, **model)) as running,
    ):
        yield scribe, app, running


def wording(event: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = event["draw"]["wording"]
    return found


async def events(running: Running, session: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await running.trajectory(session))["events"]
    return found


async def test_a_models_words_are_shown_recorded_and_shown_again(tmp_path: Path) -> None:
    async with wording_by(tmp_path, REWORDED, key="sk-secret-of-ours-1") as (scribe, app, running):
        await running.chat(body(user(ASKED)), "s")
        await running.chat(body(user(ASKED), {"role": "assistant", "content": "hello"}, user("...")), "s")
        (event,) = await events(running, "s")
        assert app.requests[0].texts() == [REWORDED]
        assert app.requests[1].texts()[0] == REWORDED
        assert scribe.requests[0].headers["authorization"] == "Bearer sk-secret-of-ours-1"
        assert prompts(scribe)[0][1] == ASKED
        assert wording(event) == {"form": "model", "model": "scribe", "text": REWORDED}
        assert event["note"].endswith("In the words of scribe.")
        assert b"sk-secret-of-ours-1" not in (tmp_path / "store.db").read_bytes()


async def test_equal_content_is_asked_for_once_also_after_a_restart_and_by_another_worker(
    tmp_path: Path,
) -> None:
    async with writer(REWORDED, "never asked for") as scribe, upstream() as app:
        given = {**profile(PARAPHRASE), "noise_model": configured(scribe)}
        async with gateway(tmp_path, app, **given) as running:
            await running.chat(body(user(ASKED)), "one")
            await running.chat(body(user(ASKED)), "two")
            await running.flush()
        async with workers(tmp_path, app, **given) as (first, second):
            await first.chat(body(user(ASKED)), "three")
            await first.flush()
            await second.chat(body(user(ASKED)), "four")
            await second.flush()
        assert [seen.texts() for seen in app.requests] == [[REWORDED]] * 4
        assert len(scribe.requests) == 1


async def test_a_deleted_session_takes_its_words_along_and_leaves_others_theirs(tmp_path: Path) -> None:
    async with writer(REWORDED, "Asked anew: " + ASKED) as scribe, upstream() as app:
        given = {**profile(PARAPHRASE), "noise_model": configured(scribe)}
        async with gateway(tmp_path, app, **given) as running:
            await running.chat(body(user(ASKED)), "one")
            await running.chat(body(user(ASKED)), "two")
            await running.flush()
            await running.api("DELETE", "/api/sessions/one")
        async with gateway(tmp_path, app, **given) as running:
            await running.chat(body(user(ASKED)), "three")
            await running.flush()
            for session in ("two", "three"):
                await running.api("DELETE", f"/api/sessions/{session}")
        assert app.requests[-1].texts() == [REWORDED]
        async with gateway(tmp_path, app, **given) as running:
            await running.chat(body(user(ASKED)), "four")
        assert app.requests[-1].texts() == ["Asked anew: " + ASKED]


async def test_a_text_that_comes_too_late_is_done_by_rule_for_good_and_there_for_the_next(
    tmp_path: Path,
) -> None:
    go_on = asyncio.Event()

    async def write(_: Dialogue) -> Answer:
        await go_on.wait()
        return Answer(REWORDED)

    async with wording_by(tmp_path, write, wait=0.05) as (_, app, running):
        await running.chat(body(user(ASKED)), "late")
        by_rule = app.requests[0].texts()[0]
        assert by_rule not in (ASKED, REWORDED)
        go_on.set()
        await until_kept(running, "late")
        await running.chat(body(user(ASKED)), "next")
        await running.chat(body(user(ASKED), {"role": "assistant", "content": "hello"}, user("...")), "late")
        (event,) = await events(running, "late")
        assert app.requests[1].texts() == [REWORDED]
        assert app.requests[2].texts()[0] == by_rule
        assert wording(event) == {"form": "rule", "why": "the model took more than 0.05 s"}
        assert event["note"].endswith("By rule: the model took more than 0.05 s.")
        for session, shown in (("late", by_rule), ("next", REWORDED)):
            replay = await replayed(tmp_path, session, "--json")
            assert replay.exit_code == 0, replay.output
            first = json.loads(replay.stdout)["turns"][0]
            assert first["outcome"] == "same" and shown in str(first["received_to_sent"])


async def until_kept(running: Running, session: str) -> None:
    """Wait until what is written behind a request is stored."""
    preparation = running.gateway.data.proxy.preparation
    assert preparation is not None
    while under_way := preparation.running():
        await asyncio.wait(under_way)
    await running.flush()


UNUSABLE = {
    "an entity is lost": ("Can you send it before Friday?", "'#W2378156'"),
    "a number comes in": (REWORDED + " It cost 40.", "'40'"),
    "it refuses": ("I'm sorry, I can't help with #W2378156.", "refused to write"),
    "it is the same": (ASKED, "changes nothing"),
    "it is far too long": (REWORDED * 40, "characters"),
}


@pytest.mark.parametrize("write, why", UNUSABLE.values(), ids=UNUSABLE.keys())
async def test_what_the_guard_refuses_is_done_by_rule(tmp_path: Path, write: str, why: str) -> None:
    async with wording_by(tmp_path, write) as (_, app, running):
        await running.chat(body(user(ASKED)), "s")
        (event,) = await events(running, "s")
        assert wording(event)["form"] == "rule" and why in wording(event)["why"]
        assert event["after"] == app.requests[0].texts()[0] != ASKED


def raw(choice: bytes) -> Reply:
    return plain(b'{"choices": [{' + choice)


FAILING: dict[str, tuple[Step, str]] = {
    "fails": (Answer(error=ProviderError(500, "no")), "the model answered HTTP 500"),
    "garbage": (raw(b'"message"'), "no chat completion"),
    "nothing": (raw(b'"message": {"content": ""}}]}'), "empty"),
    "cut off": (raw(b'"message": {"content": "Could"}, "finish_reason": "length"}]}'), "cut off"),
}


@pytest.mark.parametrize(("step", "why"), FAILING.values(), ids=FAILING.keys())
async def test_a_model_that_fails_is_done_without_and_left_alone_after_a_while(
    tmp_path: Path, step: Step, why: str
) -> None:
    async with wording_by(tmp_path, step, failures=2, pause=600) as (scribe, app, running):
        for session in ("one", "two", "three"):
            assert (await running.chat(body(user(ASKED)), session)).status_code == 200
        found = [wording((await events(running, session))[0]) for session in ("one", "two", "three")]
        assert [one["form"] for one in found] == ["rule"] * 3
        assert why in found[0]["why"] and "left alone after 2 failures" in found[2]["why"]
        assert len(scribe.requests) == 2
        assert ASKED not in [seen.texts()[0] for seen in app.requests]


async def test_a_model_that_isnt_there_stops_nothing(tmp_path: Path) -> None:
    async with upstream() as app:
        model = {"url": "http://127.0.0.1:9/v1", "model": "scribe"}
        async with gateway(tmp_path, app, **profile(PARAPHRASE), noise_model=model) as running:
            assert (await running.chat(body(user(ASKED)), "s")).status_code == 200
            (event,) = await events(running, "s")
        assert "can't be asked" in wording(event)["why"]


@pytest.mark.parametrize(("score", "shown"), [("3.5", False), ("Score: 4", True), ("no idea", False)])
async def test_a_judge_refuses_what_it_scores_low(tmp_path: Path, score: str, shown: bool) -> None:
    async with writer(REWORDED) as scribe, writer(score) as judge, upstream() as app:
        model = configured(scribe, judge={"url": judge.base_url, "model": "judge"})
        async with gateway(tmp_path, app, **profile(PARAPHRASE), noise_model=model) as running:
            await running.chat(body(user(ASKED)), "s")
            (event,) = await events(running, "s")
        assert (app.requests[0].texts() == [REWORDED]) is shown
        told = json.loads(prompts(judge)[0][1])
        assert (told["material"], told["text"]) == (ASKED, REWORDED)
        if not shown:
            assert "judge" in wording(event)["why"]


async def test_texts_that_no_judge_has_seen_are_judged_before_they_are_used_again(tmp_path: Path) -> None:
    async with writer(REWORDED) as scribe, writer("2") as judge, upstream() as app:
        rules = profile(PARAPHRASE)
        async with gateway(tmp_path, app, **rules, noise_model=configured(scribe)) as running:
            await running.chat(body(user(ASKED)), "one")
            await running.flush()
        model = configured(scribe, judge={"url": judge.base_url, "model": "judge"})
        async with gateway(tmp_path, app, **rules, noise_model=model) as running:
            await running.chat(body(user(ASKED)), "two")
            await running.chat(
                body(user(ASKED), {"role": "assistant", "content": "hello"}, user("...")), "one"
            )
        shown = [seen.texts()[0] for seen in app.requests]
        assert shown[0] == shown[2] == REWORDED != shown[1]
        assert (len(scribe.requests), len(judge.requests)) == (1, 1)


async def test_what_holds_a_secret_is_not_told_to_the_model(tmp_path: Path) -> None:
    secret = "sk-abcdefghijklmnopqrstuvwx"
    async with wording_by(tmp_path, REWORDED) as (scribe, app, running):
        await running.chat(body(user(f"{ASKED} My key is {secret}.")), "s")
        assert scribe.requests == []
        assert secret in app.requests[0].texts()[0]


async def test_sessions_without_such_an_operator_ask_nothing(tmp_path: Path) -> None:
    async with writer(REWORDED) as scribe, upstream() as app:
        rules = profile(PARAPHRASE, "{operator: user.typos, severity: 1.0}")
        model = configured(scribe, operators=["schema.*", "tool.*"], wait=60)
        async with gateway(tmp_path, app, **rules, noise_model=model) as running:
            await running.chat(body(user(ASKED)), "s")
            reworded, typos = await events(running, "s")
        assert scribe.requests == []
        assert "wording" not in typos["draw"] and "wording" not in reworded["draw"]


async def test_a_profiles_own_words_are_told_to_the_model_and_make_another_text(tmp_path: Path) -> None:
    rule = '{operator: user.paraphrase, severity: 1.0, prompt: "Write as somebody in a hurry does."}'
    async with wording_by(tmp_path, REWORDED, rule=rule) as (scribe, _, running):
        await running.chat(body(user(ASKED)), "s")
        assert "Write as somebody in a hurry does." in prompts(scribe)[0][0]


async def test_texts_for_results_are_asked_for_while_the_tool_is_at_work(tmp_path: Path) -> None:
    remark = "Most people look into the catalogue before they do anything else."
    made = call("c1", "W1")
    asks = {"role": "assistant", "content": None, "tool_calls": made["tool_calls"]}
    choice = {"index": 0, "message": asks, "finish_reason": "tool_calls", "logprobs": None}
    async with (
        writer("\n".join([remark] * 12)) as scribe,
        upstream(plain(answer(choices=[choice]))) as app,
    ):
        given = {
            **profile("{operator: tool.redundant, severity: 1.0}"),
            "noise_model": configured(scribe, wait=0),
        }
        async with gateway(tmp_path, app, **given) as running:
            await running.chat(body(user(ASKED)), "s")
            await until_kept(running, "s")
            await running.chat(body(user(ASKED), asks, result("c1", "W1")), "s")
        assert len(scribe.requests) == 1
        assert "get_order" in prompts(scribe)[0][1] and "shipped" not in prompts(scribe)[0][1]
        assert remark in app.requests[1].texts()[2]


async def test_texts_for_the_next_message_are_asked_for_while_the_policy_samples(tmp_path: Path) -> None:
    question = "do couriers like the rain?"
    drift = "{operator: user.topic_drift, severity: 1.0}"
    async with wording_by(tmp_path, f"{question}\n{question}", rule=drift, wait=0) as (_, app, running):
        await running.chat(body(user(ASKED)), "s")
        await until_kept(running, "s")
        said = {"role": "assistant", "content": "hello"}
        await running.chat(
            body(
                user(ASKED), said, user("And can you send the blue kettle of order #W1234567 to my office?")
            ),
            "s",
        )
        first, second = await events(running, "s")
        assert wording(first)["form"] == "rule" and wording(second)["form"] == "model"
        assert question in app.requests[1].texts()[2] and "the blue kettle" in app.requests[1].texts()[2]


UPSTREAM = {"upstream": "http://127.0.0.1:9/v1"}


async def previewed(*arguments: str) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, root, ["noise", "preview", *arguments])


def in_one_line(text: str) -> str:
    return " ".join(text.split())


async def test_what_the_store_has_is_shown_and_nothing_is_asked(tmp_path: Path) -> None:
    chat = tmp_path / "chat.json"
    chat.write_text(json.dumps([user(ASKED)]))
    rules = profile(PARAPHRASE)
    (tmp_path / "words.yaml").write_text(rules["noise"])
    async with writer(REWORDED) as scribe, upstream() as app:
        model = configured(scribe)
        config = tmp_path / "crosswind.yaml"
        config.write_text(yaml.safe_dump({**UPSTREAM, "store": store_of(tmp_path), "noise_model": model}))
        given = ("--profile", str(tmp_path / "words.yaml"), str(chat))
        async with gateway(tmp_path, app, **rules, noise_model=model) as running:
            before = await previewed("--config", str(config), *given)
            await running.chat(body(user(ASKED)), "s")
            await running.flush()
        after = await previewed("--config", str(config), *given)
        without = await previewed(*given)
    assert before.exit_code == after.exit_code == without.exit_code == 0, before.output + after.output
    assert "no session has had the model write it yet" in in_one_line(before.output)
    assert REWORDED in in_one_line(after.output) and "In the words of scribe" in in_one_line(after.output)
    assert REWORDED not in in_one_line(without.output)
    assert len(scribe.requests) == 1


async def test_a_configuration_without_the_models_url_or_a_store_is_refused(tmp_path: Path) -> None:
    chat, config = tmp_path / "chat.json", tmp_path / "crosswind.yaml"
    chat.write_text(json.dumps([user(ASKED)]))
    model = {"url": "http://127.0.0.1:9/v1", "model": "scribe"}
    for document, says in (
        ({"noise_model": {"url": "nowhere", "model": "m"}}, "noise_model.url"),
        ({"store": f"sqlite:///{tmp_path}/none.db", "noise_model": model}, "none.db"),
    ):
        config.write_text(yaml.safe_dump({**UPSTREAM, **document}))
        result = await previewed("--config", str(config), "--profile", "off", str(chat))
        assert result.exit_code == 2 and says in result.output, result.output


async def test_instructions_are_previewed_too(tmp_path: Path) -> None:
    chat = tmp_path / "chat.json"
    chat.write_text(json.dumps([system(TOLD), user("Hello")]))
    (tmp_path / "difficult.yaml").write_text(PROFILE)
    result = await previewed("--profile", str(tmp_path / "difficult.yaml"), str(chat))
    assert result.exit_code == 0
    assert "user.interaction_pattern" in result.output
    assert any(one in " ".join(result.output.split()) for one in OBJECTIVES)
