"""The words by which a cue asks for a cheap or a fast way, and those that say it's the assistant's way."""

from __future__ import annotations

import re

CHEAP = re.compile(
    r"(?i)\b(?:cheap(?:er|est|ly)?|costs?|costing|costly|cost-\w+|low-(?:cost|priced)|\w*priced"
    r"|(?:in)?expens\w+|econom\w+"
    r"|budget|affordable|pric(?:e|ey)|fees?|rate|free|spend(?:ing)?|pay(?:s|ing)?|sav(?:e|ings?)"
    r"|thrift\w*|frugal"
    r"|bill(?:s|ed)?|charge[sd]?|credits?|paid|cents?|penn(?:y|ies)|savings|bargain|discount|no-frills"
    r"|wallet|meter(?:ed)?"
    r"|allowance|overpriced|purse|pocket|bank account|tariff|no-cost|gratis|unpaid|surcharge|entry-level"
    r"|overpay|dear"
    r"|tab|invoice|money|cash|funds|dollars?|euro|penny-pinching|stingy|lean(?:er)?|subscription"
    r"|paywalled|premium)\b"
)
QUICK = re.compile(
    r"(?i)\b(?:quick\w*|double-quick|fast\w*|speed\w*|swift\w*|rapid|soon(?:est)?|slow\w*|sluggish"
    r"|delays?|time|times|short\w*"
    r"|long(?:er)?|latency|hurry|hurried|hasty|rushed|first|earliest|right away|at once|now|respon\w+"
    r"|instant\w*|immediate|prompt"
    r"|waiting|wait|hanging|ages|seconds?|minutes?|moment|bit|pace|forever|dawdle\w*|express|turbo"
    r"|lightweight|nimble\w*|brisk\w*"
    r"|lag(?:gy)?|light|spinner|zippy|nippy|drag|hang|flash|delay|time-consuming|long-winded|turnaround"
    r"|batch|overnight"
    r"|queued|tempo|performance|high-speed|real-time|slowpoke|crawl|door|run|ASAP|stuck|patience|heavy"
    r"|clock|load|smooth|ahead of|before the rest)\b"
)
WAY = re.compile(
    r"(?i)\b(?:tools?|tool-wise|services?|functions?|sources?|methods?|approach|way|route|option|variant"
    r"|version|calls?|apis?"
    r"|lookups?|to run|run it|running it|(?:on|at) your (?:side|end)|for you|requests?|quer(?:y|ies)"
    r"|search|plugins?"
    r"|integrations?|endpoints?|providers?|backends?|systems?|programs?|modules?|software|connections?"
    r"|resources?"
    r"|databases?|under the hood|behind the scenes|in the background|processing|the work behind it|usage"
    r"|what you (?:use|call|run)"
    r"|in what you call|technical side|while you work|setup|jobs|runs|processes|steps)\b"
)
MEANINGS = {"user.cost_cue": CHEAP, "user.speed_cue": QUICK}
