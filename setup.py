"""Refuse to build without the packages that `crosswind` links to. All else is in pyproject.toml."""

import sys
from pathlib import Path

from setuptools import setup

PACKAGES = Path(__file__).with_name("crosswind")
LINKS = ("gateway", "injectors", "policies", "simulators", "trainer")

if lost := [name for name in LINKS if not (PACKAGES / name / "__init__.py").is_file()]:
    sys.exit(
        f"the links {', '.join(f'crosswind/{name}' for name in lost)} are lost (Python's zipfile and git "
        "without core.symlinks write them as text): clone the repository, or unpack it with unzip or tar"
    )
setup()
