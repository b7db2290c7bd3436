"""Upstreams that refuse to be asked for token ids, as hosted providers do: they are asked again without.

A refused request was not processed, so that asking again costs nothing but the way.
"""

from __future__ import annotations

import structlog

from crosswind.gateway.turn.exchange import Exchange
from crosswind.gateway.upstreams.answer import Answer
from crosswind.gateway.upstreams.upstream import Upstream

_REFUSED = (400, 422)
_FIELD = b"return_token_ids"
_MOST_READ = 1 << 16
"""Bytes of the refusal."""

_log = structlog.get_logger("crosswind.tokenless")


async def refused(answer: Answer, exchange: Exchange, upstream: Upstream) -> bool:
    """Whether what capture added may be why the upstream refused the request; the answer is given up then.

    Where the refusal names our field, the upstream isn't asked for token ids again. UpstreamError where the
    refusal breaks off.
    """
    if answer.status not in _REFUSED or not exchange.captured or upstream.dialect.token_ids:
        return False
    try:
        said = await answer.upto(_MOST_READ)
    finally:
        answer.close()
    if _FIELD in said and _FIELD.decode() not in exchange.request.document.members:
        upstream.tokenless = True
        _log.warning("an upstream refuses to be asked for token ids", upstream=upstream.name)
    return True
