"""What an English message asks for: which kind of fact, or which kind of action."""

from __future__ import annotations

import re
from functools import lru_cache

from crosswind.injectors.packs.parts import Asked
from crosswind.injectors.text.caseless import CaselessPattern

_FACT = """analy[sz]e|assess|calculate|check|compare|compute|convert|count|describe|determine|display
    |estimate|evaluate|examine|explain|fetch|find|get|give|identify|inspect|know|list|look|plot|predict
    |provide|read|recommend|retrieve|search|show|simulate|solve|suggest|verify|view|pull[ ]up|sort
    |summari[sz]e|tell|trace|translate|work[ ]out|i(?:['’]m|[ ]am)[ ]looking[ ]for"""
_ACTION = r"""activate|add|adjust|apply|approve|archive|arrange|assign|attach|block|book|buy|cancel|change
    |clear|close|comment|commit|confirm|connect|cool|copy|create|deactivate|decline|decrease|delete|deploy
    |deposit|dim|disable|disconnect|dispute|donate|download|draft|edit|email|enable|enroll?|escalate
    |exchange|export|extend|fill|fix|fly|follow|forward|format|freeze|generate|give(?=[ ](?!me\b|us\b))
    |import|increase|insert|install|invite|launch|lock|log(?=[ ](?:an?|my|this)\b)|lower|make|mark|merge
    |message|modify|move|mute|navigate|notify|open|order|pause|pay|pick|place|play|post|print|purchase|push
    |put|raise|redeem|reduce
    |refill|refund|register|reject|remind|remove|rename|renew|rent|replace|reply|request|rerun|reschedule
    |resend|reserve|reset|resolve|restart|resume|return|retweet|revert|revoke|roll[ ]back|rotate|run|save|scan
    |schedule|sell|send|set|share|sign[ ](?:me|us)[ ]up|(?:file|report)[ ](?:an?|my|that|the)|start|stop
    |submit|subscribe|swap|switch|transfer|turn|unfreeze|unlock|unsubscribe|update|upgrade|upload|withdraw
    |write|see[ ](?:an?[ ])?(?:dr|doctor|nurse|specialist)"""
_WANT = r"(?:i|we)(?:[ ](?:need|want)|['’]d[ ]like|[ ]would[ ]like)[ ]"
_WISH = rf"""{_WANT}(?:an?|some)[ ](?:\w+[ ]){{0,2}}(?:appointment|table|room|flight|seat|reservation|booking
    |refund|reminder|meeting|refill|replacement)"""
_LEAD = rf"""(?:(?:hi|hello|hey|please|then|now|so)[ ,!]{{1,3}}){{0,3}}
    (?:(?:can|could|would|will)[ ](?:you|i|we)[ ]|{_WANT}(?:you[ ])?to[ ])?(?:please[ ])?
    (?:help[ ]me[ ](?:to[ ])?)?"""
_QUESTION = r"""(?:what|who|which|how|where|when|why)(?:['’]s)?
    |(?:is|are|was|were|do|does|did|has|have|any)[ ][^.!?]{1,200}\?"""
_REQUEST = CaselessPattern(
    rf"""(?:^|[.!?;:][ ]{{1,2}}|,[ ](?=(?:please|can|could|would)\b)|\n[ ]{{0,4}}){_LEAD}
    (?:(?P<action>{_ACTION}|{_WISH})|(?P<search>{_FACT})|(?P<question>{_QUESTION}))(?!\w)""",
    re.VERBOSE,
)


