from __future__ import annotations

import pytest

from crosswind.simulators.environment import Environment
from tests.simulators.bfcl_package import need_bfcl


@pytest.fixture(scope="session")
def bfcl() -> Environment:
    return need_bfcl()
