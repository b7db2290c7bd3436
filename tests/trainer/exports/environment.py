"""The environment that `make trl` makes: what `datasets`, `trl` and `pyarrow` read there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("libraries.py")


def find_python() -> Path:
    """Its interpreter; skips where there is none. CROSSWIND_TRL_ENV names another place."""
    own = Path(sys.prefix)
    root = Path(os.environ.get("CROSSWIND_TRL_ENV") or own.with_name(f"{own.name}-trl"))
    if not (root / ".ready").exists():
        pytest.skip(f"no TRL in {root}: run `make trl`, or name its environment in CROSSWIND_TRL_ENV")
    return root / "bin" / "python"


def ask(verb: str, *arguments: object) -> Any:
    """What `libraries.py` answers there."""
    done = subprocess.run(
        [find_python(), SCRIPT, verb, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "HF_HUB_OFFLINE": "1"},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])
