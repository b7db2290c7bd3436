"""BFCL's own environment, since its package pins old versions of much.

python -m crosswind.simulators.bfcl.installation [--into FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

from crosswind.locked_environment import LockedEnvironment

BFCL = LockedEnvironment(
    "BFCL",
    lock=Path(__file__).parent / "locks" / "bfcl.lock",
    probe="import bfcl_eval, mpmath",
    megabytes=40,
)

if __name__ == "__main__":
    sys.exit(BFCL.main("crosswind.simulators.bfcl.installation"))
