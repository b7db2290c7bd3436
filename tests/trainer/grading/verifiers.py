"""Functions that the tests' graders call, in processes of their own."""

from __future__ import annotations

import json
import time
from typing import Any


def by_answer(task: dict[str, Any], output: str) -> dict[str, Any]:
    """1 where the last message has the task's word."""
    said = json.loads(output)[-1]["content"]
    print("this goes to the log")
    return {"reward": float(said == "right"), "components": {"purpose": task["purpose"], "said": said}}


def sometimes(task: dict[str, Any], output: str) -> float:
    """Late in one session, broken in another."""
    if task["session"].endswith("-0"):
        time.sleep(60)
    if task["session"].endswith("-1"):
        raise RuntimeError("no such order")
    return 1.0


def broken(task: dict[str, Any], output: str) -> str:
    return "fine"
