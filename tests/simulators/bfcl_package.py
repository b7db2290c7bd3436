"""BFCL's environment for tests. They are skipped only where no package index is reached."""

from __future__ import annotations

import pytest

from crosswind.locked_environment import NotInstalled
from crosswind.simulators.bfcl.environment import ENVIRONMENT
from crosswind.simulators.bfcl.installation import BFCL
from crosswind.simulators.environment import Environment


def need_bfcl() -> Environment:
    try:
        BFCL.install()
    except NotInstalled as error:
        if error.unreached:
            pytest.skip(str(error))
        raise
    return ENVIRONMENT
