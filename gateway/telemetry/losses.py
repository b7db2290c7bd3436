"""What a gateway says in the end of rows that it could not write."""

from __future__ import annotations

import structlog

from crosswind.gateway.telemetry.logs import log_all_left_out

_log = structlog.get_logger("crosswind.recorder")

ROWS_LOST = 74
"""The exit code of a gateway that lost rows at its end: sysexits' EX_IOERR."""


def tell_lost_rows(lost: int) -> int:
    """Log how many rows were lost, as the last thing, and return the exit code."""
    if not lost:
        return 0
    log_all_left_out()
    _log.error("rows are lost: the store could not be written", rows_lost=lost, exit_code=ROWS_LOST)
    return ROWS_LOST
