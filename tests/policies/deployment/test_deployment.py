"""Versions in service: confirmed by the engine's own log-probabilities, taken back where they aren't ours."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from safetensors.torch import load_file

from crosswind.policies.commands.policy import policy
from crosswind.policies.deployment.deployment import find_last_good
from crosswind.policies.embedded import control
from crosswind.policies.embedded.checkpoint import Checkpoint, read_checkpoint
from crosswind.policies.versions.journal import VersionJournal
from crosswind.policies.versions.version import Registry, VersionError
from tests.policies.conftest import Served, add_successor


@pytest.fixture
def line(served: Served, tmp_path: Path) -> Registry:
    """A registry of versions v1 -> v2 -> v3, whose first parent is what the engine serves."""
    registry = Registry(tmp_path / "versions")
    registry.adopt(served.first)
    parent = served.first
    for step in (1, 2, 3):
        parent = add_successor(registry, parent, f"v{step}", step=step)
    return registry


def _policy(served: Served, *arguments: str | Path) -> Result:
    return CliRunner().invoke(policy, [*map(str, arguments), "--engine", served.url])


@contextmanager
def tampered(monkeypatch: pytest.MonkeyPatch, *names: str) -> Iterator[None]:
    """An engine that reads other weights than these versions' directories hold: what any bug of a swap is."""

    def read(directory: Path, **given: Any) -> Checkpoint:
        found = read_checkpoint(directory, **given)
        wrong = found.version.version in names
        return replace(found, norm=found.norm * 1.01) if wrong else found

    with monkeypatch.context() as patched:
        patched.setattr(control, "read_checkpoint", read)
        yield


def test_a_published_version_is_confirmed_and_the_list_says_so(served: Served, line: Registry) -> None:
    done = _policy(served, "publish", line.root / "v1")
    assert done.exit_code == 0, done.output
    assert done.output.startswith("v1 serves") and "log-probabilities agree within" in done.output
    again = _policy(served, "publish", "v1", "--versions", line.root)
    assert again.exit_code == 1 and "serves already" in again.output
    verified = _policy(served, "verify", "v1", "--versions", line.root)
    assert verified.exit_code == 0 and "is what" in verified.output
    listed = CliRunner().invoke(policy, ["list", str(line.root), "--json"]).output
    rows = [json.loads(row) for row in listed.splitlines()]
    assert [row["version"] for row in rows] == ["random-0", "v1", "v2", "v3"]
    assert [row["confirmed"] is not None for row in rows] == [False, True, False, False]
    assert 0 < rows[1]["confirmed"] < 1e-4


