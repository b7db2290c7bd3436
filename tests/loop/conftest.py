"""What the tests across packages share: the owners of their child processes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.loop.children import Children, owner


@pytest.fixture(scope="module")
def module_children(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Children]:
    """Owns what the tests of one module share."""
    with owner(tmp_path_factory.mktemp("logs")) as owned:
        yield owned
