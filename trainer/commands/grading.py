"""What the flags `--reward`, `--judge` and `--rubric` of `crosswind train run` come to."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crosswind.policies.commands.exits import refuse
from crosswind.trainer.errors import RunRefused

if TYPE_CHECKING:
    from crosswind.trainer.config.settings import TrainConfig
    from crosswind.trainer.grading.grader import Grader
    from crosswind.trainer.run.run import Run

JUDGE = "judge"
"""The reward of a judge model."""


def read_judge(model: str | None, rubric: Path | None) -> dict[str, Any]:
    """The settings that the flags change."""
    changes: dict[str, Any] = {} if model is None else {"reward": JUDGE, "judge.model": model}
    if rubric is None:
        return changes
    try:
        return changes | {"judge.rubric": rubric.read_text("utf-8")}
    except (OSError, ValueError) as error:
        refuse(f"--rubric: {rubric} can't be read: {error}")


def gives_rewards(config: TrainConfig) -> bool:
    """Whether the trainer asks for the rewards itself."""
    return config.reward == JUDGE or ":" in config.reward


def make_grader(stack: ExitStack, config: TrainConfig) -> Grader | None:
    """Who gives the rewards; None where others post them. Ends the command where that can't be."""
    if not gives_rewards(config):
        return None
    # Not at the top: pydantic takes long to import.
    from crosswind.trainer.grading.function import FunctionGrader
    from crosswind.trainer.grading.judge import JudgeGrader

    try:
        found: Grader = (
            JudgeGrader(config.judge)
            if config.reward == JUDGE
            else FunctionGrader(config.reward, config.reward_deadline, config.reward_import_deadline)
        )
    except RunRefused as error:
        refuse(str(error))
    stack.callback(found.close)
    return found


def calibrate(run: Run) -> None:
    """Say how far a judge agrees with what is verified. RunFailed where it doesn't answer."""
    from crosswind.trainer.grading.judge import JudgeGrader

    if isinstance(run.grader, JudgeGrader):
        run.progress.note(run.grader.calibrate(run.store))
