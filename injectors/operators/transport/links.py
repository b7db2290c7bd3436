"""What may be done on which link."""

from __future__ import annotations

from crosswind.injectors.targets import TransportTarget

MODEL = "model"


def repeatable(target: TransportTarget) -> bool:
    """Whether the same exchange may take place again without effect: asking a model only costs tokens."""
    return target.link == MODEL
