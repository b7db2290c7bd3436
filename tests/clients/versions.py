"""Which version of a client was used."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from importlib import metadata

from tests.clients.tools import litellm_python
from tests.clients.worker import HERE


@cache
def version(package: str) -> str:
    """The version of `ecosystem:name`; what names no ecosystem stands as it is."""
    ecosystem, _, name = package.partition(":")
    if ecosystem == "pypi":
        return f"{name} {metadata.version(name)}"
    if ecosystem == "npm":
        installed = HERE / "node" / "node_modules" / name / "package.json"
        return f"{name} {json.loads(installed.read_text())['version']}"
    if ecosystem == "litellm":
        code = "from importlib.metadata import version; print(version('litellm'))"
        return f"litellm {_said(str(litellm_python()), '-c', code)}"
    if ecosystem == "system":
        return " ".join(_said(name, "--version").split()[:2])
    return package


def _said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
