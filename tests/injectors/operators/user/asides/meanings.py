"""The words by which a cue asks for a cheap or a fast way, and those that say it's the assistant's way."""

from __future__ import annotations

import re

CHEAP = re.compile(
    r"(?i)\b(?:cheap(?:er|est|ly)?|costs?|cost-effective(?:ly)?|costly|low-(?:cost|priced|budget)|(?:in)?expensive"
    r"|econom(?:y|ical)|budget|affordable|pric(?:e|ey)|fees?|rate|free|spend|pay|save|thrifty|frugal)\b"
)
QUICK = re.compile(
    r"(?i)\b(?:quick(?:er|est|ly)?|fast(?:er|est)?|speed(?:y|ier|iest)?|swift(?:est)?|rapid|soon(?:est)?|slow|sluggish"
    r"|delay|(?:short|least|little|waiting|response|running) time|time (?:short|low|down)|shortest"
    r"|low-latency|hurry|first|right away|at once|response)\b"
)
WAY = re.compile(
    r"(?i)\b(?:tools?|services?|functions?|sources?|methods?|approach|way|route|option|variant|version|calls?|apis?"
    r"|lookups?|to run|run anything|running costs|(?:waiting|response|running) time"
    r"|(?:on|at) your (?:side|end)|over there|for you|responds|answers|cost-effectively|handle"
    r"|do (?:it|that)|gets (?:it|that) done)\b"
)
MEANINGS = {"user.cost_cue": CHEAP, "user.speed_cue": QUICK}
