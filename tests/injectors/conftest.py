"""What the tests of noise share."""

from __future__ import annotations

import pytest

from crosswind.injectors import operator


@pytest.fixture
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry of operators that one test may change."""
    monkeypatch.setattr(operator, "_registered", operator._registered.copy())
