"""The official MCP SDK and the reference servers: real parts, in an environment of their own."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent
MADE = (".venv-mcp/.ready", "tests/gateway/stdio/node/node_modules/.package-lock.json")
"""What `make tool-servers` makes, and these tests use."""
MODERN_SERVER = HERE / "modern_server.py"


@pytest.fixture(scope="session")
def sdk() -> str:
    """The Python of the environment with the official SDK; made by `make tool-servers` on first use."""
    with (ROOT / ".venv-mcp.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = subprocess.run(["make", "-s", *MADE], cwd=ROOT, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return str(ROOT / ".venv-mcp" / "bin" / "python")


@pytest.fixture(scope="session")
def node_servers(sdk: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The commands of the reference servers."""
    if (node := shutil.which("node")) is None or shutil.which("npm") is None:
        pytest.skip("node and npm are missing: install Node 18 or newer with npm")
    modules = HERE / "node" / "node_modules" / "@modelcontextprotocol"
    files = tmp_path_factory.mktemp("files")
    (files / "a.txt").write_text("some text\n")
    return {
        "everything": [node, str(modules / "server-everything" / "dist" / "index.js")],
        "filesystem": [node, str(modules / "server-filesystem" / "dist" / "index.js"), str(files)],
        "memory": [node, str(modules / "server-memory" / "dist" / "index.js")],
    }


@pytest.fixture(scope="session")
def servers(sdk: str, node_servers: dict[str, list[str]]) -> dict[str, list[str]]:
    return {**node_servers, "modern": [sdk, str(MODERN_SERVER)]}
