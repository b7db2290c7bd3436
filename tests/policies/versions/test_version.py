"""The registry: complete or not at all, never changed, and refusing with reasons."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from crosswind.policies.versions.version import (
    CHECKED_FILES,
    PRETRAINED,
    Registry,
    VersionError,
    find_policy,
    read_version,
    verify,
)


def _fill(directory: Path, mark: str = "x") -> None:
    for name in CHECKED_FILES:
        (directory / name).write_text(f"{mark} {name}")


def test_what_is_added_is_found_again(tmp_path: Path) -> None:
    registry = Registry(tmp_path / "versions")
    assert registry.versions() == []
    added = [
        registry.add(
            f"v{step}", lambda path: _fill(path, "y"), parent="v0", step=step, run="r", metrics={"loss": 0.5}
        )
        for step in (2, 10, 1)
    ]
    assert [version.version for version in registry.versions()] == ["v1", "v2", "v10"]
    assert registry.get("v2") == added[0]
    verify(registry.get("v10"))


def test_a_write_that_fails_leaves_no_trace(tmp_path: Path) -> None:
    registry = Registry(tmp_path)

    def fail(directory: Path) -> None:
        _fill(directory)
        raise RuntimeError("disk on fire")

    with pytest.raises(RuntimeError):
        registry.add("v1", fail)
    with pytest.raises(VersionError, match=r"model\.safetensors: can't be read"):
        registry.add("v1", lambda path: (path / "config.json").touch())
    assert list(tmp_path.iterdir()) == []


def test_no_reader_ever_sees_half_a_version(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    done = threading.Event()
    seen: list[str] = []

    def watch() -> None:
        while not done.is_set():
            for version in registry.versions():
                verify(version)
                seen.append(version.version)

    watcher = threading.Thread(target=watch)
    watcher.start()
    for step in range(40):
        registry.add(f"v{step}", lambda path: _fill(path, "much longer text " * 1000), step=step)
    while "v39" not in seen and watcher.is_alive():
        pass
    done.set()
    watcher.join()
    assert "v39" in seen


def test_versions_are_never_overwritten_and_changes_are_noticed(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    version = registry.add("v1", _fill)
    with pytest.raises(VersionError, match="exists already"):
        registry.add("v1", _fill)
    (version.path / "config.json").write_text("other")
    with pytest.raises(VersionError, match="checksum"):
        verify(read_version(version.path))


@pytest.mark.parametrize("name", ["", "../up", ".hidden", "a/b", "x" * 101])
def test_names_that_are_no_file_names_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(VersionError, match="version"):
        Registry(tmp_path).add(name, _fill)
    with pytest.raises(VersionError, match="isn't under"):
        Registry(tmp_path).get(name)


def test_retention_keeps_the_newest_and_the_protected(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    for step in range(6):
        registry.add(f"v{step}", _fill, step=step)
    assert registry.retain(2, protected=frozenset({"v0"})) == ["v1", "v2", "v3"]
    assert [version.version for version in registry.versions()] == ["v0", "v4", "v5"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["v0", "v4", "v5"]


def test_a_policy_is_found_by_its_directory_or_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_policy(tmp_path) == tmp_path
    assert find_policy(Path("retail")) == PRETRAINED / "retail"
    assert find_policy(Path("nowhere/retail")) == Path("nowhere/retail")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "retail").mkdir()
    assert find_policy(Path("retail")) == Path("retail")


def test_a_spoilt_metadata_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "crosswind.json").write_text("{")
    with pytest.raises(VersionError, match=r"crosswind\.json: not JSON"):
        read_version(tmp_path)
    (tmp_path / "crosswind.json").write_text("{}")
    with pytest.raises(VersionError, match="field 'version'"):
        read_version(tmp_path)
