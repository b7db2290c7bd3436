"""An earlier commit of this repository as a contestant: a checkout and an environment of its own."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.gateway.contestants import Crosswind

BASELINE = "e0fc1b1"
"""The commit that the aims compare with."""


@dataclass(frozen=True, slots=True)
class Earlier(Crosswind):
    """Crosswind as it was at `commit`, with the libraries that are installed here."""

    commit: str = BASELINE

    def installed(self, folder: Path) -> str:
        """Check the commit out and install it, on first use. CalledProcessError where git doesn't know it."""
        checkout, environment = self._checkout(folder), self._environment(folder)
        if not (self._program(folder).exists() and checkout.exists()):
            subprocess.run(["git", "worktree", "prune"], check=True)
            subprocess.run(
                ["git", "worktree", "add", "--force", "--detach", str(checkout), self.commit], check=True
            )
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(environment)], check=True)
            # Its own package goes first on the path, and the libraries of this environment come after it.
            (_site_packages(environment) / "zz_libraries.pth").write_text(
                sysconfig.get_path("purelib") + "\n"
            )
            pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet"]
            subprocess.run([*pip, "--no-deps", "--editable", str(checkout)], check=True)
        return self.commit

    def command(self, upstream: int, port: int, control: int, folder: Path) -> list[str]:
        own = super(Earlier, self).command(upstream, port, control, folder)
        return [str(self._program(folder.parent)), *own[1:]]

    def environment(self) -> Mapping[str, str]:
        return {"PYTHONPATH": ""}

    def _checkout(self, folder: Path) -> Path:
        return folder / f"checkout-{self.commit}"

    def _environment(self, folder: Path) -> Path:
        return folder / f"environment-{self.commit}"

    def _program(self, folder: Path) -> Path:
        return self._environment(folder) / "bin" / "crosswind"


def _site_packages(environment: Path) -> Path:
    return next(environment.glob("lib/python*/site-packages"))