def test_an_engine_that_serves_other_weights_is_caught_and_taken_back(
    served: Served, line: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _policy(served, "publish", line.root / "v1").exit_code == 0
    with tampered(monkeypatch, "v2"):
        done = _policy(served, "publish", line.root / "v2")
        assert done.exit_code == 1
        assert "differ from the trainer's by" in done.output and "rolled back to 'v1'" in done.output
    assert served.client.health().version == "v1"
    statuses = line.journal.read_statuses()
    assert "differ from the trainer's" in str(statuses["v2"].bad)
    assert statuses["v1"].bad is None and statuses["v1"].confirmed is not None
    refused = _policy(served, "publish", line.root / "v2")
    assert refused.exit_code == 2 and "was found bad" in refused.output
    forced = _policy(served, "publish", line.root / "v2", "--force")
    assert forced.exit_code == 0 and line.journal.read_statuses()["v2"].bad is None


def test_where_the_version_before_is_served_wrongly_too_nothing_is_called_good(
    served: Served, line: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _policy(served, "publish", line.root / "v1").exit_code == 0
    with tampered(monkeypatch, "v1", "v2"):
        done = _policy(served, "publish", line.root / "v2")
        assert done.exit_code == 1 and "doesn't serve correctly either" in done.output
    statuses = line.journal.read_statuses()
    assert statuses["v1"].bad and statuses["v2"].bad


def test_rollback_goes_to_the_nearest_good_ancestor_and_marks_the_bad_one(
    served: Served, line: Registry
) -> None:
    assert _policy(served, "publish", line.root / "v3").exit_code == 0
    (line.root / "v2" / "config.json").write_text("{}")
    done = _policy(served, "rollback", line.root, "--reason", "refunds everything")
    assert done.exit_code == 0, done.output
    assert "v1 serves, v3 is marked bad (refunds everything)" in done.output
    assert served.client.health().version == "v1"
    further = _policy(served, "rollback", line.root)
    assert further.exit_code == 0 and served.client.health().version == "random-0"
    end = _policy(served, "rollback", line.root)
    assert end.exit_code == 1 and "no good ancestor" in end.output
    assert served.client.health().version == "random-0"
    named = _policy(served, "rollback", line.root, "--to", "nowhere")
    assert named.exit_code == 1 and "'nowhere' isn't under" in named.output


def test_last_good_says_what_is_wrong_with_each_ancestor(line: Registry) -> None:
    line.journal.append("bad", "v1", reason="slow")
    line.journal.append("bad", "random-0", reason="old")
    (line.root / "v2" / "config.json").write_text("{}")
    with pytest.raises(VersionError, match=r"v2: .*checksum.*; v1: slow; random-0: old"):
        find_last_good(line, line.get("v3"))


def test_verify_without_an_engine_checks_the_files(served: Served, line: Registry) -> None:
    whole = CliRunner().invoke(policy, ["verify", str(line.root / "v1")])
    assert whole.exit_code == 0 and "its files are whole" in whole.output
    (line.root / "v1" / "tokenizer.json").write_text("{}")
    changed = CliRunner().invoke(policy, ["verify", str(line.root / "v1")])
    assert changed.exit_code == 1 and "files were changed" in changed.output
    missing = CliRunner().invoke(policy, ["verify", "v9", "--versions", str(line.root)])
    assert missing.exit_code == 2 and "'v9' isn't under" in missing.output


def test_compare_says_what_differs(served: Served, line: Registry) -> None:
    done = CliRunner().invoke(policy, ["compare", str(line.root / "v1"), str(line.root / "v2"), "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)
    before, after = (load_file(line.root / name / "model.safetensors") for name in ("v1", "v2"))
    moved, whole = (
        math.hypot(*(float(tensor.double().norm()) for tensor in tensors))
        for tensors in ([after[name].double() - before[name].double() for name in before], before.values())
    )
    assert found["weights"]["relative"] == pytest.approx(moved / whole) and moved > 0.5 * whole
    assert found["weights"]["changed"] > 0.5 * found["weights"]["total"]
    assert found["outputs"]["kl"] > 0.1 and found["outputs"]["tokens"] > 100
    same = CliRunner().invoke(policy, ["compare", "v1", "v1", "--versions", str(line.root), "--json"])
    outputs, weights = (json.loads(same.output)[part] for part in ("outputs", "weights"))
    assert (outputs["kl"], outputs["same_choice"], weights["changed"]) == (0.0, 1.0, 0)


def test_compare_shows_the_figures_of_each_versions_step(line: Registry) -> None:
    for name, success in (("v1", 0.5), ("v2", 0.75)):
        path = line.root / name / "crosswind.json"
        about = json.loads(path.read_text())
        figures = {"clean_success": success, "loss": 0.1, "success_by_type": {"tool.timeout": success / 2}}
        path.write_text(json.dumps(about | {"metrics": figures}))
    done = CliRunner().invoke(policy, ["compare", "v1", "v2", "--versions", str(line.root)])
    assert done.exit_code == 0, done.output
    assert [said for said in done.output.splitlines() if said.startswith("figure")] == [
        "figure    clean_success: 0.5 -> 0.75",
        "figure    success_by_type.tool.timeout: 0.25 -> 0.375",
    ]


def test_a_torn_line_of_the_journal_is_passed_over(tmp_path: Path) -> None:
    journal = VersionJournal(tmp_path)
    journal.append("published", "v1")
    with journal.path.open("ab") as file:
        file.write(b'{"at": 1, "event": "bad", "ver')
    journal.append("bad", "v1", reason="r")
    assert [(note.event, note.version) for note in journal.entries()] == [("published", "v1"), ("bad", "v1")]
    assert journal.read_statuses()["v1"].bad == "r"
