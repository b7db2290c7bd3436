"""How much of the traffic is recorded: everything, metadata alone, or nothing.

- `full`: every row as it stands.
- `metadata`: who, when, what kind, how much, and what was decided, but no content. Turns lose their four
views,
  their token ids and log-probabilities, their inner exchanges and the message of an error, and are unfit for
  training; events lose the texts before and after (a withdrawn one can still be told from an injected one).
  What models wrote for operators is not kept.
  The ledger keeps the noisy texts for as long as the session is open, since the next turn has to show them
  again, perhaps in another process; closing the session erases them. Its decisions and their draws stay.
- `none`: no row of any session. Settings are written all the same: they are the operator's, not traffic. What
the
  gateway remembers of a session it then has in memory alone, and a restart forgets it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from msgspec import structs

from crosswind.gateway.config.sections import Detail
from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.ledger_rows import LedgerTextsErased
from crosswind.gateway.trajectory.record import Event, GeneratedText, Row, SessionClosed, Setting, Turn


def filter_rows(rows: Sequence[Row], detail: Detail) -> Sequence[Row]:
    """The rows as they are to be stored."""
    if detail is Detail.FULL:
        return rows
    if detail is Detail.NONE:
        return [row for row in rows if isinstance(row, Setting)]
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
