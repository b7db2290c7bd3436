"""Try mutants in a copy of the tree: the tests that execute a mutant, those most likely to notice first."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from benchmarks.mutants.mutation import Mutant, digest

FIRST = 25
"""So many of the tests most likely to notice are run before all the others."""
LEFT_OUT = (".git", ".venv*", "runs", "node_modules", "__pycache__", ".hypothesis", ".*_cache", "*.egg-info")
_RUNNER = Path(__file__).with_name("runner.py").resolve()


class Executed:
    """Which tests execute which lines, and how long each takes."""

    def __init__(self, work: Path) -> None:
        facts = json.loads((work / "tests.json").read_text())
        self.seconds: dict[str, float] = facts["seconds"]
        self._lines: defaultdict[str, dict[str, int]] = defaultdict(dict)
        """By file and test: the executed lines as the bits of a number."""
        self._in_all: Counter[str] = Counter()
        rows = (
            "SELECT path, context, numbits FROM line_bits "
            "JOIN file ON file.id = file_id JOIN context ON context.id = context_id"
        )
        tree = (work / "tree").resolve()
        for path, test, bits in sqlite3.connect(work / "coverage").execute(rows):
            if test in self.seconds:
                lines = int.from_bytes(bits, "little")
                self._lines[str(Path(path).relative_to(tree))][test] = lines
                self._in_all[test] += lines.bit_count()

    def tests(self, mutant: Mutant) -> list[str]:
        """Those that execute the mutant's lines; first such as are short, execute little besides, and aren't
        one more case of the same test."""
        first, last = mutant.lines
        wanted = ((1 << last + 1) - 1) >> first << first
        costs = {
            test: max(self.seconds[test], 0.05) * self._in_all[test] / (lines & wanted).bit_count()
            for test, lines in self._lines[mutant.file].items()
            if lines & wanted
        }
        cases: Counter[str] = Counter()
        for test in sorted(costs, key=lambda test: (costs[test], test)):
            cases[test.partition("[")[0]] += 1
            costs[test] *= cases[test.partition("[")[0]]
        return sorted(costs, key=lambda test: (costs[test], test))


class Trials:
    """Tries mutants, in a copy of the tree."""

    def __init__(self, root: Path, python: str, work: Path, files: list[str], tests: list[str]) -> None:
        self.tree, self._work, temporary = work / "tree", work, work / "tmp"
        temporary.mkdir(parents=True, exist_ok=True)
        if not self.tree.exists():
            shutil.copytree(root, self.tree, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
        path = os.pathsep.join(filter(None, (str(self.tree), os.environ.get("PYTHONPATH"))))
        environment = {**os.environ, "PYTHONPATH": path, "TMPDIR": str(temporary), "OMP_NUM_THREADS": "1"}
        inside: dict[str, Any] = {"cwd": self.tree, "env": environment, "text": True}
        runner = [python, str(_RUNNER)]
        if not (work / "tests.json").exists():
            sources = [str(self.tree.resolve() / file) for file in files]
            subprocess.run([*runner, "trace", json.dumps([str(work), sources, tests])], check=True, **inside)
        self.executed = Executed(work)
        inside |= {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._server = subprocess.Popen([*runner, "serve", json.dumps([str(work)])], **inside)
        self._sound: dict[str, bool] = {}

    def _ask(self, tests: list[str]) -> tuple[str, str]:
        assert self._server.stdin is not None and self._server.stdout is not None
        deadline = 3 * sum(self.executed.seconds[test] for test in tests) + 20
        print(json.dumps([tests, deadline]), file=self._server.stdin, flush=True)
        outcome, by = json.loads(self._server.stdout.readline())
        shutil.rmtree(self._work / "tmp", ignore_errors=True)
        (self._work / "tmp").mkdir(exist_ok=True)
        return outcome, by

    def try_(self, mutant: Mutant, new: bytes) -> tuple[str, str, int]:
        """What became of the mutant, which test noticed, and how many execute it. A test that fails without
        the mutant too isn't asked again."""
        path = self.tree / mutant.file
        old, stat = path.read_bytes(), path.stat()
        while True:
            tests = [test for test in self.executed.tests(mutant) if self._sound.get(test, True)]
            outcome, by = ("survived" if tests else "no coverage"), ""
            try:
                path.write_bytes(new)
                # A time of its own, so that nothing compiled from one text is taken for another's.
                os.utime(path, (stat.st_mtime, stat.st_mtime + 10 + int(digest(mutant.key)[:6], 16)))
                for batch in filter(None, (tests[:FIRST], tests[FIRST:])):
                    outcome, by = self._ask(batch)
                    if outcome != "survived":
                        break
            finally:
                path.write_bytes(old)
                os.utime(path, (stat.st_mtime, stat.st_mtime))
            if by in self.executed.seconds and by not in self._sound:
                self._sound[by] = self._ask([by])[0] == "survived"
            if self._sound.get(by, True):
                return outcome, by, len(tests)
