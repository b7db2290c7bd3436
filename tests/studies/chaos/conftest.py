"""A scripted model that reads flights' gates, a gateway in front of it, and the command to test."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from crosswind.figures.attempts import Attempt
from crosswind.studies.chaos.command import chaos
from crosswind.studies.chaos.report import read_run
from crosswind.testing import Answer, Call, Dialogue, MessageItem, ScriptedProvider
from tests.loop.children import owner

AGENT = (sys.executable, "-S", str(Path(__file__).with_name("agent.py")))

TALKATIVE = """
name: talkative
rules:
  - operator: user.redundant
    severity: 0.5
    when: {probability: 1.0}
"""


def read_gate(dialogue: Dialogue) -> Answer:
    """Reads the status once, and says the gate that it found, or that it is unknown."""
    if not dialogue.tools:
        return Answer("No tools, no gate.")
    results = dialogue.results_of("flight_status")
    if not results:
        asked = [one.text for one in dialogue.items if isinstance(one, MessageItem) and one.role == "user"]
        flight = next(word for word in " ".join(asked).split() if word.startswith("HA-"))
        return Answer(calls=(Call("flight_status", {"flight": flight}),))
    try:
        return Answer(f"Gate {json.loads(results[-1][1].text)['gate']}.")
    except (ValueError, KeyError, TypeError):
        return Answer("Gate unknown.")


@pytest.fixture(scope="package")
def provider() -> Iterator[ScriptedProvider]:
    with ScriptedProvider(read_gate, strict=False, keep=False) as served:
        yield served


@dataclass(frozen=True)
class Running:
    """A gateway for the tests that need none of their own."""

    control: str
    store: str


@pytest.fixture(scope="package")
def running(provider: ScriptedProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("chaos")
    with owner(folder / "logs") as children:
        store = folder / "crosswind.db"
        serving = children.start(
            *("serve", "--upstream", provider.base_url, "--store", str(store)),
            *("--port", "0", "--control-port", "0"),
        )
        yield Running(serving.address("control plane"), str(store))


@dataclass
class Chaos:
    """`crosswind chaos` on the shared gateway, or on one of its own."""

    folder: Path
    running: Running
    tasks: Sequence[dict[str, object]] = field(
        default_factory=lambda: [
            {
                "id": f"t{n}",
                "prompt": f"Which gate does this flight leave from? HA-{n}",
                "expect": f"Gate B{n}.",
            }
            for n in range(1, 3)
        ]
    )
    profile: str = ""
    """By default one that acts on each request, and changes no outcome."""

    def __call__(self, *options: str, agent: Sequence[str] = AGENT, own: str | None = None) -> Result:
        if not self.profile:
            (self.folder / "talkative.yaml").write_text(TALKATIVE)
        profile = self.profile or str(self.folder / "talkative.yaml")
        file = self.folder / "tasks.jsonl"
        file.write_text("".join(json.dumps(task) + "\n" for task in self.tasks))
        where = ["--upstream", own] if own else ["--control", self.running.control]
        where += [] if own else ["--store", self.running.store]
        given = [*where, "--profile", profile, "--tasks", str(file), "--out", str(self.out), *options]
        return CliRunner().invoke(chaos, [*given, "--", *agent])

    @property
    def out(self) -> Path:
        return self.folder / "run"

    def attempts(self, store: str | None = None) -> list[Attempt]:
        run = json.loads((self.out / "run.json").read_text())["_run"]
        return sorted(
            read_run(store or self.running.store, run).attempts,
            key=lambda one: (one.task, one.arm, one.sample),
        )


@pytest.fixture
def play(tmp_path: Path, running: Running) -> Chaos:
    return Chaos(tmp_path, running)


Play = Callable[..., Result]
