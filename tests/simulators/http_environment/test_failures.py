"""An environment over HTTP that is gone, slow or talks nonsense: its episodes are void, the reason named."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from crosswind.gateway.client import AsyncClient
from crosswind.simulators.bfcl.inside.server import Server
from crosswind.simulators.environment import Task, unblocked
from crosswind.simulators.episodes.agent import AgentSettings, ToolAgent
from crosswind.simulators.episodes.record import Job
from crosswind.simulators.episodes.runner import EpisodeRunner
from crosswind.simulators.errors import EnvironmentFailedError
from crosswind.simulators.http_environment.environment import HttpEnvironment
from tests.simulators.commands.test_through_gateway import command, gateway, outcome

ECHO = {"type": "function", "function": {"name": "echo", "parameters": {"type": "object", "properties": {}}}}
SOUND: Mapping[str, Any] = {
    "environment": {"name": "echoes", "tools": [ECHO], "kinds": {"all": ["echo"], "practice": ["echo"]}},
    "tasks": {"tasks": [{"id": "one"}, {"id": "two"}]},
    "task": {"id": "one"},
    "reset": {"episode": "e", "opening": "Say it."},
    "call": {"result": "it"},
    "reply": {"reply": None},
    "verify": {"reward": 1.0},
    "close": {},
}
TASK = Task("one", "test", "echo")


@contextmanager
def served(**changed: Any) -> Iterator[tuple[str, Server]]:
    """An environment whose calls are answered so; a function is called."""

    def answering(said: Any) -> Callable[..., Any]:
        return said if callable(said) else lambda **_: said

    server = Server({name: answering(said) for name, said in (SOUND | changed).items()})
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_tasks_come_page_by_page_and_then_again() -> None:
    asked: list[int] = []

    def tasks(first: int, count: int, **_: Any) -> dict[str, Any]:
        asked.append(first)
        return {"tasks": [{"id": str(number)} for number in range(first, min(first + count, 70))]}

    with served(tasks=tasks) as (url, _):
        drawn = HttpEnvironment(url).tasks("test", kinds="all", seed=0)
        ids = [next(drawn).id for _ in range(75)]
    assert ids == [*map(str, range(70)), "0", "1", "2", "3", "4"]
    assert asked == [0, 64, 0]


@pytest.mark.parametrize(
    "name,said,words",
    [
        ("reset", {"episode": "e"}, "missing required field `opening`"),
        ("reset", {"episode": "e", "opening": "x", "tools": [{"type": "function"}]}, "function"),
        ("reset", {"episode": "e", "opening": "x", "tools": [ECHO, ECHO]}, "twice"),
        ("call", {"result": 7}, "Expected `str`, got `int`"),
        ("call", ["it"], "Expected `object`"),
        ("verify", {"reward": 2}, "<= 1"),
        ("verify", {"reward": None}, "Expected `float`"),
        ("call", {"result": "x" * (17 << 20)}, "above 16 MiB"),
    ],
)
def test_nonsense_is_named(name: str, said: Any, words: str) -> None:
    with served(**{name: said}) as (url, _):
        with pytest.raises(EnvironmentFailedError) as refused:
            episode = HttpEnvironment(url).reset(TASK, 0)
            episode.call("echo", "{}")
            episode.verify()
        assert str(refused.value).startswith(f"{name}: ") and words in str(refused.value)


def test_after_a_failure_there_is_no_verdict() -> None:
    with served(call={"result": None}) as (url, _):
        episode = HttpEnvironment(url).reset(TASK, 0)
        for act in (lambda: episode.call("echo", "{}"), episode.verify, lambda: episode.reply("so")):
            with pytest.raises(EnvironmentFailedError, match="call: "):
                act()
        episode.close()


def test_a_slow_answer_is_not_waited_for() -> None:
    hold = threading.Event()

    def call(**_: Any) -> dict[str, Any]:
        hold.wait(60)
        return {"result": "late"}

    with served(call=call) as (url, _):
        episode = HttpEnvironment(url, timeout_s=0.2).reset(TASK, 0)
        with pytest.raises(EnvironmentFailedError, match=r"call: no answer within 0\.2 s"):
            episode.call("echo", "{}")
        hold.set()


async def test_what_an_environment_in_this_process_raises_is_its_failure() -> None:
    class Broken:
        def verify(self) -> None:
            raise KeyError("state")

    with pytest.raises(EnvironmentFailedError, match="verify: KeyError"):
        await unblocked(Broken().verify)


async def test_an_episode_whose_environment_dies_is_void_and_says_so(tmp_path: Any) -> None:
    with served() as (url, server):

        def decide(*_: Any) -> dict[str, Any]:
            server.calls = {}  # What comes now is refused.
            return {"role": "assistant", "content": "it"}

        async with gateway(tmp_path, decide) as control, AsyncClient(control) as client:
            environment = HttpEnvironment(url)
            agent = ToolAgent(environment, AgentSettings())
            runner = EpisodeRunner(environment, agent, client)
            record = await runner.run(Job(TASK, 0, (0,), {"arm": "clean"}))
            await runner.close()
            assert record.verdict is None
            assert record.error == "environment: reply: there is no call 'reply'; use one of "
            session = await client.session(record.session_id or "")
            assert session.reward is None and session.reward_state == "not_applicable", session


async def test_a_command_names_an_environment_that_is_not_there(unused_tcp_port: int) -> None:
    given = ("--environment", f"http://127.0.0.1:{unused_tcp_port}")
    code, _, err = await outcome(await command("bench", *given))
    assert code == 2
    assert err.startswith(
        f"crosswind: --environment: http://127.0.0.1:{unused_tcp_port}: environment: ConnectionRefused"
    )
