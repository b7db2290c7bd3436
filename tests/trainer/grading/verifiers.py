"""Functions that the tests' graders call, in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import time
from typing import Any

import numpy as np


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


def talkative(task: dict[str, Any], output: str) -> bool:
    """Writes past Python's own standard output, what might be an answer."""
    os.write(1, b'{"reward": 0.25}\n')
    subprocess.run(["echo", '{"reward": 0.5}'], check=True)
    return True


def numeric(task: dict[str, Any], output: str) -> Any:
    """Numbers of a library, and one that no float holds."""
    return {
        "0": np.float32(0.5),
        "1": np.bool_(True),
        "2": {"reward": np.int64(1), "components": {"f1": np.float32(0.25)}},
        "3": {"reward": 10**400},
        "4": np.zeros(2),
        "5": None,
        "6": float("nan"),
    }[task["session"][-1]]


def clinging(task: dict[str, Any], output: str) -> float:
    """Late, and so is a process of its own that has all that this one has open."""
    os.fork()
    time.sleep(600)
    return 1.0
