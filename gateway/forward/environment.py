"""mitmproxy's own environment, since it pins the versions of what it needs.

python -m crosswind.gateway.forward.environment [--into FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

from crosswind.locked_environment import LockedEnvironment

MITMPROXY = LockedEnvironment(
    "mitmproxy",
    lock=Path(__file__).parent / "locks" / "mitmproxy.lock",
    probe="import mitmproxy.tools.main",
    megabytes=130,
)

if __name__ == "__main__":
    sys.exit(MITMPROXY.main("crosswind.gateway.forward.environment"))
