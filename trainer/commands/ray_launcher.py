"""`crosswind train run --launcher ray`: the processes of a run as workers of Ray Train."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crosswind.policies.commands.exits import refuse
from crosswind.trainer.commands.launcher import RESUME

if TYPE_CHECKING:
    from crosswind.trainer.config.settings import TrainConfig


def launch_on_ray(arguments: Sequence[str], count: int, config: TrainConfig) -> int:
    """Run `crosswind train run ARGUMENTS` in so many workers of the Ray cluster that RAY_ADDRESS names, or of
    one that begins and ends with this command; gives the exit code.
    """
    try:
        from ray.train import FailureConfig, RunConfig, ScalingConfig
        from ray.train.torch import TorchConfig, TorchTrainer
    except ModuleNotFoundError as error:
        refuse(f"--launcher: {error.name} isn't installed: install crosswind[ray]")
    on_gpu = config.device != "cpu"
    trainer = TorchTrainer(
        _work,
        train_loop_config={"arguments": list(arguments), "folder": str(Path.cwd())},
        scaling_config=ScalingConfig(num_workers=count, use_gpu=on_gpu),
        # Ray's own restart would begin before anyone has read why the run failed.
        run_config=RunConfig(failure_config=FailureConfig(max_failures=0)),
        torch_config=TorchConfig(
            backend="cpu:gloo,cuda:nccl" if on_gpu else "gloo", timeout_s=int(config.worker_deadline)
        ),
    )
    try:
        trainer.fit()
    except Exception as error:  # Ray has many, which share no base class
        reason = (str(error).strip() or type(error).__name__).splitlines()[-1]
        click.echo(f"crosswind: Ray Train ended the run ({reason}); no step is lost: {RESUME}", err=True)
        return 1
    return 0


def _work(config: dict[str, Any]) -> None:
    """A worker of Ray: the command again. Ray has set its rank, and made its process group."""
    from crosswind.trainer.commands.train import run

    os.chdir(config["folder"])
    try:
        run.main(args=config["arguments"], prog_name="crosswind train run", standalone_mode=True)
    except SystemExit as ended:
        if ended.code:
            raise RuntimeError(f"crosswind train run ended with exit code {ended.code}") from None
