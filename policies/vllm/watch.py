"""Several servers at once: each is begun and tended on a thread of its own, so that one that hangs, or isn't
up yet, keeps nobody from looking after the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event, Thread

from crosswind.policies.vllm.replica import SupervisedServer

_ENDS_WITHIN_S = 5.0
"""How long a look at a server that hangs is waited for, once we are told to stop."""


def watch(replicas: Sequence[SupervisedServer], look: float, stop: Event) -> None:
    """Begin all replicas and tend them, every `look` seconds, until `stop` is set.

    Raises ServeError, of the first of them that can't be helped: the others are let go of then.
    """
    failures: list[Exception] = []

    def live(replica: SupervisedServer) -> None:
        try:
            replica.begin(stop)
            while not stop.wait(look):
                replica.check(stop)
        except Exception as error:
            failures.append(error)
            stop.set()

    threads = [Thread(target=live, args=(replica,), daemon=True) for replica in replicas]
    for thread in threads:
        thread.start()
    stop.wait()
    for thread in threads:
        thread.join(_ENDS_WITHIN_S)
    if failures:
        raise failures[0]
