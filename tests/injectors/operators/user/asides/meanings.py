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
    r"(?i)\b(?:quick\w*|double-quick|fast\w*|speed\w*|swift\w*|rapid|soon(?:est)?|slow\w*|sluggish|lengthy"
    r"|delays?|(?:no|idle|run|response|waiting|lose|little) time|(?:short on|pressed for) time|time-consuming"
    r"|time['’]s short|short(?:est|er)? (?:wait|queue|response)|how long|have long|long-\w+|latency|hurr\w+"
    r"|rushed|right away|straight away|at once|respon\w+|instant\w*|immediate\w*|prompt\w*|wait|waiting"
    r"|seconds?|(?:a|half a|few) minutes?|take minutes|pace|takes? forever|(?:take|for) ages|dawdle\w*"
    r"|express|turbo|nimble\w*|brisk\w*|lag(?:gy)?|spinner|zippy|nippy|drag on|crawl\w*|flash"
    r"|turnaround|overnight|tempo|high-speed|real-time|slowpoke|ASAP|clock|ahead of|before the rest)\b"
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
