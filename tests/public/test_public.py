"""What is public stays as it is, unless someone means to change it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import crosswind
from tests import ROOT
from tests.public.snapshots import FOLDER, OPERATIONS, SNAPSHOTS, with_metrics_table


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_the_snapshot_is_kept(name: str) -> None:
    """A change that is meant is a changed file: `python -m tests.public.snapshots`."""
    assert SNAPSHOTS[name]() + "\n" == (FOLDER / name).read_text()


def test_the_operations_page_lists_the_metrics_as_they_are() -> None:
    page = OPERATIONS.read_text()
    assert "crosswind_recorder_down" in page and with_metrics_table(page) == page


def test_the_names_that_are_resolved_late_are_those_that_mypy_sees() -> None:
    tree = ast.parse((ROOT / "crosswind" / "__init__.py").read_text())
    [block] = [node for node in tree.body if isinstance(node, ast.If)]
    imported = {
        alias.asname or alias.name: f"{node.module}:{alias.name}"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported == crosswind._HOMES
    assert sorted(imported) == sorted(crosswind.__all__) and set(imported) < set(dir(crosswind))
    with pytest.raises(AttributeError, match="no attribute 'Cleint'"):
        _ = crosswind.Cleint


def test_a_client_and_an_operator_import_no_torch() -> None:
    code = "import sys; from crosswind import Client, operator, Environment, open_store, objective; "
    done = subprocess.run([sys.executable, "-c", code + "sys.exit('torch' in sys.modules)"], check=False)
    assert done.returncode == 0


def test_examples_import_from_crosswind_alone() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for module, _ in _imports(page):
            assert module in ("crosswind", "crosswind.testing"), f"{page.name}: {module}"
    # What is shown of a file in our own tree may know its neighbours; what is public comes from the front.
    for module, names in _imports(ROOT / "CONTRIBUTING.md"):
        public = names & set(crosswind.__all__)
        assert (names if module == "crosswind" else set()) == public, f"{module}: {names}"


def _imports(page: Path) -> Iterator[tuple[str, set[str]]]:
    for code in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        for module, names in re.findall(r"^ *from (crosswind\S*) import (\([^)]*\)|.+)$", code, re.MULTILINE):
            yield module, set(re.findall(r"\w+", names))
