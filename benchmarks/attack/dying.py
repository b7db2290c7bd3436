"""Runs a `crosswind` command whose engine kills itself half-way through a swap, which lasts 0.2 ms.

python -m benchmarks.attack.dying ARGUMENTS...
"""

from __future__ import annotations

import os
import signal
from unittest.mock import patch

from crosswind.gateway.cli import main
from crosswind.policies.embedded.batch import DecodeBatch
from crosswind.policies.embedded.checkpoint import Checkpoint


def _die_in_the_swap(batch: DecodeBatch, checkpoint: Checkpoint) -> None:
    """The new weights are in, the prefix cache still holds keys of the old ones."""
    batch.checkpoint = checkpoint
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    patch.object(DecodeBatch, "swap", _die_in_the_swap).start()
    main()
