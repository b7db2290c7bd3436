"""Whether an English message asks for a fact or for an action."""

from __future__ import annotations

import re
from functools import lru_cache

from crosswind.injectors.packs.parts import Asked

_FACT = """analy[sz]e|calculate|check|compare|compute|convert|count|describe|determine|display|estimate
    |explain|fetch|find|get|give|identify|know|list|look|plot|read|retrieve|search|show|solve
    |summari[sz]e|tell|translate"""
_ACTION = """add|arrange|book|buy|cancel|change|clear|close|commit|copy|create|delete|deploy|disable|dispute
    |draft|email|enable|exchange|fill|fix|follow|forward|install|invite|lock|make|mark|merge|message|modify
    |move|open|order|pay|pick|place|post|purchase|push|put|refill|remove|rename|renew|reply|reschedule
    |reserve|reset|return|schedule|sell|send|set|share|start|stop|submit|transfer|turn|unlock|update|upgrade
    |withdraw|write|see[ ](?:an?[ ])?(?:dr|doctor|nurse|specialist)"""
_WANT = r"(?:i|we)(?:[ ](?:need|want)|['’]d[ ]like|[ ]would[ ]like)[ ]"
_WISH = rf"""{_WANT}(?:an?|some)[ ](?:\w+[ ]){{0,2}}(?:appointment|table|room|flight|seat|reservation|booking
    |refund|reminder|meeting|refill|replacement)"""
_LEAD = rf"""(?:(?:hi|hello|hey|please|then|now|so)[ ,!]{{1,3}}){{0,3}}
    (?:(?:can|could|would|will)[ ](?:you|i|we)[ ]|{_WANT}(?:you[ ])?to[ ])?(?:please[ ])?
    (?:help[ ]me[ ](?:to[ ])?)?"""
_QUESTION = r"""(?:what|who|which|how|where|when|why)(?:['’]s)?
    |(?:is|are|was|were|do|does|did|has|have)[ ][^.!?]{1,200}\?"""
_REQUEST = re.compile(
    rf"""(?ix)(?:^|[.!?;:][ ]{{1,2}}|,[ ](?=please\b)|\n[ ]{{0,4}}){_LEAD}
    (?:(?P<action>{_ACTION}|{_WISH})|(?P<fact>{_FACT}|{_QUESTION}))(?!\w)"""
)


@lru_cache(256)
def find_asked(text: str) -> Asked | None:
    """What the first request of a message is for; None where that isn't sure."""
    found = _REQUEST.search(text)
    if found is None:
        return None
    return Asked.ACTION if found["action"] else Asked.FACT
