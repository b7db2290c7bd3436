"""The tools that some clients need beside this environment: where they are, and what to do without them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests.clients.worker import HERE, ROOT


def litellm_python() -> Path:
    """The interpreter of LiteLLM's environment."""
    return Path(os.environ.get("LITELLM_VENV", ROOT / ".venv-litellm")) / "bin" / "python"


def missing_tools(needed: set[str | None]) -> list[str]:
    """What is missing of what is needed: each named, with the way to mend it."""
    missing = []
    if "curl" in needed and not shutil.which("curl"):
        missing.append("curl is missing: install it from your system's packages")
    if "node" in needed:
        missing += _node()
    if "litellm" in needed and not litellm_python().exists():
        missing.append(f"{litellm_python()} is missing: `make clients` makes LiteLLM's environment")
    return missing


def _node() -> list[str]:
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return ["node or npm is missing: install Node 18 or newer with npm from your system's packages"]
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(version.lstrip("v").split(".")[0]) < 18:
        return [f"node {version} is too old: install Node 18 or newer"]
    if not (HERE / "node" / "node_modules" / "ai").is_dir():
        return ["the Vercel AI SDK is missing: `npm ci --prefix tests/clients/node` installs it"]
    return []
