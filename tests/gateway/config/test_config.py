"""The example configuration says what the defaults are."""

from __future__ import annotations

from crosswind.gateway.config.loading import load, read_document
from crosswind.gateway.config.settings import Settings
from tests import ROOT

EXAMPLE = ROOT / "crosswind.yaml"


def test_the_example_has_every_key_at_its_default() -> None:
    example = load(EXAMPLE, {})
    assert example.model_dump() == load(None, {"upstream": "http://127.0.0.1:8000/v1"}).model_dump()
    assert set(read_document(EXAMPLE)) == set(Settings.model_fields)


def test_reading_again_makes_no_classes() -> None:
    """A class of settings takes megabytes: a gateway that is reloaded every minute would hold hundreds."""
    load(EXAMPLE, {})
    before = [*Settings.__subclasses__()]
    assert load(EXAMPLE, {"seed": 3}).seed == 3
    assert load(None, {"upstream": "http://127.0.0.1:8000/v1"}).seed == 0
    assert Settings.__subclasses__() == before
