"""vLLM's own environment, since it can't share one with the newest fastapi and transformers.

    python -m crosswind.policies.vllm.environment [--into .venv-vllm] [--build cpu|cuda]

Installs from locks with hashes, and only where something changed. Ends with 69 where vLLM can't be installed,
so that nobody takes that for a failed test. Needs the standard library only.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

NOT_INSTALLED = 69
"""The exit code: sysexits' EX_UNAVAILABLE."""

PYTHON = (3, 11)
"""What the locks were made for."""

_LOCKS = Path(__file__).parent / "locks"
_STAMP = ".crosswind-lock"
_FILES = {"cpu": ("torch-cpu.lock", "cpu.lock"), "cuda": ("cuda.lock",)}
_TORCH_INDEX = "https://download.pytorch.org/whl/cpu"


class NotInstalled(Exception):
    """There is no usable vLLM. The message says what to do."""


@dataclass(frozen=True, slots=True)
class VllmEnvironment:
    """A virtual environment that holds vLLM."""

    root: Path

    @property
    def python(self) -> Path:
        return self.root / "bin" / "python"

    @property
    def build(self) -> str:
        """`cpu` or `cuda`, as it was installed. Raises NotInstalled."""
        try:
            return (self.root / _STAMP).read_text().split()[0]
        except (OSError, IndexError):
            raise NotInstalled(f"no vLLM in {self.root}: run `make vllm`") from None

    def current(self, build: str) -> bool:
        """Whether it was installed from these very locks."""
        try:
            return (self.root / _STAMP).read_text() == _stamp(build)
        except OSError:
            return False


def default_root() -> Path:
    """Where `make vllm` puts it: beside the environment that this process runs in. CROSSWIND_VLLM_ENV names
    another place.
    """
    named = os.environ.get("CROSSWIND_VLLM_ENV")
    if named:
        return Path(named)
    own = Path(sys.prefix).resolve()
    return own.with_name(f"{own.name}-vllm")


def find(root: Path | None = None) -> VllmEnvironment:
    """The installed environment. Raises NotInstalled."""
    environment = VllmEnvironment(root or default_root())
    if environment.build and not environment.python.exists():
        raise NotInstalled(f"{environment.root} has no {environment.python.name}: run `make vllm`")
    return environment


def install(root: Path, build: str) -> VllmEnvironment:
    """Make the environment unless it is there. Raises NotInstalled with the installer's last words."""
    environment = VllmEnvironment(root)
    if environment.current(build):
        return environment
    if sys.version_info[:2] != PYTHON:
        wanted = ".".join(map(str, PYTHON))
        raise NotInstalled(f"vLLM's locks are for Python {wanted}, this is {sys.version.split()[0]}: use it")
    _run("make the environment", [sys.executable, "-m", "venv", "--clear", str(root)])
    pip = [str(environment.python), "-m", "pip", "install", "--quiet", "--require-hashes", "--no-deps"]
    if build == "cpu":
        _install_cpu_torch(pip)
    locked = ["--require-hashes", "--no-deps", "--requirement", str(_LOCKS / _FILES[build][-1])]
    try:
        _run("install uv", [*pip, "--requirement", str(_LOCKS / "uv.lock")])
        uv = [str(root / "bin" / "uv"), "pip", "install", "--quiet", "--python", str(environment.python)]
        _run("install vLLM", uv + locked)
    except NotInstalled as error:
        # uv doesn't read pip's configuration, and there may be an index in it that is the only one here.
        print(f"{error}\ntaking pip instead", file=sys.stderr)
        _run("install vLLM", [*pip, "--requirement", str(_LOCKS / _FILES[build][-1])])
    _run("import vLLM", [str(environment.python), "-c", "import vllm"])
    (root / _STAMP).write_text(_stamp(build))
    return environment


def _install_cpu_torch(pip: Sequence[str]) -> None:
    """From PyTorch's own index; from where pip looks by itself (a folder of wheels, a mirror) if that fails.

    PyPI's torch for Linux is a CUDA build of gigabytes: the lock's hash refuses it.
    """
    torch = [*pip, "--requirement", str(_LOCKS / "torch-cpu.lock")]
    index = os.environ.get("TORCH_INDEX", _TORCH_INDEX)
    try:
        _run("install torch", [*torch, "--retries", "0", "--index-url", index])
    except NotInstalled:
        print(f"{index} gave no CPU torch: looking where pip is configured to", file=sys.stderr)
        _run("install torch", torch)


def _run(what: str, command: Sequence[str]) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise NotInstalled(f"vLLM can't be installed: can't {what}: {error}") from None
    except subprocess.CalledProcessError as error:
        words = (error.stderr or error.stdout or "").strip().splitlines()[-3:]
        raise NotInstalled(f"vLLM can't be installed: can't {what}: {' '.join(words)}") from None


def _stamp(build: str) -> str:
    content = b"".join((_LOCKS / name).read_bytes() for name in _FILES[build])
    return f"{build} {hashlib.blake2b(content, digest_size=16).hexdigest()}\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m crosswind.policies.vllm.environment", description=__doc__
    )
    parser.add_argument("--into", type=Path, default=default_root())
    parser.add_argument("--build", choices=sorted(_FILES), default="cpu")
    asked = parser.parse_args(arguments)
    if not VllmEnvironment(asked.into).current(asked.build):
        size = " (about 2.2 GB on disk)" if asked.build == "cpu" else ""
        print(f"Installing vLLM into {asked.into}{size}.", flush=True)
    try:
        install(asked.into, asked.build)
    except NotInstalled as error:
        print(error, file=sys.stderr)
        return NOT_INSTALLED
    return 0


if __name__ == "__main__":
    sys.exit(main())
