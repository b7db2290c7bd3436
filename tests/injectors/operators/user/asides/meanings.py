"""The words by which a cue asks for a cheap or a fast way."""

from __future__ import annotations

import re

CHEAP = re.compile(
    r"(?i)\b(?:cheap(?:er|est|ly)?|costs?|costing|costly|cost-\w+|low-(?:cost|priced)|\w*priced"
    r"|(?:in)?expens\w+|econom\w+|budget|affordable|pric(?:e|ey)|fees?|rate|free|spend(?:ing)?"
    r"|pay(?:s|ing)?|sav(?:e|ings?)|thrift\w*|frugal|bill(?:s|ed)?|charge[sd]?|credits?|paid|savings"
    r"|wallet|meter(?:ed)?|allowance|overpriced|pocket|tariff|no-cost|unpaid|overpay|tab|invoice"
    r"|money|funds|dollars?|euro|lean(?:er)?|subscription|paywalled|premium|quota|usage|limit"
    r"|open[- ]source|top up|compute|add up|tokens|buy|use up|work for nothing|plan|few calls|pro one"
    r"|sparing|dear|requests|AI account|basic version|use (?:little|much)|(?:smaller"
    r"|big) (?:model|tools)|use it all up|used up|spent|penny|cents?|splash out|splurge|afford|chargeable"
    r"|invoiced|frugally|break the bank|cost the earth|priciest|reimburses|on my own card|set aside"
    r"|what I owe|deluxe version|best model|basic (?:model|tools)|billed)\b"
)
QUICK = re.compile(
    r"(?i)\b(?:quick\w*|fast\w*|speed\w*|swift\w*|rapid|soon\w*|slow\w*|sluggish|lengthy|delays?|lag|latency"
    r"|(?:no|idle|run|response|waiting|lose|much|little|of|least|less|any|for|spend|waste) time"
    r"|time-consuming|short(?:est|er)? (?:wait|response)|how long|have long|long-\w+|hurr\w+|rush\w*"
    r"|right away|straight away|at once|respon\w+|instant\w*|immediate\w*|prompt\w*|wait\w*|seconds?"
    r"|(?:a|half a|few) minutes?|takes? forever|(?:for|take) (?:ages|hours)|dawdle|drags?|done"
    r"|shortly|in a moment|within minutes|every minute|(?:don['’]t|no|be|too|for|takes?) (?:be )?long"
    r"|snappy|steps|detours|take your time|than a (?:minute|moment)|get on with it"
    r"|have to (?:go|be off)|before I leave|deep research|sitting here|step on it|direct way"
    r"|processing|one place|dither|first|I[’']m still here|right now|get going|keep it short|straight to it"
    r"|(?:takes?|take) (?:you )?(?:ages|long|a while)|got long|before (?:my|I)|now, not later|a start now"
    r"|late|leav(?:es|ing)|head out|now would be|get to \w+(?: \w+)? before|heading|be off"
    r"|dash|coming|pulling in|already here|all day|(?:coat|shoes) on"
    r"|almost (?:dead|over)|here already|back to work|in one go|end of my break"
    r"|want it now|about to|the moment you"
    r"|start now|a moment|to leave|now is better|hours|around long|next|before it closes|behind me"
    r"|(?:short|brief) (?:answer|version)|(?:short|got|have) (?:on time|hours|forever)"
    r"|time is short|need to go"
    r"|can['’]t stay|only stay|now than perfect|short is best|patient|impatient|asap|urgent|time crunch|clock"
    r"|due|(?:my|nearly my) turn|I[’']m next|the front|end of this call|other line|time pressure|cutting it"
    r"|should've|last (?:minute|moment)|(?:is|'s) ready|on the stove|any (?:minute|moment|second)|parking"
    r"|[’']t last|keeps dropping|after me|(?:talk|chat|stop|before) long|draw this out|back and forth"
    r"|priority|pressing|promised|rushing|racing|on my feet|shortcuts|behind|I[’']m back with|off the bus"
    r"|nearly over|as good as over|on the table|getting cold|before the rain|briefly|not for long|outside"
    r"|downstairs|at the door|wants out|needs a walk|jacket on|nearly flat|set off|go out|off in"
    r"|start my shift|get on a bus|drive off|out of here)\b"
)
MEANINGS = {"user.cost_cue": CHEAP, "user.speed_cue": QUICK}
