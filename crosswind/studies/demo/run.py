"""One run of the demo, from top to bottom: engine, gateway, evaluation, training, evaluation, report."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from crosswind.injectors.cli.packs_option import VARIABLE
from crosswind.studies.demo.progress import TrainingProgress
from crosswind.studies.demo.settings import DemoSettings
from crosswind.studies.stack import (
    Child,
    Processes,
    RunningGateway,
    free_port,
    run_bench,
    start_engine,
    start_gateway,
)


@dataclass(frozen=True, slots=True)
class DemoResult:
    """What a run measured: the two evaluations, their comparison, and the steps that were taken."""

    before: Mapping[str, Any]
    after: Mapping[str, Any]
    comparison: Mapping[str, Any]
    steps: list[Mapping[str, Any]]
    seconds: float


async def run(settings: DemoSettings, console: Console) -> DemoResult:
    """The main job on real parts. A part that fails raises `ChildFailed`; whatever started is stopped."""
    begun = time.monotonic()
    variables = {} if settings.packs is None else {VARIABLE: str(settings.packs)}
    async with Processes(settings.out / "logs", variables) as processes:
        console.print(
            f"[bold]1[/]  A small policy is served ({settings.engine}); the gateway stands in front of it."
        )
        engine, gateway = await _serve(settings, processes)
        console.print(
            f"   agents use {gateway.data}/v1, the control plane is {gateway.control}", soft_wrap=True
        )

        console.print(
            f"[bold]2[/]  Before training: {settings.held_out_tasks} held-out tasks, clean and noisy."
        )
        before, cost = await _evaluate(settings, processes, gateway.control, "before")

        left = settings.seconds - (time.monotonic() - begun) - 1.3 * cost - settings.report_seconds
        console.print(
            f"[bold]3[/]  Rollouts and training, together: at most {settings.steps} steps, {left:.0f} s."
        )
        steps = await train(settings, processes, engine, gateway.control, console, left)

        console.print(
            f"[bold]4[/]  After training: the same {settings.held_out_tasks} tasks, with the same noise."
        )
        after, _ = await _evaluate(settings, processes, gateway.control, "after")
        comparison = await _report(settings, processes)
    return DemoResult(before, after, comparison, steps, time.monotonic() - begun)


async def _serve(settings: DemoSettings, processes: Processes) -> tuple[str, RunningGateway]:
    """The engine's URL, and the gateway in front of it; they start side by side."""
    log = ("--log", str(settings.out / "logs" / "engine.log")) if settings.engine == "vllm" else ()
    engine_port, port, control_port = settings.ports
    engine_port = engine_port or free_port()
    return await asyncio.gather(
        start_engine(
            processes,
            settings.policy,
            *("--engine", settings.engine, *log),
            port=engine_port,
            wait_s=settings.start_seconds,
        ),
        start_gateway(
            processes,
            f"http://127.0.0.1:{engine_port}/v1",
            settings.store,
            *("--profile", settings.profile, "--seed", str(settings.seed), "--capture", "on"),
            ports=(port, control_port),
            wait_s=settings.start_seconds,
        ),
    )


async def _evaluate(
    settings: DemoSettings, processes: Processes, control: str, when: str
) -> tuple[Mapping[str, Any], float]:
    """`crosswind bench` on the held-out tasks, with the same noise both times; and its cost in seconds."""
    begun = time.monotonic()
    measured = await run_bench(
        processes,
        *("--control", control, "--environment", "retail", "--split", "test"),
        *("--tasks", str(settings.held_out_tasks), "--profile", settings.profile, "--rotate"),
        *("--leg", settings.leg.value),
        # Training draws from the other half of the phrase packs: these words are new to the policy.
        *(
            "--phrases",
            "test",
            "--level",
            str(settings.evaluation_level),
            "--temperature",
            "1.0",
            "--seed",
            str(settings.seed),
        ),
        *("--concurrency", str(settings.concurrency)),
        out=settings.out / f"{when}.json",
        name=f"bench {when}",
    )
    return measured, time.monotonic() - begun


async def train(
    settings: DemoSettings,
    processes: Processes,
    engine: str,
    control: str,
    console: Console,
    seconds: float,
) -> list[Mapping[str, Any]]:
    """Rollouts go on while the trainer learns from completed groups and swaps each new version in. Where both
    fail, `ChildFailed` is about the one that failed first: it took the other one along.
    """
    trainer = await processes.start(
        "train",
        *("train", "run", "--preset", "demo", "--store", f"sqlite:///{settings.store}"),
        *("--policy", settings.policy, "--engine", engine, "--control", control),
        *("--set", f"curriculum.profile={settings.profile}"),
        *("--objective", "gspo", "--steps", str(settings.steps)),
        *("--groups-per-step", str(settings.groups_per_step), "--group-size", str(settings.group_size)),
        *("--seed", str(settings.seed), "--out", str(settings.out / "train"), "--fresh", "--json-progress"),
        listen=True,
    )
    with TrainingProgress(console, settings.steps) as progress:
        async with asyncio.TaskGroup() as tasks:
            clock = tasks.create_task(_end_after(trainer, seconds))
            rollouts = await _start_rollouts(settings, processes, control)
            tasks.create_task(_watch_rollouts(rollouts, trainer, progress))
            async for line in trainer.lines():
                _show(progress, console, json.loads(line))
            rollouts_first = rollouts.process.returncode is not None
            children = [rollouts, trainer] if rollouts_first else [trainer, rollouts]
            clock.cancel()
            await rollouts.stop()
    for child in children:
        await child.wait_for_success()
    return progress.rows


async def _start_rollouts(settings: DemoSettings, processes: Processes, control: str) -> Child:
    return await processes.start(
        "rollout",
        *("rollout", "run", "--control", control, "--environment", "retail", "--split", "train"),
        *("--group-size", str(settings.group_size), "--concurrency", str(settings.concurrency)),
        *("--profile", settings.profile, "--temperature", "1.0", "--seed", str(settings.seed)),
        # They start beside the trainer, and follow its curriculum.
        *("--curriculum-within", str(settings.start_seconds)),
        *("--leg", settings.leg.value, "--json-progress"),
        listen=True,
    )


def _show(progress: TrainingProgress, console: Console, line: Mapping[str, Any]) -> None:
    if line.get("event") == "step":
        progress.step(line)
    elif line.get("event") == "note":
        console.print(f"   {line['message']}", style="dim", soft_wrap=True)


async def _watch_rollouts(rollouts: Child, trainer: Child, progress: TrainingProgress) -> None:
    async for line in rollouts.lines():
        progress.rollouts(json.loads(line))
    await rollouts.process.wait()
    # Without rollouts no group completes any more: the trainer would wait for one until the time is over.
    trainer.terminate()


async def _end_after(child: Child, seconds: float) -> None:
    await asyncio.sleep(max(0.0, seconds))
    child.terminate()


async def _report(settings: DemoSettings, processes: Processes) -> Mapping[str, Any]:
    before, after, comparison = (settings.out / f"{name}.json" for name in ("before", "after", "comparison"))
    compared = await run_bench(
        processes, "--compare", str(before), str(after), out=comparison, name="bench compare"
    )
    await processes.run(
        "report",
        *("report", "--store", f"sqlite:///{settings.store}", "--before", str(before), "--after", str(after)),
        *("--comparison", str(comparison), "--out", str(settings.report)),
    )
    return compared
