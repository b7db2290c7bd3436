"""Mutation testing of chosen rooms: put small faults into a copy of the source, one at a time, and see
whether the tests that execute the faulty line notice.

    python -m benchmarks.mutants run --root TREE --python PYTHON --work DIR --out FILE [--seed 11]
                          [--count 300] [--tests tests/a --tests tests/b] ROOM[=PATH,PATH...] ...
    python -m benchmarks.mutants report FILE [LATER_FILE]

A room is a folder, or a name for several files and folders. The first run in DIR copies the tree there, runs
the tests once under `coverage` (which PYTHON must be able to import) and keeps which test executes which
line. Then it tries mutants, one JSON line each in FILE. Started again, it goes on with the rest.

A mutant is known by what it is, not where: the function's qualified name, the kind of change, the code before
and after, and which of several equal ones it is. The order of the sample follows from these and the seed, so
that in a tree whose files were moved the same mutants are drawn. `--like FILE` tries exactly those of FILE,
and finds them where names were changed too, by the shape of the function or else of the statement.
`benchmarks/mutants/version_0_1_0.jsonl` holds the rows of version 0.1.0, seed 11.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.mutants.mutation import apply_mutant, find_mutants, match_rows, sample
from benchmarks.mutants.trials import Trials


def read(file: Path) -> list[dict[str, Any]]:
    """The rows of a file; none where it isn't there yet."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def run(options: argparse.Namespace) -> None:
    """Try the first mutants of the sample, as many as are asked for; those that are in the file are done."""
    root, work, out = options.root.resolve(), options.work.resolve(), options.out
    named = (room.partition("=") for room in options.rooms)
    mutants = find_mutants(root, {name: (paths or name).split(",") for name, _, paths in named})
    order = sample(mutants, options.seed)
    likes: dict[str, str] = {}
    if options.like:
        rows = read(options.like)
        found = match_rows(rows, mutants)
        order, likes = list(found.values()), {mutant.key: key for key, mutant in found.items()}
        print("No more in this tree:", *(row["key"] for row in rows if row["key"] not in found), sep="\n  ")
    done = {row["key"] for row in read(out)}
    trials = Trials(root, options.python, work, sorted({m.file for m in mutants}), options.tests)
    print(f"{len(mutants)} mutants, to draw from:", dict(Counter(m.room for m in order)), flush=True)
    tried = 0
    for mutant in order:
        new = apply_mutant((trials.tree / mutant.file).read_bytes(), mutant)
        tried += new is not None
        if tried > options.count:
            break
        if new is None or mutant.key in done:
            continue
        began = time.monotonic()
        status, by, tests = trials.try_(mutant, new)
        seconds = round(time.monotonic() - began, 1)
        like = {"like": likes[mutant.key]} if options.like else {}
        row = {**mutant.row(), **like, "status": status, "by": by, "tests": tests, "seconds": seconds}
        with out.open("a") as file:
            file.write(json.dumps(row) + "\n")


def report(options: argparse.Namespace) -> None:
    """Counts by room and by kind, the survivors, and, beside an earlier file, what lives that died."""
    files = [read(file) for file in options.files]
    for name, rows in zip(options.files, files, strict=True):
        for group in ("room", "kind"):
            print(f"\n{name}, by {group}")
            for value in [*sorted({row[group] for row in rows}), *["all"][: len(rows)]]:
                counts = Counter(row["status"] for row in rows if value in (row[group], "all"))
                died = (counts["killed"] + counts["timeout"]) / counts.total()
                print(f"  {value:22} {counts.total():4}  died {died:6.1%}  {dict(counts)}")
        for status in ("survived", "no coverage"):
            print(f"\n{name}: {status}")
            for row in (row for row in rows if row["status"] == status):
                print(f"  {row['file']}:{row['line']} {row['key']}  ({row['tests']} tests)")
    if len(files) == 2:
        before, after = ({row.get("like", row["key"]): row["status"] for row in rows} for rows in files)
        print(f"\nIn both: {len(before.keys() & after.keys())}. Died before and lives now:")
        dead = ("killed", "timeout")
        print(*(f"  {k}" for k in after if before.get(k) in dead and after[k] not in dead), sep="\n")


def main() -> None:
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run")
    running.set_defaults(do=run)
    for name in ("root", "work", "out"):
        running.add_argument(f"--{name}", type=Path, required=True)
    running.add_argument("--python", default=sys.executable)
    running.add_argument("--like", type=Path)
    running.add_argument("--seed", type=int, default=11)
    running.add_argument("--count", type=int, default=300)
    running.add_argument("--tests", action="append", required=True)
    running.add_argument("rooms", nargs="+")
    reporting = commands.add_parser("report")
    reporting.set_defaults(do=report)
    reporting.add_argument("files", type=Path, nargs="+")
    options = parser.parse_args()
    options.do(options)


if __name__ == "__main__":
    main()
