"""The journal: what was measured is kept whatever happens, and other searches are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from crosswind.gateway.errors import ConfigurationError
from crosswind.studies.evolve.frozen import trace_ancestors
from crosswind.studies.evolve.journal import Journal


def test_what_was_added_is_there_again_also_after_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "evaluations.jsonl"
    Journal(path, {"seed": 1}).add("search a", fitness=1)
    with path.open("a") as file:
        file.write('{"key": "search b", "fit')
    again = Journal(path, {"seed": 1})
    assert again.get("search a") == {"key": "search a", "fitness": 1} and again.get("search b") is None
    again.add("search b", fitness=2)
    assert [entry["fitness"] for entry in Journal(path, {"seed": 1})] == [1, 2]


def test_another_search_in_the_same_folder_is_refused_with_what_differs(tmp_path: Path) -> None:
    path = tmp_path / "evaluations.jsonl"
    Journal(path, {"seed": 1, "tasks": 64})
    with pytest.raises(ConfigurationError, match=r"seed differ.*--out"):
        Journal(path, {"seed": 2, "tasks": 64})


def test_ancestors_are_told_once_and_the_oldest_first() -> None:
    def entry(name: str, generation: int, *parents: str) -> dict[str, object]:
        fitness = {"success": 0.5}
        known = {"id": name, "generation": generation, "origin": "mutation", "parents": list(parents)}
        return {**known, "fitness": fitness, "rules": [{"operator": "tool.timeout", "severity": 0.5}]}

    family = [entry("a", 0), entry("b", 0), entry("c", 1, "a", "b"), entry("d", 2, "c", "a"), entry("x", 1)]
    found = trace_ancestors("d", {str(one["id"]): one for one in family})
    assert [one["id"] for one in found] == ["a", "b", "c", "d"]
