"""Plays tasks under cases of noise through a gateway of its own, and asks it what was injected."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol, TypeVar

from openai import DefaultAsyncHttpxClient
from rich.progress import Progress

from crosswind.gateway.client import AsyncClient
from crosswind.gateway.tools.events import CALL
from crosswind.gateway.trajectory.record import WIRE
from crosswind.simulators.draws import stable_seed
from crosswind.simulators.environment import Environment, Oracle, Task, declare_tools, unblocked
from crosswind.simulators.episodes.agent import AgentSettings, ToolAgent
from crosswind.simulators.episodes.record import Job, Record
from crosswind.simulators.episodes.runner import EpisodeRunner, model_client
from crosswind.simulators.tool_legs.behind_gateway import ToolLeg, open_leg
from crosswind.simulators.tool_legs.leg import Leg
from crosswind.studies.prove.cases import Case, Catalogue, fetch_catalogue
from crosswind.studies.prove.content_types import refuse_other_types
from crosswind.studies.stack import Processes, start_gateway
from crosswind.testing import ScriptedProvider
from crosswind.testing.dialogue import Answer, Decide, Dialogue, read_answer

MAX_TURNS = 90
MAX_TOKENS = 512
START_S = 60.0
"""How long the gateway may take to start."""
ROUNDS = 4
"""Subjects whose noise never acted get further tasks, so often at most: few tasks begin with a read."""
PATIENCE = 6
"""Answers that a recovering agent requests again before it continues with what it has."""


@dataclass(frozen=True, slots=True)
class EpisodeOutcome:
    """One episode under a case: what became of it, and the events that the gateway wrote."""

    case: Case
    record: Record
    events: Sequence[Mapping[str, Any]]

    @property
    def solved(self) -> bool:
        return self.record.verdict is not None and self.record.verdict.reward == 1.0


T = TypeVar("T")

Assignment = tuple[Case, Task]
"""A task, and the noise under which it is played."""


class HeldOutTasks:
    """Held-out tasks, the kinds in turn."""

    def __init__(self, environment: Environment, seed: int, *, leaving_out: Sequence[str] = ()) -> None:
        self._environment = environment
        self._seed = seed
        self._left_out = frozenset(leaving_out)
        self._kinds = frozenset(environment.kinds["all"])
        self._next = self._of(())

    def assign_next(self, cases: Iterable[Case], each: int) -> list[Assignment]:
        """For each case the next tasks; the first of its kinds, where it has any."""
        return [
            (case, task)
            for case in cases
            for kinds in [self._known(case)]
            for task in islice(self._of(kinds) if kinds else self._next, each)
        ]

    def assign_first(self, cases: Iterable[Case], each: int) -> list[Assignment]:
        """For each case the same tasks: the first."""
        return [(case, task) for case in cases for task in islice(self._of(self._known(case)), each)]

    def _known(self, case: Case) -> Sequence[str]:
        """The kinds that a case is for; none where the environment has none of them."""
        return [kind for kind in case.kinds if kind in self._kinds]

    def _of(self, kinds: Sequence[str]) -> Iterator[Task]:
        for task in self._environment.tasks("test", kinds="all", seed=self._seed):
            if task.kind not in self._left_out and (not kinds or task.kind in kinds):
                yield task


@dataclass(frozen=True, slots=True)
class Stage:
    """Where tasks are played: every other episode is streamed unless its case says.

    An agent that recovers asks again for answers that it can't use; one that doesn't takes what comes, and an
    answer that doesn't come ends its episode. With `tools` its calls travel over a tool leg, and only what
    happened there counts.
    """

    environment: Environment
    control: str
    seed: int
    recovers: bool
    concurrency: int
    tools: ToolLeg | None = None
    _solvable: dict[str, bool] = field(default_factory=dict)

    async def leave_out_unsolvable(self, assignments: Sequence[Assignment]) -> list[Assignment]:
        """The assignments whose tasks the oracle solves without noise."""
        calm = Case("off", "off")
        new = {task.id: task for _, task in assignments if task.id not in self._solvable}

        def note(outcome: EpisodeOutcome) -> None:
            self._solvable[outcome.record.job.task.id] = outcome.solved

        await self.play([(calm, task) for task in new.values()], note)
        return [(case, task) for case, task in assignments if self._solvable[task.id]]

    async def play(
        self, assignments: Sequence[Assignment], on_outcome: Callable[[EpisodeOutcome], None]
    ) -> None:
        """Play all of them. GatewayError where the gateway is lost."""
        async with AsyncClient(self.control) as client:
            texts = {case.profile: case.yaml for case, _ in assignments if case.yaml is not None}
            await _work_off(iter(texts.items()), lambda one: client.put_profile(*one), self.concurrency)
            runners = [
                _runner(self.environment, client, stream=stream, recovers=self.recovers, tools=self.tools)
                for stream in (False, True)
            ]
            # Mixed, so that those that wait on slow links don't come together.
            jobs = sorted(enumerate(assignments), key=lambda one: stable_seed("order", one[0]))

            async def play_one(job: tuple[int, Assignment]) -> None:
                number, (case, task) = job
                stream = bool(number % 2) if case.stream is None else case.stream
                record = await runners[stream].run(_make_job(case, task, self.seed))
                if record.session_id is None:
                    raise RuntimeError(f"no session under {case.profile}: {record.error}")
                events = await client.events(record.session_id)
                shown = events if self.tools is None else injections_on_wire(events)
                on_outcome(EpisodeOutcome(case, record, shown))

            try:
                await _work_off(iter(jobs), play_one, self.concurrency)
            finally:
                for runner in runners:
                    await runner.close()


async def _work_off(waiting: Iterator[T], act: Callable[[T], Awaitable[object]], concurrency: int) -> None:
    """Act on all of them, so many at once."""

    async def work() -> None:
        for one in waiting:
            await act(one)

    async with asyncio.TaskGroup() as workers:
        for _ in range(concurrency):
            workers.create_task(work())


def _runner(
    environment: Environment, client: AsyncClient, *, stream: bool, recovers: bool, tools: ToolLeg | None
) -> EpisodeRunner:
    patience = PATIENCE if recovers else 0
    settings = AgentSettings(max_turns=MAX_TURNS, max_tokens=MAX_TOKENS, stream=stream, patience=patience)
    agent = ToolAgent(environment, settings)
    strict = DefaultAsyncHttpxClient(trust_env=False, event_hooks={"response": [refuse_other_types]})
    model = model_client(max_retries=2 if recovers else 0, http_client=strict)
    return EpisodeRunner(environment, agent, client, model=model, tools=tools.open if tools else None)


def injections_on_wire(events: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those of a session's events that are noise on a tool leg."""
    return [one for one in events if one["anchor"].startswith(WIRE) and one["operator"] != CALL]


