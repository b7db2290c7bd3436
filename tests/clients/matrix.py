"""The matrix of clients: every client in every cell, and a page of the documentation that says how it went.

    python -m tests.clients.matrix [--out docs/clients.md] [--only TEXT] [--elsewhere]

Ends with 0 where every cell is green, with 1 where one is red, and with 3 where a tool is missing.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import tempfile
from pathlib import Path

from crosswind.gateway.config.sections import Logging
from crosswind.gateway.telemetry.logs import configure
from tests.clients import cell, page
from tests.clients.drivers import rows
from tests.clients.job import Row
from tests.clients.kinds import Kind
from tests.clients.stage import Stage, few_certificates, stage
from tests.clients.tools import missing_tools

MISSING_TOOL = 3


async def verdict(made: Stage, row: Row, mode: str, kind: Kind | None) -> str | None:
    """None for a green cell, else what was wrong with it."""
    try:
        if kind is None:
            await cell.transparent(made, row, mode)
        else:
            await cell.noisy(made, row, mode, kind)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


async def play(chosen: list[Row]) -> list[page.Line]:
    """Every cell of these rows, told as it goes."""
    lines = []
    with tempfile.TemporaryDirectory() as folder, few_certificates(Path(folder)):
        for number, row in enumerate(chosen):
            # A gateway and a store of its own for each client.
            place = Path(folder) / str(number)
            place.mkdir()
            async with stage(place) as made:
                for mode in row.modes:
                    line = page.Line(row, mode)
                    for kind in (None, *row.noise):
                        name = kind.name if kind else page.OFF
                        line.cells[name] = await verdict(made, row, mode, kind)
                    lines.append(line)
                    print(line.told(), flush=True)
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="where the page goes; without it none is written")
    parser.add_argument("--only", default="", help="only the rows whose name has this text")
    parser.add_argument("--elsewhere", action="store_true", help="only clients of other environments")
    asked = parser.parse_args()
    chosen = [row for row in rows() if asked.only in row.name and (row.needs or not asked.elsewhere)]
    if missing := missing_tools({row.needs for row in chosen}):
        print("\n".join(missing), file=sys.stderr)
        return MISSING_TOOL
    configure(Logging(level="warning"))
    # The server reports each connection that the gateway breaks on purpose.
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    lines = asyncio.run(play(chosen))
    if asked.out:
        asked.out.write_text(page.page(lines), "utf-8")
    red = [line for line in lines if line.red]
    print(f"{len(lines) - len(red)} of {len(lines)} lines are green")
    return 1 if red or not lines else 0


if __name__ == "__main__":
    sys.exit(main())
