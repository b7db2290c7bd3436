"""Sheets for blind readers: an operator's outputs among as many clean texts, without a label.

A sheet has the lines to fill, and the same as text to read. The key, which says what is noisy, is written
apart. Noisy and clean texts stand beside what the task needs, so that a reader can judge whether a text still
asks for it without seeing another version.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from benchmarks.noise_quality.application import Offer, list_offers, run_operator
from benchmarks.noise_quality.doses import PAPER
from benchmarks.noise_quality.eligibility import is_eligible
from benchmarks.noise_quality.measurement import list_operators
from benchmarks.noise_quality.samples import Sample
from crosswind.injectors.conversation import Site

CLEAN = "clean"
SITES = (Site.USER_TEXT, Site.TOOL_RESULT)
GUIDE = {
    Site.USER_TEXT: """Each text is what a user wrote to an agent. Give two grades from 1 to 5.

equivalence: 5: it asks for what is needed, with these values, or settles or withholds them openly;
    4: the same but for a nuance; 3: unclear; 2: a part is lost or wrong; 1: another task.
naturalness: 5: a person wrote it; 4: a little odd; 3: clumsy; 2: hardly anybody writes so; 1: broken.
""",
    Site.TOOL_RESULT: """Each text is what a tool answered. Give one grade from 1 to 5, no equivalence.

naturalness: 5: such a system may well answer so; 4: a little odd; 3: doubtful; 2: hardly; 1: never.
""",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One text of a sheet. The reader replaces both nulls by grades."""

    id: str
    needs: list[str]
    text: str
    equivalence: int | None = None
    naturalness: int | None = None


@dataclass(frozen=True, slots=True)
class KeyLine:
    """What a line of a sheet is: an operator's output, or clean."""

    id: str
    sheet: str
    operator: str
    noisy: bool
    corpus: str


def write_sheets(
    samples: Sequence[Sample], folder: Path, key: Path, *, only: Sequence[str], count: int, seed: int
) -> list[str]:
    """A sheet for every operator on users' texts and results; gives those that never acted."""
    folder.mkdir(parents=True, exist_ok=True)
    key.parent.mkdir(parents=True, exist_ok=True)
    idle, entries = [], []
    operators = [(name, site) for name, site in list_operators(only) if site in SITES]
    # The sheets' order says nothing of their operators.
    operators.sort(key=lambda one: _digest(seed, one[0]))
    for number, (name, site) in enumerate(operators):
        sheet = f"sheet-{number:02}"
        lines = list(_draw_lines(name, site, samples, sheet, count, seed))
        if not any(entry.noisy for _, entry in lines):
            idle.append(name)
            continue
        lines.sort(key=lambda one: one[0].id)
        _write_lines(folder / f"{sheet}.jsonl", [line for line, _ in lines])
        (folder / f"{sheet}.txt").write_text(_as_text(site, [line for line, _ in lines]))
        entries += [entry for _, entry in lines]
    _write_lines(key, entries)
    return idle


def _draw_lines(
    operator: str, site: Site, samples: Sequence[Sample], sheet: str, count: int, seed: int
) -> Iterator[tuple[Line, KeyLine]]:
    offers = list_offers(site, samples)
    offers.sort(key=lambda one: _digest(seed, operator, one.sample.name, str(one.at)))
    outcomes = run_operator(operator, PAPER, site, offers, seed)
    noisy = [one for one in outcomes if one.shown is not None][:count]
    used = {(one.offer.sample.name, one.offer.at) for one in noisy}
    clean = [
        one for one in offers if (one.sample.name, one.at) not in used and is_eligible(operator, one.place)
    ][: len(noisy)]
    for outcome in noisy:
        yield _line(outcome.offer, outcome.shown or "", sheet, operator, seed, noisy=True)
    for offer in clean:
        yield _line(offer, offer.place.text, sheet, operator, seed, noisy=False)


def _line(
    offer: Offer, text: str, sheet: str, operator: str, seed: int, *, noisy: bool
) -> tuple[Line, KeyLine]:
    name = _digest(seed, sheet, offer.sample.name, str(offer.at))[:10]
    needs = [" or ".join(value) for value in offer.place.gold]
    if offer.place.tool:
        needs = [offer.place.tool]
    entry = KeyLine(name, sheet, operator, noisy, offer.sample.corpus)
    return Line(name, needs, text), entry


def _as_text(site: Site, lines: Sequence[Line]) -> str:
    read = (f"--- {one.id}\nneeds: {', '.join(one.needs) or '–'}\n\n{one.text}\n" for one in lines)
    return "\n".join([GUIDE[site], *read])


def _write_lines(path: Path, lines: Sequence[Line] | Sequence[KeyLine]) -> None:
    path.write_text("".join(json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in lines))


def _digest(seed: int, *parts: str) -> str:
    return sha256("|".join((str(seed), *parts)).encode()).hexdigest()
