"""What docs/testing.md shows works as it stands there, and `python -m crosswind.testing` serves."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import httpx

from tests import ROOT


def test_the_page_shows_tests_that_pass(tmp_path: Path) -> None:
    shown = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "testing.md").read_text(), re.DOTALL)
    (tmp_path / "test_shown.py").write_text("\n\n".join(shown))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "test_shown.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and "2 passed" in done.stdout, done.stdout


def test_the_command_echoes() -> None:
    command = [sys.executable, "-m", "crosswind.testing"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        body = {"model": "any", "messages": [{"role": "user", "content": "Hello?"}]}
        answer = httpx.post(f"{url}/chat/completions", json=body, trust_env=False).json()
        process.terminate()
    assert answer["choices"][0]["message"]["content"] == "You said: Hello?"
