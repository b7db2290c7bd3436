"""`python -m tests.loop.replaying STORE`: what every turn was sent, computed again in a process of its own.

One JSON line per turn: session, turn, attempt, the body's digest, and what was injected.
"""

from __future__ import annotations

import json
import sys
from contextlib import closing
from typing import Any

from msgspec.structs import asdict

from crosswind.gateway.trajectory.content import content_key
from crosswind.gateway.trajectory.record import Event
from crosswind.gateway.trajectory.store import open_store
from crosswind.studies.replay.recompute import replay


def compared(event: Event) -> dict[str, Any]:
    """An event without what a replay can't know: when it was."""
    return {name: value for name, value in asdict(event).items() if name != "created_us"}


def main(url: str) -> None:
    with closing(open_store(url, create=False)) as store:
        for session in store.sessions(limit=1_000_000):
            for one in replay(session, store.turns(session.id), store.events(session.id)):
                assert one.sent is not None, one.why_not
                line = {
                    "turn": [session.id, one.turn.index, one.turn.attempt],
                    "sent": content_key(one.sent).hex(),
                    "events": [compared(event) for event in one.events],
                }
                print(json.dumps(line))


if __name__ == "__main__":
    main(sys.argv[1])
