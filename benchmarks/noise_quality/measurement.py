"""One measurement of every operator, and the file that keeps the one before beside it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.noise_quality.aims import ERRORS
from benchmarks.noise_quality.application import TEXTS, list_offers, run_operator
from benchmarks.noise_quality.doses import FULL, PAPER
from benchmarks.noise_quality.measures import (
    Measured,
    Share,
    count_broken,
    count_distinct,
    count_repeated,
    measure_application,
    measure_detection,
    measure_growth,
    recall,
)
from benchmarks.noise_quality.samples import Sample
from crosswind.injectors import registry
from crosswind.injectors.conversation import Site

STORE = Path(__file__).parent / "measured.json"


@dataclass(frozen=True, slots=True)
class Measurement:
    commit: str
    date: str
    corpora: dict[str, int]
    """Samples by corpus."""
    operators: list[dict[str, Any]]
    """Each is a `Measured`."""


def list_untexted() -> list[str]:
    """The operators of ours that change no text: they are not measured here."""
    found = registry.operators().values()
    return sorted(one.name for one in found if one.site not in TEXTS and not one.origin)


def list_operators(only: Sequence[str] = ()) -> list[tuple[str, Site]]:
    """Every operator of ours that changes a text."""
    found = sorted(registry.operators().values(), key=lambda entry: (entry.site, entry.name))
    return [
        (one.name, one.site)
        for one in found
        if one.site in TEXTS and not one.origin and (not only or one.name in only)
    ]


def measure_operators(
    samples: Sequence[Sample],
    errors: Sequence[str],
    *,
    only: Sequence[str] = (),
    places: int = 5,
    seeds: int = 200,
    seed: int = 0,
    tell: Callable[[str], None] = lambda line: None,
) -> list[Measured]:
    offers = {site: list_offers(site, samples) for site in TEXTS}
    found = []
    for name, site in list_operators(only):
        for dose in (PAPER, FULL):
            outcomes = run_operator(name, dose, site, offers[site], seed)
            applied, eligible, by_corpus = measure_application(name, outcomes)
            phrases, regression = measure_detection(outcomes, errors if name in ERRORS else None)
            distinct = count_distinct(name, dose, site, outcomes, places=places, seeds=seeds)
            measured = Measured(
                operator=name,
                site=site.value,
                dose=dose,
                applied=applied,
                applied_eligible=eligible,
                phrases=recall(phrases),
                regression=recall(regression),
                learned=phrases.phrases,
                distinct=distinct,
                broken=count_broken(outcomes) if site == Site.USER_TEXT else None,
                growth=measure_growth(outcomes) if site == Site.TOOL_RESULT else None,
                repeated=count_repeated(outcomes),
                by_corpus=by_corpus if dose == FULL else {},
            )
            found.append(measured)
            tell(f"{name} {dose}: {eligible.count}/{eligible.of} of the eligible")
    return found


def read_store(path: Path) -> dict[str, Measurement]:
    """The measurements before and now, by these names; empty where nothing was measured yet."""
    if not path.exists():
        return {}
    return {name: Measurement(**one) for name, one in json.loads(path.read_text()).items()}


def write_store(path: Path, now: Measurement, *, new_before: bool) -> dict[str, Measurement]:
    """Keep the measurement as now. Before stays, unless `new_before` makes it the one that was now."""
    stored = read_store(path)
    before = stored.get("now") if new_before else stored.get("before", stored.get("now"))
    both = {**({"before": before} if before is not None else {}), "now": now}
    path.write_text(json.dumps({name: asdict(one) for name, one in both.items()}, ensure_ascii=False) + "\n")
    return both


def read_measured(document: dict[str, Any]) -> Measured:
    """A `Measured` as the store holds it."""

    def read(value: Any) -> Share | None:
        return None if value is None else Share(**value)

    shares = {
        name: read(document[name])
        for name in ("applied", "applied_eligible", "phrases", "regression", "broken", "repeated")
    }
    by_corpus = {name: read(one) for name, one in document["by_corpus"].items()}
    return Measured(**{**document, **shares, "by_corpus": by_corpus})
