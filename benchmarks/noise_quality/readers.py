"""What blind readers say: filled sheets, scored with their key."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.noise_quality.aims import Finding
from benchmarks.noise_quality.measures import Share, share
from benchmarks.noise_quality.sheets import KeyLine

STORE = Path(__file__).parent / "readers.json"
SCALES = ("equivalence", "naturalness")
GOOD = 4
"""A grade below it makes a sentence bad."""
MOST_BAD, MOST_APART = 0.05, 0.5


class SheetError(ValueError):
    """A sheet isn't filled as it should be; the message names the file, the line and the fix."""


@dataclass(frozen=True, slots=True)
class Scored:
    """One operator's sheet, over all readers."""

    operator: str
    readers: int
    bad: Share
    """Of the noisy texts' gradings: those with a grade below 4."""
    bad_clean: Share
    apart: dict[str, float]
    """By scale: the mean of the clean texts less that of the noisy ones."""
    kappa: dict[str, float | None]
    """By scale: agreement of the first two readers, quadratically weighted. None: too little to say."""


def read_grades(path: Path) -> dict[str, dict[str, int | None]]:
    """The grades of one filled sheet, by the line's id."""
    grades: dict[str, dict[str, int | None]] = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        document = json.loads(line)
        for scale in SCALES:
            value = document.get(scale)
            if value is not None and (isinstance(value, bool) or value not in (1, 2, 3, 4, 5)):
                raise SheetError(f"{path}, line {number}: {scale} is {value!r}: write a whole number, 1 to 5")
        if document.get("naturalness") is None:
            raise SheetError(f"{path}, line {number}: naturalness is missing: write a whole number, 1 to 5")
        grades[document["id"]] = {scale: document.get(scale) for scale in SCALES}
    return grades


def score(key: Path, readers: Sequence[Path]) -> list[Scored]:
    """Every operator of the key that each reader has graded. A reader is a folder of filled sheets."""
    entries: dict[str, list[KeyLine]] = defaultdict(list)
    for line in key.read_text().splitlines():
        entry = KeyLine(**json.loads(line))
        entries[entry.sheet].append(entry)
    found = []
    for sheet, lines in entries.items():
        paths = [folder / f"{sheet}.jsonl" for folder in readers]
        if all(path.exists() for path in paths):
            found.append(_score_sheet(lines, [_read_whole(path, lines) for path in paths]))
    return sorted(found, key=lambda one: one.operator)


def _read_whole(path: Path, lines: Sequence[KeyLine]) -> dict[str, dict[str, int | None]]:
    grades = read_grades(path)
    missing = [one.id for one in lines if one.id not in grades]
    if missing:
        raise SheetError(f"{path}: {missing[0]} and {len(missing) - 1} more lines are missing: put them back")
    return grades


def _score_sheet(lines: Sequence[KeyLine], readers: Sequence[Mapping[str, Mapping[str, Any]]]) -> Scored:
    noisy, clean = ([one.id for one in lines if one.noisy is wanted] for wanted in (True, False))
    apart, kappa = {}, {}
    for scale in SCALES:
        means = [_mean(reader[one][scale] for reader in readers for one in ids) for ids in (clean, noisy)]
        if means[0] is not None and means[1] is not None:
            apart[scale] = round(means[0] - means[1], 3)
        if len(readers) > 1:
            pairs = [(readers[0][one.id][scale], readers[1][one.id][scale]) for one in lines]
            kappa[scale] = weigh_agreement([(a, b) for a, b in pairs if a is not None and b is not None])
    return Scored(
        lines[0].operator, len(readers), _count_bad(noisy, readers), _count_bad(clean, readers), apart, kappa
    )


def _mean(grades: Iterable[int | None]) -> float | None:
    known = [one for one in grades if one is not None]
    return fmean(known) if known else None


def _count_bad(ids: Sequence[str], readers: Sequence[Mapping[str, Mapping[str, Any]]]) -> Share:
    gradings = [reader[name].values() for reader in readers for name in ids]
    bad = sum(any(one is not None and one < GOOD for one in grades) for grades in gradings)
    return share(bad, len(gradings))


def weigh_agreement(pairs: Sequence[tuple[int, int]]) -> float | None:
    """Cohen's kappa with quadratic weights. None where both readers gave one grade throughout."""
    if not pairs:
        return None
    first, second = ([one[at] for one in pairs] for at in (0, 1))
    observed = fmean((a - b) ** 2 for a, b in pairs)
    expected = fmean((a - b) ** 2 for a in first for b in second)
    return round(1 - observed / expected, 3) if expected else None


def judge_readers(scored: Sequence[Scored]) -> list[Finding]:
    if not scored:
        return [
            Finding("bad texts, blind readers", f"≤ {MOST_BAD:.0%}", "–", None),
            Finding("clean rated above noisy", f"≤ {MOST_APART}", "–", None),
        ]
    bad = {one.operator: one.bad.rate or 0.0 for one in scored}
    apart = {one.operator: max(one.apart.values(), default=0.0) for one in scored}
    return [
        _judge("bad texts, blind readers", f"≤ {MOST_BAD:.0%}", bad, MOST_BAD),
        _judge("clean rated above noisy", f"≤ {MOST_APART}", apart, MOST_APART),
    ]


def _judge(measure: str, aim: str, values: Mapping[str, float], most: float) -> Finding:
    fails = tuple(sorted(name for name, value in values.items() if value > most))
    return Finding(measure, aim, f"up to {max(values.values()):.2f}", not fails, fails)


def write_scored(scored: Sequence[Scored], path: Path = STORE) -> None:
    path.write_text(json.dumps([asdict(one) for one in scored], indent=1) + "\n")


def read_scored(path: Path = STORE) -> list[Scored]:
    if not path.exists():
        return []
    return [
        Scored(**{**one, "bad": Share(**one["bad"]), "bad_clean": Share(**one["bad_clean"])})
        for one in json.loads(path.read_text())
    ]


def write_section(scored: Sequence[Scored]) -> str:
    """The page's section on readers; empty where nothing was scored."""
    if not scored:
        return ""
    rows = [
        "| operator | readers | bad | bad among clean | clean less noisy | agreement (weighted kappa) |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for one in scored:
        parts = (one.bad, one.bad_clean)
        shares = (f"{part.count}/{part.of} ({part.low:.2f}–{part.high:.2f})" for part in parts)
        apart = ", ".join(f"{scale} {value:.2f}" for scale, value in one.apart.items())
        kappa = ", ".join(f"{name} {'–' if value is None else value}" for name, value in one.kappa.items())
        cells = (f"`{one.operator}`", str(one.readers), *shares, apart, kappa or "–")
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)
