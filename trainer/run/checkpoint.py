"""Checkpoints: weights, optimiser, random state, curriculum and cursor in one directory, shown by one rename.

A directory is written under a hidden name, every file of it synced, and renamed: a crash leaves the old
checkpoint or the new one, never half of one.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson
import torch
from safetensors import SafetensorError

from crosswind.policies.versions.version import sync
from crosswind.trainer.errors import RunFailed
from crosswind.trainer.learning.model import Policy
from crosswind.trainer.learning.sharding import divide_state, gather_state

OPTIMISER = "optimiser.pt"
STATE = "state.json"
_NAME = re.compile(r"step-(\d{6,})")


class CheckpointError(RunFailed):
    """A checkpoint can't be used; the message names it and the fix."""


@dataclass(slots=True)
class RunState:
    """Where a run stands after `step` training steps: JSON data but for tensors."""

    run: str
    first_checksum: str
    """Of the policy directory that the run began from."""
    step: int = 0
    version: str = ""
    """The policy version that the weights are."""
    first: str = ""
    """The policy version that the run began from."""
    versions: list[str] = field(default_factory=list)
    """The run's newest policy versions, oldest first; which are too old to train on are left out."""
    older: int = 0
    """How many versions there were before those."""
    cursor: Mapping[str, Any] | None = None
    """Which groups of the store were dealt with, as `GroupCursor` writes it; None: none."""
    curriculum: Mapping[str, Any] | None = None
    unmoved: int = 0
    """Steps since one moved a weight."""
    running_means: Mapping[str, Any] = field(default_factory=dict)
    """The baselines of `baseline: running`, as `RunningMeans` writes them."""
    metrics: Mapping[str, Any] = field(default_factory=dict)
    """Of the last step."""

    @property
    def ordinals(self) -> dict[str, int]:
        """The places of the newest versions among all of the run's."""
        return {name: ordinal for ordinal, name in enumerate(self.versions, self.older)}

    def owns(self, version: str) -> bool:
        """Whether a policy version is one of the run's."""
        number = version.removeprefix(f"{self.run}-")
        made = number != version and number.isdecimal() and int(number) <= self.step
        return made or version in (self.first, *self.versions)


def save(root: Path, policy: Policy, optimiser: torch.optim.Optimizer, state: RunState) -> Path:
    """Write the checkpoint of `state.step`, durable and complete when this returns."""
    root.mkdir(parents=True, exist_ok=True)
    target = locate(root, state.step)
    hidden = Path(tempfile.mkdtemp(prefix=".saving-", dir=root))
    try:
        policy.write(hidden)
        random_state = {"torch": torch.get_rng_state()}
        whole = gather_state(optimiser, policy.group)
        torch.save({"optimiser": whole, "random": random_state}, hidden / OPTIMISER)
        (hidden / STATE).write_bytes(orjson.dumps(asdict(state), option=orjson.OPT_INDENT_2))
        for path in hidden.iterdir():
            sync(path)
        sync(hidden)
        hidden.rename(target)
    except BaseException as error:
        shutil.rmtree(hidden, ignore_errors=True)
        if isinstance(error, OSError | RuntimeError):  # torch.save raises RuntimeError on a full disk
            raise CheckpointError(
                f"{target}: the checkpoint can't be written ({error}); nothing of it was kept, the version "
                "before serves on: free space and start again, which takes the same step"
            ) from error
        raise
    sync(root)
    return target


def locate(root: Path, step: int) -> Path:
    """Where the checkpoint of a step is, or will be."""
    return root / f"step-{step:06d}"


def copy_policy(path: Path, directory: Path, weights_file: str) -> None:
    """Fill a directory with a checkpoint's policy. Its weights are a hard link where the file system has
    them: they are written once, and neither a checkpoint nor a version is ever changed. Raises OSError.
    """
    for file in path.iterdir():
        if file.name not in (OPTIMISER, STATE, weights_file):
            shutil.copyfile(file, directory / file.name)
    try:
        os.link(path / weights_file, directory / weights_file)
    except OSError:
        shutil.copyfile(path / weights_file, directory / weights_file)


def find_newest(root: Path) -> Path | None:
    """The checkpoint of the highest step; None where there is none."""
    found = _all(root)
    return found[-1] if found else None


def read_state(path: Path) -> RunState:
    """A checkpoint's state. Raises CheckpointError where it isn't one of ours."""
    try:
        return RunState(**_read_older(orjson.loads((path / STATE).read_bytes())))
    except (OSError, ValueError, TypeError, LookupError) as error:
        raise CheckpointError(
            f"{path / STATE}: can't be used ({error}); delete {path} to go on from the one before"
        ) from None


def _read_older(state: dict[str, Any]) -> dict[str, Any]:
    """The state in today's form: older ones listed all versions and all groups."""
    if "consumed" in state:
        state["cursor"] = {"position": 0, "waiting": [], "consumed": state.pop("consumed")}
        state["first"] = state["versions"][0]
    return state


def restore(path: Path, policy: Policy, optimiser: torch.optim.Optimizer) -> None:
    """Put a checkpoint's weights, optimiser and random state in place."""
    if not (path / policy.weights_file).is_file():
        raise CheckpointError(
            f"{path}: has no {policy.weights_file}, which lora.rank asks for: set lora.rank as the run was "
            "begun with (0: all weights are trained), or name another --out"
        )
    try:
        policy.restore(path / policy.weights_file)
    except (OSError, KeyError, RuntimeError, SafetensorError) as error:
        file = path / policy.weights_file
        raise CheckpointError(
            f"{file}: can't be used ({error}); delete {path} to go on from the one before"
        ) from None
    try:
        stored = torch.load(path / OPTIMISER, weights_only=True)
        optimiser.load_state_dict(divide_state(stored["optimiser"], optimiser))
        torch.set_rng_state(stored["random"]["torch"])
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise CheckpointError(f"{path / OPTIMISER}: can't be used ({error}); name another --out") from None


def retain(root: Path, count: int) -> None:
    """Keep the newest checkpoints only, and clear away what interrupted writes left."""
    for path in _all(root)[:-count]:
        hidden = Path(tempfile.mkdtemp(prefix=".dropping-", dir=root))
        path.rename(hidden / path.name)
    for prefix in (".saving-", ".dropping-"):
        for path in root.glob(f"{prefix}*"):
            shutil.rmtree(path, ignore_errors=True)


def _all(root: Path) -> list[Path]:
    if not root.is_dir():
        return []
    named = [(int(match[1]), path) for path in root.iterdir() if (match := _NAME.fullmatch(path.name))]
    return [path for _, path in sorted(named)]