def _make_job(case: Case, task: Task, seed: int) -> Job:
    session: dict[str, Any] = {
        "arm": "noisy",
        "profile": case.profile,
        # One seed, and the scope "task".
        "seed": stable_seed("proof", seed),
        "seed_scope": "task",
        "labels": {"purpose": "proof", "kind": task.kind, "subject": case.subject},
    }
    if case.level is not None:
        session["level"] = case.level
    return Job(task, stable_seed("user", seed, task.id), ("proof", seed, task.id), session)


class Counts(Protocol):
    """What a measurement counts."""

    def count(self, outcome: EpisodeOutcome) -> None: ...


C = TypeVar("C", bound=Counts)
Plan = Callable[[Catalogue], tuple[Sequence[Assignment], C]]
"""What to play on a gateway that offers this, and what counts the outcomes."""
Further = Callable[[C], Sequence[Assignment]]
"""What to play besides, after all was counted."""


def run(
    environment: Environment,
    plan: Plan[C],
    *,
    seed: int,
    recovers: bool,
    concurrency: int,
    store: Path | None,
    leg: Leg = Leg.MODEL,
    further: Further[C] = lambda _: (),
) -> tuple[C, float]:
    """Play what the plan says, with the environment's oracle as the model; gives the counts, and the CPU time
    in seconds: how long it takes depends on what else the machine does.

    The gateway's store is left in the folder `store`, where one is given. `leg`: where the calls travel, and
    whose noise the plan is for. Tasks that the oracle doesn't solve without noise are left out, where the
    environment doesn't promise that it solves all.
    """

    async def main() -> C:
        provider = ScriptedProvider(
            answer_with(environment.oracle(recovers=recovers, verifies=recovers)), strict=False, keep=False
        )
        kept = nullcontext(store) if store else TemporaryDirectory(prefix="crosswind-")
        with kept as name, Progress(transient=True) as progress:
            folder = Path(name)
            async with provider, Processes(folder / "logs") as processes:
                gateway = await start_gateway(
                    *(processes, provider.base_url, folder / "crosswind.db", "--profile", "off"),
                    wait_s=START_S,
                    replayable=_may_repeat_all(environment),
                )
                catalogue = await fetch_catalogue(gateway.control)
                assignments, counts = plan(catalogue.on_leg(leg))
                bar = progress.add_task("episodes", total=len(assignments))

                def count_outcome(outcome: EpisodeOutcome) -> None:
                    counts.count(outcome)
                    progress.advance(bar)

                async with open_leg(leg, environment, gateway.control, hooks=(refuse_other_types,)) as tools:
                    stage = Stage(environment, gateway.control, seed, recovers, concurrency, tools)
                    for _ in range(ROUNDS):
                        if not getattr(environment, "solvable", False):
                            assignments = await stage.leave_out_unsolvable(assignments)
                        await stage.play(assignments, count_outcome)
                        if not (assignments := further(counts)):
                            break
        return counts

    begun = _cpu_seconds()
    counts = asyncio.run(main())
    return counts, _cpu_seconds() - begun


def answer_with(oracle: Oracle) -> Decide:
    """A scripted model that decides as the oracle does."""

    async def decide(dialogue: Dialogue) -> Answer:
        tools = dialogue.body.get("tools") or []
        return read_answer(await unblocked(oracle.decide, dialogue.body["messages"], tools))

    return decide


def _may_repeat_all(environment: Environment) -> bool:
    """Whether every tool of every task is declared to be repeatable."""
    tools = {tool["function"]["name"] for tool in environment.tools}
    return bool(tools) and tools <= declare_tools(environment).keys()


def _cpu_seconds() -> float:
    """The CPU time of this process and of its children that have ended."""
    return sum(os.times()[:4])
