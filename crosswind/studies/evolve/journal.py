"""What a run measured, line by line: one that was stopped goes on from it, and the lineage is read off."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from crosswind.gateway.errors import ConfigurationError
from crosswind.gateway.whole_file import write_whole

Entry = dict[str, Any]


class Journal:
    """A file of JSON lines. The first says what run it is; the rest are results by their keys, each written
    once."""

    def __init__(self, path: Path, run: Mapping[str, Any]) -> None:
        self._path = path
        self._found: dict[str, Entry] = {}
        whole = _whole_lines(path)
        if not whole:
            write_whole(path, json.dumps(run) + "\n")
            return
        earlier, *entries = map(json.loads, whole)
        if earlier != dict(run):
            differing = sorted(name for name in {*earlier, *run} if earlier.get(name) != run.get(name))
            raise ConfigurationError(
                f"{path} is of another search ({', '.join(differing)} differ): give its options again to go "
                "on with it, or another --out to start a new search"
            )
        self._found = {entry["key"]: entry for entry in entries}
        # A line that a crash cut short goes: what follows must not be glued to it.
        write_whole(path, "".join(line + "\n" for line in whole))

    def get(self, key: str) -> Entry | None:
        """What was measured under this key, if anything was."""
        return self._found.get(key)

    def add(self, key: str, **result: Any) -> Entry:
        """Keep a result; it is on disk when this returns."""
        entry = {"key": key, **result}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._found[key] = entry
        return entry

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._found.values())


def _whole_lines(path: Path) -> list[str]:
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    return text[: text.rfind("\n") + 1].splitlines()
