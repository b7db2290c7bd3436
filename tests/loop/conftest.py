"""What the tests across packages share: the owners of their child processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from crosswind.policies.versions.version import Registry
from tests.loop.children import Children, owner


@pytest.fixture(scope="module")
def module_children(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Children]:
    """Owns what the tests of one module share."""
    with owner(tmp_path_factory.mktemp("logs")) as owned:
        yield owned


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    """Versions `v1` and, from it, `v2`, of a policy that takes no time to serve."""
    from tests.policies.conftest import add_random, add_successor  # torch isn't everywhere

    registry = Registry(tmp_path / "versions")
    sizes = {"hidden": 32, "layers": 2, "heads": 2, "kv_heads": 1, "head": 16, "feed_forward": 48}
    first = add_random(registry, "v1", ["What is the status of order #W1234?"] * 3, **sizes)
    add_successor(registry, first, "v2")
    return registry
