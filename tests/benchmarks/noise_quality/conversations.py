"""A synthetic corpus: messages with known values, and results with known facts."""

from __future__ import annotations

from benchmarks.noise_quality.samples import Exchange, Sample, make_sample
from crosswind.simulators.bfcl.inside.values import Call, spellings

TOOL = {
    "name": "get_parcel",
    "description": "Look up where a parcel is at the moment.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "The city."}}},
}
CITIES = ("Lyon", "Porto", "Bergen", "Graz", "Leeds", "Turku", "Split", "Kyoto")


def make_samples(count: int) -> list[Sample]:
    return [_sample(number, CITIES[number % len(CITIES)]) for number in range(count)]


def _sample(number: int, city: str) -> Sample:
    arguments = {"city": city}
    result = f'{{"city": "{city}", "shelf": {number}, "weight": {number + 1.5}, "carrier": "road"}}'
    calls = [Call("get_parcel", arguments, result)]
    said = (f"Please tell me where parcel {number} to {city} is now.", f"Will it leave {city} before noon?")
    exchanges = [Exchange(text, calls, tuple(spellings(arguments))) for text in said]
    return make_sample(f"synthetic-{number}", "synthetic", "en", exchanges, [TOOL])
