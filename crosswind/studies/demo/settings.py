"""What a demo run is made of; every number that shapes it, in one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from crosswind.simulators.tool_legs.leg import Leg


@dataclass(frozen=True, slots=True)
class DemoSettings:
    """Sizes and paths of one run. The defaults fit 6 minutes on 2 cores."""

    engine: str = "embedded"
    """The kind of engine that serves the policy."""
    seed: int = 0
    out: Path = Path("runs/demo")
    steps: int = 15
    groups_per_step: int = 8
    group_size: int = 16
    held_out_tasks: int = 256
    concurrency: int = 64
    leg: Leg = Leg.MODEL
    """Where the agents' tools are. Behind the gateway, noise acts between agent and tools, and only there."""
    evaluation_level: int = 4
    """The severity level of the noise that held-out tasks meet, before and after alike."""
    seconds: float = 345.0
    """The whole run's budget: training ends in time for the second evaluation and the report."""
    report_seconds: float = 12.0
    """Kept free for the comparison and the report."""
    start_seconds: float = 90.0
    """How long a child may take until it answers."""
    policy: str = "retail"
    """A policy that comes with the package, or a policy directory."""
    packs: Path | None = None
    """A folder of phrase packs that go before the shipped ones."""
    ports: tuple[int, int, int] = field(default=(0, 0, 0))
    """Engine, data plane, control plane; 0 takes a free one."""

    @property
    def profile(self) -> str:
        return "noisyagent" if self.leg is Leg.MODEL else str(TOOL_FAULTS)

    @property
    def store(self) -> Path:
        return self.out / "crosswind.db"

    @property
    def report(self) -> Path:
        return self.out / "report.html"


TOOL_FAULTS = Path(__file__).with_name("tool-faults.yaml")
"""The profile of the tool leg, which the gateway is given."""

SIZES: Mapping[str, Mapping[str, Any]] = {
    "embedded": {},
    # vLLM takes longer to start, and on a CPU gives a model of a million parameters fewer tokens a second.
    "vllm": {"held_out_tasks": 128, "concurrency": 32, "seconds": 900.0, "start_seconds": 400.0},
}
"""What a run with each engine is sized like, where it differs from the defaults."""


def choose_settings(engine: str, given: Mapping[str, Any]) -> DemoSettings:
    """A run with this engine; what is given (and isn't None) goes before its sizes."""
    known = {each.name for each in fields(DemoSettings)}
    chosen = {name: value for name, value in given.items() if value is not None and name in known}
    return replace(DemoSettings(engine=engine), **{**SIZES[engine], **chosen})
