"""Durations that are added to their histogram when it is read."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Histogram, generate_latest

from crosswind.gateway.telemetry.metrics import _SECONDS, _Seconds


def test_durations_added_later_read_as_those_that_the_library_observed() -> None:
    texts = []
    for later in (False, True):
        registry = CollectorRegistry()
        histogram = Histogram("seconds", "Durations", buckets=_SECONDS, registry=registry)
        seconds = _Seconds(histogram)
        for duration in (0.0, 0.001, *_SECONDS, 0.3, 299.9, 301.0):
            seconds.observe(duration) if later else histogram.observe(duration)
        for _ in range(2):
            seconds.count()
        lines = generate_latest(registry).decode().splitlines()
        texts.append([line for line in lines if "_created" not in line])
    assert texts[0] == texts[1]
