"""The rollouts that contestants learn from: what the demo's parts play first, and the same made unalike."""

from __future__ import annotations

import statistics
import time
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import orjson

from crosswind.gateway.trajectory.store import Store, open_store
from crosswind.studies.stack import Processes, start_engine, start_gateway
from crosswind.trainer.config.settings import TrainConfig, configure
from crosswind.trainer.rollouts.advantages import normalise_per_arm
from crosswind.trainer.rollouts.assembly import assemble_batch
from crosswind.trainer.rollouts.groups import Admission, Group, read_group
from crosswind.trainer.rollouts.sequences import TokenSequence, build_sequences
from crosswind.trainer.rollouts.source import GroupSource

GROUPS, SIZE = 8, 16
MATERIALS = ("as played", "without a common beginning")
_WAIT_S = 120.0


async def play(folder: Path) -> None:
    """The rollouts of the demo's first step, into a store."""
    store = folder / "rollouts.db"
    async with Processes(folder / "logs") as processes:
        engine = await start_engine(processes, "retail", "--engine", "embedded", wait_s=_WAIT_S)
        noise = ("--profile", "noisyagent", "--seed", "0", "--capture", "on")
        gateway = await start_gateway(processes, f"{engine}/v1", store, *noise, wait_s=_WAIT_S)
        # No steps: the trainer declares its curriculum, and ends.
        await processes.run(
            "train",
            *("train", "run", "--preset", "demo", "--steps", "0", "--store", gateway.store),
            *("--policy", "retail", "--control", gateway.control, "--out", str(folder / "train")),
        )
        await processes.run(
            "rollout",
            *("rollout", "run", "--control", gateway.control, "--environment", "retail", "--split", "train"),
            *("--groups", str(GROUPS), "--group-size", str(SIZE), "--concurrency", "64"),
            *("--profile", "noisyagent", "--curriculum-within", "60"),
        )


def prepare(folder: Path) -> dict[str, Any]:
    """Write the rollouts for the contestants, and say what they are."""
    rows = [_describe(group) for group in _read_groups(folder)]
    flat = [row for group in rows for row in group]
    apart = [row | {"token_ids": [300 + index, *row["token_ids"][1:]]} for index, row in enumerate(flat)]
    for name, material in zip(MATERIALS, (flat, apart), strict=True):
        (folder / f"{name}.json").write_bytes(orjson.dumps(material))
    beginnings = {
        (group, tuple(row["token_ids"][:length]))
        for group, each in enumerate(rows)
        for row in each
        for length in range(1, len(row["token_ids"]) + 1)
    }
    return {
        "count": len(flat),
        "tokens": sum(len(row["token_ids"]) for row in flat),
        "sampled": sum(len(row["sampled"]) for row in flat),
        "distinct": len(beginnings),
    }


def time_ingestion(folder: Path, times: int = 5) -> float:
    """CPU seconds from the store to a step's batch, as a run takes it: looking for groups, reading, judging
    and assembling them; the median.
    """
    config = configure("demo", {})
    with closing(_open(folder)) as store:
        taken = [_ingest(store, config) for _ in range(times + 1)]
    return statistics.median(taken[1:])  # the first one connects, and loads modules


def _ingest(store: Store, config: TrainConfig) -> float:
    admission = Admission(dict.fromkeys(store.versions(), 0), 0, config.temperature)
    source = GroupSource(store, {})
    began = time.process_time()
    found = source.take(GROUPS, admission, Event(), wait_seconds=0.0)
    assert found is not None
    assemble_batch(found.groups, config, "", "seed")
    return time.process_time() - began


def _read_groups(folder: Path) -> list[Group]:
    with closing(_open(folder)) as store:
        names = sorted({one.group_id for one in store.sessions(limit=GROUPS * SIZE * 2) if one.group_id})
        admission = Admission({}, 0, 1.0, any_version=True)
        return [read_group(name, store.group(name), admission) for name in names]


def _open(folder: Path) -> Store:
    return open_store(f"sqlite:///{folder / 'rollouts.db'}")


def _describe(group: Group) -> list[dict[str, Any]]:
    weights = normalise_per_arm(group.rewards, [rollout.arm for rollout in group.rollouts])
    rows = []
    for rollout, weight in zip(group.rollouts, weights, strict=True):
        one: TokenSequence
        (one,) = build_sequences(rollout.turns, "").sequences
        rows.append(
            {
                "token_ids": one.token_ids,
                "sampled": one.sampled,
                "logprobs": one.logprobs,
                "advantage": weight,
            }
        )
    return rows
