"""Whether an English message asks for a fact or for an action."""

from __future__ import annotations

import re
from functools import lru_cache

from crosswind.injectors.packs.parts import Asked

_FACT = """analy[sz]e|calculate|check|compare|compute|convert|count|describe|determine|display|estimate
    |explain|fetch|find|get|give|identify|know|list|look|plot|read|retrieve|search|show|solve
    |pull[ ]up|sort|summari[sz]e|tell|trace|translate|work[ ]out
    |i(?:['’]m|[ ]am)[ ]looking[ ]for"""
_ACTION = """add|arrange|book|buy|cancel|change|clear|close|comment|commit|cool|copy|create|delete|deploy|dim
    |disable|dispute
    |draft|email|enable|exchange|fill|fix|fly|follow|forward|install|invite|lock|make|mark|merge|message|modify
    |move|navigate|open|order|pay|pick|place|play|post|purchase|push|put|refill|remind|remove|rename|renew
    |rent|reply|rerun|reschedule
    |reserve|reset|restart|return|schedule|sell|send|set|share|start|stop|submit|switch|transfer|turn|unlock
    |update|upgrade|withdraw|write|see[ ](?:an?[ ])?(?:dr|doctor|nurse|specialist)"""
_WANT = r"(?:i|we)(?:[ ](?:need|want)|['’]d[ ]like|[ ]would[ ]like)[ ]"
_WISH = rf"""{_WANT}(?:an?|some)[ ](?:\w+[ ]){{0,2}}(?:appointment|table|room|flight|seat|reservation|booking
    |refund|reminder|meeting|refill|replacement)"""
_LEAD = rf"""(?:(?:hi|hello|hey|please|then|now|so)[ ,!]{{1,3}}){{0,3}}
    (?:(?:can|could|would|will)[ ](?:you|i|we)[ ]|{_WANT}(?:you[ ])?to[ ])?(?:please[ ])?
    (?:help[ ]me[ ](?:to[ ])?)?"""
_QUESTION = r"""(?:what|who|which|how|where|when|why)(?:['’]s)?
    |(?:is|are|was|were|do|does|did|has|have|any)[ ][^.!?]{1,200}\?"""
_REQUEST = re.compile(
    rf"""(?ix)(?:^|[.!?;:][ ]{{1,2}}|,[ ](?=(?:please|can|could|would)\b)|\n[ ]{{0,4}}){_LEAD}
    (?:(?P<action>{_ACTION}|{_WISH})|(?P<search>{_FACT})|(?P<question>{_QUESTION}))(?!\w)"""
)


@lru_cache(256)
def find_asked(text: str) -> Asked | None:
    """What the first request of a message is for; None where that isn't sure."""
    found = _REQUEST.search(text)
    return None if found is None or found.lastgroup is None else Asked(found.lastgroup)


def asks_for(asks: Asked | None, asked: Asked | None) -> bool:
    """Whether an entry that asks so fits a message that is asked so."""
    return asks in (None, asked) or (asks is Asked.FACT and asked in (Asked.QUESTION, Asked.SEARCH))
