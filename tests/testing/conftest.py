from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.clients import shop
from tests.testing.calling import Caller, calling


@pytest.fixture
async def caller() -> AsyncIterator[Caller]:
    """Calls to a provider that knows the shop."""
    async with calling(shop.policy) as made:
        yield made
