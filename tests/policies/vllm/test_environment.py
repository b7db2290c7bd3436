"""Where vLLM can't be installed, that is said by name and with a code of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from crosswind.policies.vllm import environment
from crosswind.policies.vllm.environment import NOT_INSTALLED, NotInstalled, VllmEnvironment

LOCKS = Path(environment.__file__).parent / "locks"


def test_unreachable_indexes_end_with_a_code_of_their_own(tmp_path: Path) -> None:
    nowhere = "http://127.0.0.1:9/simple"
    settings = {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_FIND_LINKS": "",
        "PIP_INDEX_URL": nowhere,
        "PIP_RETRIES": "0",
    }
    done = subprocess.run(
        [sys.executable, "-m", "crosswind.policies.vllm.environment", "--into", str(tmp_path / "vllm")],
        env=os.environ | settings | {"PIP_RETRIES": "0", "TORCH_INDEX": nowhere},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == NOT_INSTALLED
    assert "vLLM can't be installed: can't install torch" in done.stderr
    with pytest.raises(NotInstalled, match="run `make vllm`"):
        environment.find(tmp_path / "vllm")


def test_an_environment_of_other_locks_is_not_current(tmp_path: Path) -> None:
    found = VllmEnvironment(tmp_path)
    (tmp_path / ".crosswind-lock").write_text("cpu 0123\n")
    assert found.build == "cpu"
    assert not found.current("cpu")


@pytest.mark.parametrize("lock", sorted(LOCKS.glob("*.lock")), ids=lambda path: path.name)
def test_locks_pin_every_package_by_hash_and_name_no_registry(lock: Path) -> None:
    lines = [line for line in lock.read_text().splitlines() if line and not line.startswith("#")]
    packages = [line for line in lines if not line.startswith(" ")]
    assert packages and all("==" in line and line.endswith("\\") for line in packages)
    assert all(line.strip().startswith("--hash=sha256:") for line in lines if line.startswith(" "))
    assert "://" not in lock.read_text()
