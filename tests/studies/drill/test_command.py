"""`crosswind drill` on a gateway of two workers."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from crosswind.studies.drill.command import drill
from tests.gateway.dialogue import PROFILE, body, user
from tests.loop.children import Children, Gateway, owner

COMMAND = (sys.executable, "-c", "from crosswind.studies.drill.command import drill; drill()")


@pytest.fixture(scope="module")
def children(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Children]:
    with owner(tmp_path_factory.mktemp("logs")) as children:
        yield children


@pytest.fixture(scope="module")
def serving(children: Children, tmp_path_factory: pytest.TempPathFactory) -> Gateway:
    provider = children.start(command=(sys.executable, "-m", "crosswind.testing"))
    url = provider.address("scripted provider at").removesuffix("/v1")
    store = tmp_path_factory.mktemp("drill") / "crosswind.db"
    environment = {"CROSSWIND_DOSE__DRILL_SHARE": "1"}
    serving = children.gateway(url, store, "--workers", "2", environment=environment)
    put = httpx.put(f"{serving.control}/api/profiles/flaky", json={"yaml": PROFILE}, trust_env=False)
    assert put.status_code == 200, put.text
    return serving


def options(serving: Gateway, seconds: str, *more: str) -> tuple[str, ...]:
    return ("--control", serving.control, "--for", seconds, "--share", "1", "--profile", "flaky", *more)


def say(serving: Gateway, session: str) -> str:
    """What the upstream saw of a session's first request, on a connection of its own."""
    url = f"{serving.data}/s/{session}/v1/chat/completions"
    answer = httpx.post(url, json=body(user("hello")), trust_env=False, timeout=60)
    return str(answer.json()["choices"][0]["message"]["content"])


def test_an_interrupt_ends_it_in_all_workers_and_there_is_a_page(
    serving: Gateway, children: Children, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    running = children.start(
        *options(serving, "10m", "--out", str(page), "--label", "team=x"), command=COMMAND
    )
    running.until(lambda: "Ctrl-C ends it" in running.said)
    assert all(say(serving, f"during-{number}") != "You said: hello" for number in range(8))
    running.process.send_signal(signal.SIGINT)
    said = " ".join(running.succeed().split())
    assert all(say(serving, f"after-{number}") == "You said: hello" for number in range(8))
    assert "flaky on 100 % of new sessions" in said and "(role admin): it was ended by an order" in said
    assert "drilled 8 8 8 0 0 0 1.0" in said and "No session has a reward" in said
    assert "flaky on 100 % of new sessions" in page.read_text()


def test_the_gateway_ends_it_where_the_command_was_killed(serving: Gateway, children: Children) -> None:
    killed = children.start(*options(serving, "2s"), command=COMMAND)
    killed.until(lambda: "Ctrl-C ends it" in killed.said)
    killed.kill()

    def ended() -> bool:
        found = httpx.get(f"{serving.control}/api/drills", trust_env=False).json()["drills"]
        return bool(found[-1]["end"] == "deadline")

    serving.child.until(ended)
    assert say(serving, "too-late") == "You said: hello"


def test_without_traffic_the_page_says_so(serving: Gateway) -> None:
    result = CliRunner().invoke(drill, options(serving, "0.1s"))
    assert result.exit_code == 0, result.output
    said = " ".join(result.output.split())
    assert "Nothing could be injected, because traffic opened no session." in said


def test_what_the_gateway_refuses_is_told(serving: Gateway) -> None:
    given = [*options(serving, "1s")[:-1], "off"]
    result = CliRunner().invoke(drill, given)
    assert result.exit_code == 1 and "'off' has no rules" in result.output
