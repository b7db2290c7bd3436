"""Functions for `--verify`."""

from __future__ import annotations

import time
from typing import Any


def has_gate(task: dict[str, Any], output: str) -> bool:
    print("a word on the way")
    return str(task["gate"]) in output


def half(task: dict[str, Any], output: str) -> dict[str, Any]:
    return {"reward": 0.5, "reason": "half done"}


def raises(task: dict[str, Any], output: str) -> bool:
    raise KeyError("no such gate")


def says_nothing(task: dict[str, Any], output: str) -> None:
    return None


def hangs(task: dict[str, Any], output: str) -> bool:
    time.sleep(3600)
    return True
