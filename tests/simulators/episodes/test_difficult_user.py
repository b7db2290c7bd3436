"""A scripted user follows the interaction pattern that the gateway draws, and the wish stays."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest

from crosswind.injectors.operators.user.simulated_user.behaviours import KINDS, BehaviourKind, draw_behaviour
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Half
from crosswind.simulators.draws import Draws
from crosswind.simulators.environment import Task, Verdict, load
from crosswind.simulators.episodes.difficult_user import DifficultUser, draw_rival
from tests.simulators.commands.test_through_gateway import gateway, sessions_of
from tests.simulators.episodes.test_model_user import TASKS, played, trajectories

RETAIL = load("retail")
FULL = {"share": 1.0, "first_message": 1}
"""A behaviour that shows in every message."""


def behaviour(kind: BehaviourKind, seed: int = 0, severity: float = 1.0, **given: Any) -> dict[str, Any]:
    drawn, _ = draw_behaviour(kind, Half.TRAIN, SeededRandom(f"{kind}|{seed}"), severity)
    return {**msgspec.to_builtins(drawn), **given}


def play(task: Task, behaviours: list[dict[str, Any]], seed: int = 0) -> tuple[list[str], Verdict]:
    """What a difficult user says to the oracle, and how it ends."""

    async def talk() -> tuple[list[str], Verdict]:
        episode, oracle = RETAIL.reset(task, seed), RETAIL.oracle()
        user = DifficultUser(episode, behaviours, Draws("test", task.id, seed))
        said = [await user.opening()]
        messages: list[dict[str, Any]] = [{"role": "user", "content": said[0]}]
        for _ in range(30):
            answer = oracle.decide(messages)
            messages.append(answer)
            calls = answer.get("tool_calls") or ()
            for call in calls:
                function = call["function"]
                result = episode.call(function["name"], function["arguments"])
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
            if calls:
                continue
            reply = await user.reply(str(answer["content"]))
            if reply is None:
                break
            said.append(reply)
            messages.append({"role": "user", "content": reply})
        verdict = episode.verify()
        episode.close()
        return said, verdict

    return asyncio.run(talk())


@pytest.mark.parametrize("kind", KINDS)
def test_every_task_is_solved_with_every_behaviour(kind: BehaviourKind) -> None:
    for seed, task in enumerate(islice(RETAIL.tasks("test", kinds="all", seed=3), 130)):
        said, verdict = play(task, [behaviour(kind, seed, **FULL)], seed)
        assert verdict.reward == 1.0, said


def test_two_behaviours_at_once_leave_every_task_solvable() -> None:
    for seed, task in enumerate(islice(RETAIL.tasks("test", kinds="all", seed=4), 130)):
        first, second = SeededRandom(str(seed)).sample(KINDS, 2)
        said, verdict = play(task, [behaviour(first, seed, **FULL), behaviour(second, seed, **FULL)], seed)
        assert verdict.reward == 1.0, said


def order_task() -> Task:
    return next(task for task in RETAIL.tasks("test", kinds="all", seed=1) if task.kind == "status")


def test_what_is_withheld_is_told_when_it_is_asked_for() -> None:
    task = order_task()
    plain = RETAIL.reset(task, 0).opening
    (order,) = (word.strip(".?") for word in plain.split() if word.startswith("#W"))
    turns = {}
    for settled in ("asked", "asked_twice"):
        said, _ = play(task, [behaviour("ambiguous", settled=settled, **FULL)])
        assert order not in said[0] and "my order" in said[0] and order in said[-1]
        turns[settled] = len(said)
    assert turns == {"asked": 2, "asked_twice": 3}
    ways = {play(task, [behaviour("ambiguous", seed, settled="asked", **FULL)])[0][-1] for seed in range(20)}
    assert len(ways) >= 5 and all(order in one for one in ways), "in the packs' phrases"


def test_a_contradiction_names_a_rival_and_is_settled() -> None:
    task = order_task()
    for settled, messages in (("same_message", 1), ("next_message", 2)):
        said, _ = play(task, [behaviour("inconsistent", settled=settled, **FULL)])
        text = " ".join(said)
        ids = [word.strip(".,;:?!") for word in text.replace("'", " ").split() if word.startswith("#W")]
        assert len(said) == messages and len(set(ids)) == 2
        assert ids[0] == ids[-1], "the true one comes first and last"


def test_a_rival_is_another_value_of_the_same_form() -> None:
    draws = Draws("rivals")
    for value in ("#W1204", "mia.garcia17@example.com", "14 Elm Street"):
        rival = draw_rival(value, draws)
        assert rival is not None and rival != value and len(rival) == len(value)
        assert [one.isdigit() for one in rival] == [one.isdigit() for one in value]
    assert draw_rival("Lamp", draws) is None


@pytest.mark.parametrize("kind", ["redundant", "topic_drift", "boundary_probing", "out_of_scope"])
def test_what_is_said_beside_the_wish_leaves_it_whole(kind: BehaviourKind) -> None:
    task = order_task()
    plain = RETAIL.reset(task, 0).opening
    said = {play(task, [behaviour(kind, seed, **FULL)])[0][0] for seed in range(60)}
    assert all(plain in one and one != plain for one in said) and len(said) >= 50


def test_no_phrase_is_said_twice() -> None:
    task = order_task()
    said, _ = play(task, [behaviour("out_of_scope", amount=2, **FULL), behaviour("ambiguous", **FULL)])
    sentences = [one for text in said for one in re.split(r"(?<=[.?!]) ", text)]
    assert len(said) >= 2 and len(sentences) == len(set(sentences)) >= 4


def test_a_behaviour_shows_from_its_message_on_and_as_often_as_its_share_says() -> None:
    task = order_task()
    plain = RETAIL.reset(task, 0).opening
    assert play(task, [behaviour("redundant", first_message=2, share=1.0)])[0][0] == plain
    shown = Counter(
        play(task, [behaviour("redundant", share=0.25, first_message=1)], seed)[0][0]
        != RETAIL.reset(task, seed).opening
        for seed in range(200)
    )
    assert 25 <= shown[True] <= 75


async def test_a_scripted_user_follows_the_pattern_of_its_session(tmp_path: Path) -> None:
    async with gateway(tmp_path, RETAIL.oracle().decide) as control:
        plain = await played(control, "--run", "calm", model=None)
        given = ("--user-profile", "noisyagent/interaction-pattern", "--run", "noisy")
        difficult = await played(control, *given, model=None)
        told = await trajectories(control, "noisy")
        calm = [one for one in await sessions_of(control) if one["labels"].get("run") == "calm"]
    assert plain["arms"]["clean"]["success"] == difficult["arms"]["clean"]["success"] == 1.0
    assert len(told) == len(calm) == TASKS
    openings = {}
    for agent, user in told:
        assert user["session"]["status"] == "closed" and not user["turns"]
        openings[agent["session"]["task_id"]] = agent["turns"][0]["received"]
    assert len(openings) == TASKS
