from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fuzz.stage import Stage
from tests.fuzz.stage import stage as standing


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with standing(tmp_path_factory.mktemp("stage")) as built:
        yield built
