"""What CONTRIBUTING.md shows works as it stands there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests import ROOT


def test_the_operator_that_is_shown_fulfils_the_contract(tmp_path: Path) -> None:
    """As a third party's module: importing it registers it, and the one contract runs over it."""
    shown = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    [source] = [code for code in shown if "@operator(" in code]
    (tmp_path / "shown_operator.py").write_text(source)
    [name] = re.findall(r'@operator\(\s*"([\w.]+)"', source)
    run = f"import sys, pytest, shown_operator; sys.exit(pytest.main(['-q', '-k', '{name}', *sys.argv[1:]]))"
    contract = ("-p", "no:cacheprovider", "-p", "no:xdist", "tests/test_every_operator.py")
    done = subprocess.run(
        [sys.executable, "-c", run, *contract],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert re.search(r"^[1-9]\d* passed", done.stdout.splitlines()[-1]), done.stdout
