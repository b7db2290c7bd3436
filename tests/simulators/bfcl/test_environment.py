"""BFCL as an environment: categories, the tools of each task, users, worlds and the package's own verdict."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any, cast

import pytest
from openai import AsyncOpenAI

from crosswind.simulators.bfcl.environment import Bfcl
from crosswind.simulators.environment import Environment, Episode, equip, unblocked
from crosswind.simulators.episodes.agent import AgentSettings, ToolAgent
from crosswind.simulators.episodes.demonstrations import play
from crosswind.simulators.errors import EnvironmentFailedError
from crosswind.testing import ScriptedProvider
from crosswind.testing.dialogue import Answer, Dialogue, read_answer

TURNS = 120


def begin(bfcl: Environment, task_id: str) -> Episode:
    return bfcl.reset(bfcl.task(task_id), 0)


def test_the_gold_agent_solves_every_category_clean(bfcl: Environment) -> None:
    tasks = list(islice(bfcl.tasks("test", kinds="all", seed=3), 42))
    assert {task.kind for task in tasks} == set(bfcl.kinds["all"])
    failed = []
    for task in tasks:
        episode = bfcl.reset(task, 0)
        _, verdict = play(episode, bfcl.oracle(), equip(bfcl, episode).instructions, TURNS)
        failed += [] if verdict.reward == 1.0 else [task.id]
    assert len(failed) <= 1, "BFCL's checker refuses a few of its own answers"


def test_splits_are_apart_and_an_order_is_repeated(bfcl: Environment) -> None:
    drawn = [
        [task.id for task in islice(bfcl.tasks(split, kinds="multi_turn_base", seed=seed), 80)]
        for split, seed in (("train", 0), ("test", 0), ("test", 0), ("test", 1))
    ]
    assert not set(drawn[0]) & set(drawn[1])
    assert drawn[1] == drawn[2] != drawn[3]


def test_tasks_bring_their_own_tools_and_what_these_do(bfcl: Environment) -> None:
    episodes = [begin(bfcl, name) for name in ("multi_turn_base_0", "simple_python_0")]
    files, single = (equip(bfcl, one) for one in episodes)
    names = {tool["function"]["name"] for tool in files.tools}
    assert {"ls", "mv", "grep"} <= names
    assert {name: files.tool_classes[name] for name in ("ls", "grep", "cd", "mv")} == {
        "ls": "read_only",
        "grep": "read_only",
        "cd": "destructive",
        "mv": "destructive",
    }
    assert [tool["function"]["name"] for tool in single.tools] == list(single.tool_classes)
    assert set(single.tool_classes.values()) == {"idempotent"}
    assert all("." not in name for name in single.tool_classes)


@pytest.mark.parametrize(
    "name,arguments,words",
    [
        ("__import__", "{}", "there is no tool __import__"),
        ("ls", '{"a=print(1)": 1}', "takes no a=print(1)"),
        ("ls", '{"a": "yes"}', "a must be of type boolean"),
        ("ls", "{", "not JSON"),
        ("ls", "[]", "not an object"),
    ],
)
def test_a_bad_call_is_refused_and_nothing_is_done(
    bfcl: Environment, name: str, arguments: str, words: str
) -> None:
    episode = begin(bfcl, "multi_turn_base_0")
    assert words in json.loads(episode.call(name, arguments))["error"]
    episode.close()


def test_worlds_are_apart_and_judged_as_often_as_asked(bfcl: Environment) -> None:
    one, other = begin(bfcl, "multi_turn_base_0"), begin(bfcl, "multi_turn_base_0")
    one.call("touch", '{"file_name": "mine.txt"}')
    assert "mine.txt" in one.call("ls", "{}") and "mine.txt" not in other.call("ls", "{}")
    assert [one.verify(), one.verify()] == [one.verify()] * 2
    assert one.verify().reward == 0.0
    assert other.verify().components["not_executed"] == 0.0 or other.verify().reward == 0.0
    one.close()
    other.close()


def test_a_user_answers_a_question_by_saying_it_again_and_else_goes_on(bfcl: Environment) -> None:
    episode = begin(bfcl, "multi_turn_base_0")
    assert episode.reply("Which file do you mean?") == episode.opening
    following = episode.reply("All done.")
    assert following is not None and following != episode.opening
    episode.close()


def test_the_same_call_counts_once(bfcl: Environment) -> None:
    episode = begin(bfcl, "simple_python_0")
    messages, verdict = play(
        begin(bfcl, "simple_python_0"), bfcl.oracle(), equip(bfcl, episode).instructions, TURNS
    )
    [made] = [one["tool_calls"][0]["function"] for one in messages if one.get("tool_calls")]
    assert verdict.reward == 1.0
    for _ in range(3):
        episode.call(made["name"], made["arguments"])
    assert episode.verify().reward == 1.0
    episode.close()


def test_a_worker_that_died_is_named_and_the_next_use_starts_another(bfcl: Environment) -> None:
    own = Bfcl()
    episode = own.reset(own.task("simple_python_0"), 0)
    own.stop()
    with pytest.raises(EnvironmentFailedError, match=r"verify: \w*(Connection|RemoteDisconnected)"):
        episode.verify()
    assert own.reset(own.task("simple_python_0"), 0).opening == episode.opening
    own.stop()


def test_the_worker_ends_with_the_process_that_started_it(bfcl: Environment) -> None:
    code = (
        "from crosswind.simulators.bfcl.environment import ENVIRONMENT as b; import os; b.name; b.kinds;"
        "print(b._worker._process.pid, flush=True); os._exit(1)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stdout
    pid = int(out)
    with pytest.raises(ProcessLookupError):
        for _ in range(10_000):
            os.kill(pid, 0)
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            if state == "Z":  # Gone, and nobody here to ask how.
                raise ProcessLookupError


def test_without_an_index_the_command_says_so_and_ends_with_69(tmp_path: Path) -> None:
    environment: dict[str, Any] = {
        **os.environ,
        "CROSSWIND_BFCL_ENV": str(tmp_path / "bfcl"),
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(tmp_path),
    }
    command = "from crosswind.gateway.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", command, "bench", "--environment", "bfcl"],
        env=cast(Any, environment),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 69
    assert "no package index that has it can be reached" in done.stderr


async def test_a_function_that_was_held_back_comes_with_the_users_message(
    bfcl: Environment,
) -> None:
    """BFCL's `missed_function`: until then a call of it is refused, and the agent isn't shown it."""
    episode = begin(bfcl, "multi_turn_miss_func_0")
    assert "there is no tool sort" in json.loads(episode.call("sort", '{"file_name": "a"}'))["error"]
    episode.close()
    shown: list[set[str]] = []
    oracle = bfcl.oracle()

    async def decide(dialogue: Dialogue) -> Answer:
        tools = dialogue.body["tools"]
        shown.append({tool["function"]["name"] for tool in tools})
        return read_answer(await unblocked(oracle.decide, dialogue.body["messages"], tools))

    async with (
        ScriptedProvider(decide, strict=False) as provider,
        AsyncOpenAI(base_url=provider.base_url, api_key="k") as client,
    ):
        agent = ToolAgent(bfcl, AgentSettings(max_turns=60, max_tokens=512))
        episode = begin(bfcl, "multi_turn_miss_func_0")
        played = await agent.play(client, episode, ("seed",))
    assert played.error is None and episode.verify().reward == 1.0
    held = ["sort" not in names for names in shown]
    assert held[0] and not held[-1] and held == sorted(held, reverse=True)
    episode.close()