_MATHEMATICS = CaselessPattern(
    r"""\b(?:calculat|comput|factorial|derivative|integral|prime|square[ ]root|cube[ ]root|equation
    |triangle|circle|rectangle|hypotenuse|probabilit|logarithm|velocity|acceleration|kinetic|divisor|sum[ ]of
    |standard[ ]deviation|compound[ ]interest|permutation|fibonacci|quadratic|gcd|lcm|hcf|magnetic[ ]field
    |electric[ ]field|circumference|roots[ ]of|common[ ](?:factor|multiple|denominator)
    |median|mean[ ]of|percent[ ]off?\b|log[ ]base|\d[ ]?volts?\b
    |how[ ]many[ ]days[ ](?:are[ ])?(?:there[ ])?between
    |\d+(?:[.,]\d+)?[ ](?:add|plus|minus|times|multiplied[ ]by|divided[ ]by|[+*×÷])[ ]-?\d)""",
    re.VERBOSE,
)
"""Stems of words that make a question a calculation, and two numbers with what is done to them."""
_CALCULATES = re.compile(r"(?:calculat|comput|solve|estimate|work out|convert)", re.IGNORECASE)
_BOOKS = re.compile(r"(?:book|buy|order|purchase|rent|reserve)\b", re.IGNORECASE)
_WANTS = re.compile(_WANT, re.IGNORECASE | re.VERBOSE)
_SENDS = re.compile(r"(?:comment|email|forward|invite|message|post|reply|send|share|draft)\b", re.IGNORECASE)
_CONTROLS = re.compile(r"(?:cool|dim|lock|play|turn|unlock|navigate|start the engine)\b", re.IGNORECASE)
_DEVICE = CaselessPattern(
    r"""\b(?:air[ ]?con\w*|alarm|blinds?|brakes?|camera|climate|conditioner|cruise|doors?|engine|fan|fuel
    |gallons?|headlights?|heating|humidifier|lamps?|lights?|music|oven|playlist|purifier|songs?|speakers?|tank
    |temperature|thermostat|timer|tires?|tv|vacuum|volume|washer)\b""",
    re.VERBOSE,
)
"""Things on which an action is a device's."""


@lru_cache(256)
def find_asked(text: str) -> frozenset[Asked]:
    """What the first request of a message is for, wide and narrow; empty where that isn't sure."""
    found = _REQUEST.search(text)
    if found is None or found.lastgroup is None:
        return frozenset()
    verb = found[found.lastgroup]
    if found.lastgroup == "action":
        return frozenset({Asked.ACTION}) | _narrow_action(verb, text[found.start(found.lastgroup) :])
    worked_out = _CALCULATES.match(verb) or _MATHEMATICS.search(text)
    narrow = Asked.LEARN if found.lastgroup == "question" else Asked.FIND
    return frozenset({Asked.FACT, Asked(found.lastgroup), Asked.CALCULATE if worked_out else narrow})


def _narrow_action(verb: str, rest: str) -> frozenset[Asked]:
    if _SENDS.match(verb):
        return frozenset({Asked.TASK, Asked.SEND})
    if _BOOKS.match(verb) or _WANTS.match(verb):
        return frozenset({Asked.TASK, Asked.BOOK})
    if _CONTROLS.match(rest) or _DEVICE.search(rest):
        return frozenset({Asked.CONTROL})
    return frozenset({Asked.TASK})


def asks_for(asks: Asked | None, asked: frozenset[Asked]) -> bool:
    """Whether an entry that asks so fits a message that asks for this."""
    return asks is None or asks in asked


_ASKING = CaselessPattern(
    r"""\?|\b(?:please|(?<!all[ ]i[ ])(?:needs?|wants?)|wish|hoping|trying[ ]to|like[ ]to
    |(?:can|could|would|will)[ ]you|let['’]?s|let[ ]me|looking[ ](?:for|to)|interested[ ]in|curious|help
    |kindly)\b""",
    re.VERBOSE,
)
"""What an English request has that doesn't begin with its verb."""
_TELLS = re.compile(
    r"""(?:i|we|you|he|she|it|they|this|that|these|those|there|my|our|your|his|her|its|their|the|yes|yeah|yep|no
    |nope|ok|okay|sure|right|correct|great|perfect|thanks|thank|hi|hello|hey|\d)(?![a-z])""",
    re.IGNORECASE | re.VERBOSE,
)
"""How sentences begin that tell or answer."""
_LEAST_WORDS = 4
"""A shorter text without a verb that asks is an answer: a name, a number."""


@lru_cache(256)
def asks_anything(text: str) -> bool:
    """Whether an English message asks for anything at all; in doubt it does."""
    if find_asked(text) or _ASKING.search(text):
        return True
    sentences = [one for one in re.split(r"[.!?\n]+\s*", text) if one]
    return len(text.split()) >= _LEAST_WORDS and not all(map(_TELLS.match, sentences))


def ends_in_request(text: str) -> bool:
    """Whether the last sentence of an English message asks for something itself, as far as is sure."""
    last = re.split(r"(?<=[.!?\n])\s+", text.strip())[-1]
    return last.endswith("?") or bool(find_asked(last)) or _ASKING.search(last) is not None
