"""Every client that runs in this environment: transparent in every mode, and each kind of noise in one mode.
`make clients` goes through all cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients import cell
from tests.clients.drivers import rows
from tests.clients.stage import few_certificates, stage

HERE = [row for row in rows() if row.needs is None]


@pytest.fixture(scope="module", autouse=True)
def _quick_start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with few_certificates(tmp_path_factory.mktemp("certificates")):
        yield


@pytest.mark.parametrize("number", range(len(HERE)), ids=[row.name for row in HERE])
async def test_a_client(tmp_path: Path, number: int) -> None:
    row = HERE[number]
    async with stage(tmp_path) as made:
        for mode in row.modes:
            await cell.transparent(made, row, mode)
        for turn, kind in enumerate(row.noise, start=number):
            await cell.noisy(made, row, row.modes[turn % len(row.modes)], kind)
