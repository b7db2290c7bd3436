"""The page docs/noise-quality.md: the aims, every operator, before and after."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks.noise_quality.aims import ERRORS, FIXED, judge, judge_solvability
from benchmarks.noise_quality.doses import FULL, PAPER, find_paper
from benchmarks.noise_quality.measurement import Measurement, list_untexted, read_measured
from benchmarks.noise_quality.measures import Measured, Share
from benchmarks.noise_quality.readers import Scored, judge_readers, write_section
from benchmarks.noise_quality.solved import read_solved

HEAD = """# The noise on foreign material

Made by `make noise-quality`. {dates} The material is read by this command only: who writes operators or
phrases does not look at it.

- **Corpora**: {corpora}. BFCL is its shipped data (Apache-2.0), read out of its package; its results are
  those of the gold calls, executed in its own simulators. The others are ours
  (`benchmarks/noise_quality/corpora`).
- **Dose**: the severity and options of the paper's profile, or severity 0.5 where no paper has one; then
  severity 1. Schedules are left out, bounds never bind, and every call may be repeated.
- **Eligible**: a place where the operator ought to act, by the rules of
  `benchmarks/noise_quality/eligibility.py`, which know nothing of the operators.
  Changed since: `tool.prompt_injection` is judged on reads that hold running text which others wrote. Its
  earlier figures counted every result, most of which have no place for another's words.
  `tool.incomplete` is judged on lists of four elements and more: readers found shorter ones whole.
  `tool.context_pressure` is judged on JSON with an object and on what commands print: other systems' text is
  left alone, since nothing can be added to it that says nothing. Its dose is about eight empty fields for an
  object at severity 1.
  `tool.misleading` is judged where something is certain to say: beside prices, rates, forecasts, orders,
  bookings, deliveries and the like. `tool.numeric_noise` is judged on readings and quantities: sums of money
  and counted seats are no readings.
- **Real errors**: 210 messages of real systems. 120 of them, about what has to be done first, came later:
  without them `tool.prerequisite` was held against errors of other kinds only. The phrases that find it are
  the names of the client's own tools, one of which it has to name.
- **Five phrases**: a decision list of at most five phrases of up to three words. **Regression**: a logistic
  regression on words and pairs of words. Both learn on one half of the conversations, and are tested on the
  other: recall at no more than 1 % of false positives.
- **Distinct**: texts over 200 seeds, the median of five places.
- **Broken**: gold values that stood in a message and no longer do. **Growth**: the median of a result's new
  length to its old one. **Repeated**: events after a session's first that repeat a passage of noise which
  that session has seen.
- Shares have their count and Wilson's interval at 95 %. A "p" marks an operator whose text or form a paper
  fixes: it is exempt from detectability and variety. An "e" marks errors, judged against real errors.
"""


def write_page(stored: Mapping[str, Measurement], scored: Sequence[Scored] = ()) -> str:
    now, before = stored["now"], stored.get("before")
    dates = f"Now: {now.date}, commit {now.commit}."
    if before is not None:
        dates += f" Before: {before.date}, commit {before.commit}."
    corpora = ", ".join(f"{name} {count}" for name, count in now.corpora.items())
    return "\n".join(
        [
            HEAD.format(dates=dates, corpora=corpora),
            "## Aims\n",
            *_write_aims(now, before, scored),
            "\n## Every operator, at the paper's dose\n",
            *_write_operators(now, before, PAPER),
            f"\nThese change no text, and are not measured here: {_name(list_untexted())}.",
            "\n## Every operator, at severity 1\n",
            *_write_operators(now, before, FULL),
            "\n## Application by corpus\n\nOf the eligible places, at severity 1.\n",
            *_write_corpora(now),
            "\n## What the decision lists learned\n",
            *_write_learned(now),
            "\n## Blind readers\n",
            "The sheets and grades are in `benchmarks/noise_quality/readings`.\n",
            write_section(scored) or "No sheets have been scored.",
            "",
        ]
    )


def _name(operators: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in operators)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _head(*cells: str) -> list[str]:
    return [_row(cells), _row("---" for _ in cells)]


def _write_aims(now: Measurement, before: Measurement | None, scored: Sequence[Scored]) -> list[str]:
    old = {one.measure: one.measured for one in (judge(_all(before)) if before else ())}
    rows = _head("measure", "aim", "before", "now", "met", "who misses it")
    for one in (*judge(_all(now)), *judge_readers(scored), judge_solvability(read_solved())):
        met = {True: "yes", False: "**no**", None: "not measured"}[one.met]
        names = _name(one.operators[:6])
        more = f" and {len(one.operators) - 6} more" if len(one.operators) > 6 else ""
        rows.append(_row([one.measure, one.aim, old.get(one.measure, "–"), one.measured, met, names + more]))
    return rows


def _write_operators(now: Measurement, before: Measurement | None, dose: str) -> list[str]:
    old = {(one["operator"], one["dose"]): read_measured(one) for one in (before.operators if before else ())}
    rows = _head(
        *("operator", "dose of", "applied, of all", "of the eligible", "before"),
        *("five phrases", "before", "regression", "distinct", "before", "broken", "growth", "repeated"),
    )
    for one in _at(now, dose):
        was = old.get((one.operator, one.dose))
        mark = " p" if one.operator in FIXED else " e" if one.operator in ERRORS else ""
        profile = find_paper(one.operator) if dose == PAPER else None
        rows.append(
            _row(
                [
                    f"`{one.operator}`{mark}",
                    f"`{profile.name}`" if profile else "0.5" if dose == PAPER else "1",
                    _write_share(one.applied),
                    _write_share(one.applied_eligible),
                    _write_rate(was and was.applied_eligible),
                    _write_share(one.phrases),
                    _write_rate(was and was.phrases),
                    _write_share(one.regression),
                    f"{statistics.median(one.distinct):g}",
                    f"{statistics.median(was.distinct):g}" if was else "–",
                    _write_share(one.broken),
                    "–" if one.growth is None else f"{one.growth:g}",
                    _write_share(one.repeated),
                ]
            )
        )
    return rows


def _write_corpora(now: Measurement) -> list[str]:
    names = list(now.corpora)
    rows = _head("operator", *names)
    for one in _at(now, FULL):
        cells = (one.by_corpus.get(name) for name in names)
        rows.append(_row([f"`{one.operator}`", *(_write_count(cell) for cell in cells)]))
    return rows


def _write_learned(now: Measurement) -> list[str]:
    rows = _head("operator", "phrases")
    for one in _at(now, PAPER):
        if one.learned:
            rows.append(_row([f"`{one.operator}`", ", ".join(f"`{phrase}`" for phrase in one.learned)]))
    return rows


def _all(measurement: Measurement) -> list[Measured]:
    return [read_measured(one) for one in measurement.operators]


def _at(measurement: Measurement, dose: str) -> Sequence[Measured]:
    return [read_measured(one) for one in measurement.operators if one["dose"] == dose]


def _write_share(one: Share | None) -> str:
    if one is None or one.rate is None:
        return "–"
    return f"{one.rate:.3g} ({one.count}/{one.of}, {one.low:.2f}–{one.high:.2f})"


def _write_count(one: Share | None) -> str:
    return "–" if one is None or one.rate is None else f"{one.count}/{one.of}"


def _write_rate(one: Any) -> str:
    return "–" if not isinstance(one, Share) or one.rate is None else f"{one.rate:.2f}"
