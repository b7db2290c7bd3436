"""Noise on the model's own answers: what an agent meets whose provider is out of sorts.

An operator of site `model_response` gives one mapping, which the gateway carries out:

- `{"where": "instead", "error": KIND, "status": int, ...}`: the provider isn't asked; the client gets an
  error of that kind in its protocol's own shape. Kinds: `rate_limited` (429, with `retry_after_s`),
  `overloaded` (503; 529 where the protocol has it), `context_length` (400, with a `code`).
- `{"where": "instead", "answer": KIND}`: the provider isn't asked; the client gets an answer without content:
  `empty` (which ends as any other does) or `content_filter` (which ends as a filtered one does).
- `{"where": "after", "edit": KIND, ...}`: the provider's answer is changed on its way, and recorded whole:

| edit                | members      | what happens                                                          |
|---------------------|--------------|-----------------------------------------------------------------------|
| length_cut          | keep         | the text ends after that share of it, as at the token limit           |
| malformed_arguments | pick, keep   | the arguments of one call end after that share of them                |
| unknown_tool        | pick, suffix | the name of one call has the suffix: no tool of that name is declared |
| duplicated_call_id  |              | all of the calls have the first one's id                              |
| stream_cut          | after_events | a stream ends after so many events with content, without its end      |

`pick` in [0, 1) chooses among the answer's calls. An answer to which an edit doesn't apply (no text, no call,
one call only, a shorter stream) is passed on as it is.
"""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.engine.link import MODEL_LINK, exchanges
from crosswind.injectors.engine.plan import Plan
from crosswind.injectors.engine.rule import Outcome


def decide_model(
    plan: Plan, *, turn: int, attempt: int, streaming: bool, spent: int = 0, met: int = 0
) -> list[Outcome]:
    """The noise of one answer: at most one operator acts, the first in the plan's order that does.

    `turn` counts the session's requests from 0. A repeated attempt at a turn is drawn anew, and gets through
    once the bounds are reached: `faults_per_call` attempts or turns in a row, `faults_per_session` in all, of
    which `spent` were before. `met` is what befell the session's exchanges so far. Pure; never raises.
    """

    beside = exchanges(plan, Site.TRANSPORT, MODEL_LINK, streaming)
    return exchanges(plan, Site.MODEL_RESPONSE, MODEL_LINK, streaming).at(
        turn, attempt, spent, met, (beside,)
    )
