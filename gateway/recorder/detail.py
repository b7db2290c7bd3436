"""How much of the traffic is recorded: everything, metadata only, or nothing.

- `full`: every row unchanged.
- `metadata`: no content. Turns lose their four views, token ids, log-probabilities, inner exchanges and error
  message, and are unfit for training. Events lose the texts before and after; a withheld event still differs
  from an injected one. Generated texts are dropped. The ledger keeps the noisy texts while the session is
  open, because later turns show them again, perhaps in another process; closing the session erases them.
  Decisions and draws stay.
- `none`: no rows of sessions, which live in memory only: a restart forgets them. Settings are still written,
  since they belong to the operator, and whose the objects are that a provider keeps.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from msgspec import structs

from crosswind.gateway.config.sections import Detail
from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.ledger_rows import LedgerTextsErased
from crosswind.gateway.trajectory.record import (
    Event,
    GeneratedText,
    ProviderObject,
    Row,
    SessionClosed,
    Setting,
    Turn,
)


def filter_rows(rows: Sequence[Row], detail: Detail) -> Sequence[Row]:
    if detail is Detail.FULL:
        return rows
    if detail is Detail.NONE:
        return [row for row in rows if isinstance(row, Setting | ProviderObject)]
    return list(_strip_content(rows))


def _strip_content(rows: Sequence[Row]) -> Iterator[Row]:
    for row in rows:
        if isinstance(row, Turn):
            yield _strip_turn(row)
        elif isinstance(row, GeneratedText):
            continue
        elif isinstance(row, Event):
            yield structs.replace(row, before="", after=None if row.after is None else "")
        else:
            yield row
            if isinstance(row, SessionClosed):
                yield LedgerTextsErased(row.session_id)


def _strip_turn(turn: Turn) -> Turn:
    completions = tuple(
        dataclasses.replace(completion, token_ids=(), logprobs=(), top_logprobs=())
        for completion in turn.completions
    )
    error = turn.error and structs.replace(turn.error, message=None)
    return structs.replace(
        turn,
        fitness=Fitness.CONTENT_NOT_RECORDED if turn.fitness == Fitness.FIT else turn.fitness,
        received=None,
        sent=None,
        produced=None,
        delivered_view=None,
        prompt_ids=None,
        completions=completions,
        error=error,
        inner=(),
    )
