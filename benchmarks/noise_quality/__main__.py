"""`make noise-quality`: measure the noise on foreign corpora, keep the figures, and write the page.

python -m benchmarks.noise_quality --out docs/noise-quality.md --check   # exit 1 where an aim is missed
python -m benchmarks.noise_quality --only user.typos --multi-turn 40 --single-turn 100
python -m benchmarks.noise_quality --only user.typos sheets --out runs/sheets --key runs/key.jsonl
python -m benchmarks.noise_quality score --key runs/key.jsonl --keep runs/reader-a runs/reader-b
python -m benchmarks.noise_quality solve          # exit 1 where an entry isn't solved
python -m benchmarks.noise_quality page --out docs/noise-quality.md
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.noise_quality import bfcl, own
from benchmarks.noise_quality.aims import judge, judge_solvability
from benchmarks.noise_quality.measurement import (
    STORE,
    Measurement,
    measure_operators,
    read_store,
    write_store,
)
from benchmarks.noise_quality.page import write_page
from benchmarks.noise_quality.readers import (
    SheetError,
    judge_readers,
    read_scored,
    score,
    write_scored,
    write_section,
)
from benchmarks.noise_quality.samples import Sample
from benchmarks.noise_quality.sheets import write_sheets
from benchmarks.noise_quality.solved import read_solved, write_solved


def read_samples(options: argparse.Namespace) -> list[Sample]:
    foreign = [] if options.own_only else bfcl.read_samples(options.multi_turn, options.single_turn)
    return [*foreign, *own.read_own()]


def measure(options: argparse.Namespace) -> int:
    """Measure, keep, write and judge."""
    samples = read_samples(options)

    def tell(line: str) -> None:
        print(line, file=sys.stderr)

    found = measure_operators(
        samples,
        own.read_errors(),
        only=options.only,
        places=options.places,
        seeds=options.seeds,
        seed=options.seed,
        tell=tell,
    )
    scored = read_scored()
    findings = [*judge(found), *judge_readers(scored), judge_solvability(read_solved())]
    now = Measurement(
        commit=_find_commit(),
        date=datetime.now(UTC).date().isoformat(),
        corpora=dict(Counter(one.corpus for one in samples)),
        operators=[asdict(one) for one in found],
    )
    stored = {"now": now}
    if not options.only and not options.own_only:
        stored = write_store(options.store, now, new_before=options.new_before)
    page = write_page(stored, scored)
    if options.out is not None:
        options.out.write_text(page)
    for one in findings:
        met = {True: "met", False: "MISSED", None: "not measured"}[one.met]
        print(f"{met:12} {one.measure:52} aim {one.aim:10} {one.measured}")
    return 1 if options.check and any(one.met is False for one in findings) else 0


def _find_commit() -> str:
    """The last commit that changed the noise."""
    command = ["git", "log", "-1", "--format=%h", "--", "injectors"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def prove(options: argparse.Namespace) -> int:
    from benchmarks.noise_quality.solvability import measure as play

    rows = play(options.each, options.entries, options.profiles or ("*",), options.concurrency)
    if not options.profiles:
        write_solved(rows)
    for row in rows:
        for one in row.unsolved if row.noisy else ():
            print(f"{row.profile}: {one}", file=sys.stderr)
    finding = judge_solvability(rows)
    clean = next(row for row in rows if not row.noisy)
    print(f"{clean.solved} of {clean.played} entries are solvable clean. Under noise: {finding.measured}.")
    if finding.operators:
        print(f"unsolved, or without an injection: {', '.join(finding.operators)}", file=sys.stderr)
    return 0 if finding.met else 1


def make_sheets(options: argparse.Namespace) -> int:
    idle = write_sheets(
        read_samples(options),
        options.out,
        options.key,
        only=options.only,
        count=options.count,
        seed=options.seed,
    )
    for name in idle:
        print(f"{name} never acted: it has no sheet", file=sys.stderr)
    print(f"The sheets are in {options.out}; keep {options.key} from who reads them.")
    return 0


def rewrite_page(options: argparse.Namespace) -> int:
    options.out.write_text(write_page(read_store(options.store), read_scored()))
    return 0


def score_sheets(options: argparse.Namespace) -> int:
    try:
        scored = score(options.key, options.readers)
    except (SheetError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(write_section(scored) or "No sheet was graded by all readers.")
    if options.keep:
        write_scored(scored)
    return 1 if options.check and any(one.met is False for one in judge_readers(scored)) else 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.noise_quality",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=measure)
    parser.add_argument("--multi-turn", type=int, default=200, help="conversations of BFCL")
    parser.add_argument("--single-turn", type=int, default=2000, help="single messages of BFCL, at most 1911")
    parser.add_argument("--own-only", action="store_true", help="leave BFCL out; nothing is kept")
    parser.add_argument("--only", action="append", default=[], help="this operator only; nothing is kept")
    parser.add_argument("--places", type=int, default=5, help="places on which the seeds are tried")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--check", action="store_true", help="exit 1 where an aim is missed")
    parser.add_argument("--store", type=Path, default=STORE, help="where the figures are kept")
    parser.add_argument("--new-before", action="store_true", help="what is kept as now becomes before")
    parser.add_argument("--out", type=Path, help="write the page here")
    commands = parser.add_subparsers()
    sheets = commands.add_parser("sheets", help="write sheets for blind readers")
    sheets.set_defaults(run=make_sheets)
    sheets.add_argument("--out", type=Path, required=True, help="folder of the sheets")
    sheets.add_argument("--key", type=Path, required=True, help="file of the key, in another folder")
    sheets.add_argument("--count", type=int, default=50, help="noisy texts a sheet, and as many clean ones")
    solve = commands.add_parser("solve", help="play BFCL's entries with the gold agent, under every profile")
    solve.set_defaults(run=prove)
    solve.add_argument("--each", type=int, default=5, help="entries under each profile and level")
    solve.add_argument("--entries", type=int, default=200, help="entries to choose from")
    solve.add_argument("--profiles", action="append", help="this profile or glob only; nothing is kept")
    solve.add_argument("--concurrency", type=int, default=8)
    page = commands.add_parser("page", help="write the page again, from what is kept")
    page.set_defaults(run=rewrite_page)
    page.add_argument("--out", type=Path, required=True)
    scoring = commands.add_parser("score", help="score filled sheets")
    scoring.set_defaults(run=score_sheets)
    scoring.add_argument("--key", type=Path, required=True)
    scoring.add_argument("--keep", action="store_true", help="keep the scores for the page")
    scoring.add_argument("readers", nargs="+", type=Path, help="folders of filled sheets, one a reader")
    return parser.parse_args()


def main() -> int:
    options = _parse()
    run: Callable[[argparse.Namespace], int] = options.run
    return run(options)


if __name__ == "__main__":
    sys.exit(main())
