"""Environments are found by walking the package; an unknown one is refused with the nearest name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from crosswind import simulators
from crosswind.simulators.environment import UnknownEnvironmentError, load, names


def test_retail_is_found() -> None:
    assert "retail" in names()
    assert load("retail").name == "retail"
    assert {"all", "practice"} <= set(load("retail").kinds)


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownEnvironmentError, match="did you mean 'retail'"):
        load("retial")


def test_a_package_with_an_environment_module_is_all_it_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "puddle"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "environment.py").write_text("ENVIRONMENT = 'a puddle'\n")
    monkeypatch.setattr(simulators, "__path__", [*simulators.__path__, str(tmp_path)])
    try:
        assert "puddle" in names()
        assert load("puddle") == "a puddle"  # type: ignore[comparison-overlap]
    finally:
        for module in [name for name in sys.modules if name.startswith("crosswind.simulators.puddle")]:
            del sys.modules[module]


def test_an_entry_point_names_an_environment_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "faraway.py").write_text("ENVIRONMENT = 'far away'\n")
    information = tmp_path / "faraway-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: faraway\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[crosswind.environments]\nfaraway = faraway:ENVIRONMENT\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "faraway" in names()
    assert load("faraway") == "far away"  # type: ignore[comparison-overlap]
