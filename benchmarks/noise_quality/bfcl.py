"""Conversations and single messages out of BFCL's package, which the environment `bfcl` installs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.noise_quality.samples import Exchange, Sample, make_sample
from crosswind.simulators.bfcl import process
from crosswind.simulators.bfcl.inside.values import Call, Value, spellings
from crosswind.simulators.bfcl.installation import BFCL

SINGLE_TURN = ("live_simple", "live_multiple", "multiple", "simple_python")
MULTI_TURN = "multi_turn_base"


def read_samples(multi_turn: int, single_turn: int) -> Iterator[Sample]:
    """So many conversations and single messages, spread evenly over the package's own order."""
    for entry in spread(_read_entries(MULTI_TURN), multi_turn):
        exchanges = []
        for said, calls in zip(entry["said"], entry["calls"], strict=True):
            made = [Call(*one) for one in calls]
            gold = tuple(value for call in made for value in spellings(call.arguments))
            exchanges.append(Exchange(said, made, gold))
        yield make_sample(entry["id"], f"bfcl/{MULTI_TURN}", "en", exchanges, entry["tools"])
    singles = [entry for category in SINGLE_TURN for entry in _read_entries(category)]
    for entry in spread(singles, single_turn):
        gold = tuple(_read_accepted(entry["truth"]))
        exchange = Exchange(entry["said"][0], (), gold)
        yield make_sample(entry["id"], f"bfcl/{entry['category']}", "en", [exchange], entry["tools"])


def _read_entries(category: str) -> list[dict[str, Any]]:
    """A category's entries, as `inside_bfcl.py` prints them in BFCL's own environment."""
    script = Path(__file__).with_name("inside_bfcl.py")
    command = [str(BFCL.install()), "-I", str(script), str(Path(process.__file__).parent), category]
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    return [json.loads(line) for line in out.splitlines()]


def _read_accepted(answers: Sequence[Mapping[str, Mapping[str, Sequence[Any]]]]) -> Iterator[Value]:
    """The values of single-turn answers: of each parameter, what is accepted."""
    for answer in answers:
        for accepted in (one for arguments in answer.values() for one in arguments.values()):
            if any(isinstance(one, dict | list) for one in accepted):
                yield from spellings(accepted[0])
            elif found := tuple(text for one in accepted for value in spellings(one) for text in value):
                yield found


def spread(found: Sequence[Any], count: int) -> list[Any]:
    step = max(len(found) / max(count, 1), 1.0)
    return [found[int(at * step)] for at in range(min(count, len(found)))]
