"""What an application does about answers that don't come, or come unusable: it asks again."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Container, Iterable
from typing import Any, TypeVar

from tests.clients import shop
from tests.clients.job import Job

TRIES = 10

T = TypeVar("T")


class Unusable(Exception):
    """An answer with which a client can't go on; says why."""


async def asking_again(job: Job, ask: Callable[[], Awaitable[T]]) -> T:
    """The first answer that is one. Where nothing is to fail, the first failure counts."""
    for _ in range(TRIES if job.patient else 0):
        try:
            return await ask()
        except Exception:
            continue
    return await ask()


def usable(
    text: str | None,
    calls: Iterable[tuple[str, str, Any]],
    *,
    ended: bool,
    tools: Container[str] = shop.TOOLS,
) -> None:
    """Unusable for an answer that is cut, empty, or calls what there isn't. `calls` are (id, name,
    arguments); `ended`: whether it said that it was complete.
    """
    calls = list(calls)
    if not ended:
        raise Unusable(f"the answer has no end, or another than its own: {text!r} {calls}")
    if len({call for call, _, _ in calls}) < len(calls):
        raise Unusable(f"several calls have one id: {calls}")
    for _, name, arguments in calls:
        if name not in tools:
            raise Unusable(f"no tool has the name {name!r}")
        if isinstance(arguments, str):
            json.loads(arguments)
    if not calls:
        final(text)


def final(text: str | None) -> None:
    """Unusable for a last word that isn't a sentence, or a document."""
    if not (text or "").endswith((".", "}")):
        raise Unusable(f"the answer isn't whole: {text!r}")
