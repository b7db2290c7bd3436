"""What added tools say: how distractors admit their drawback, in honest sentences on prices and times, and to
which system an unrelated tool belongs.

RobustBench-TC fixes that distractors say so, not in which words.
"""

from __future__ import annotations

COSTS_MORE = (
    "Each call is billed at {times} times the price of {tool}.",
    "Note: a call costs {times} times as much as one of {tool}.",
    "Premium rate: {times} times the cost per call of {tool}.",
    "Usage is charged at {times} times what {tool} costs.",
    "Expect to pay {times} times the fee of {tool} for every request.",
    "Pricing: {times}x {tool}, per request.",
    "One request uses as many credits as {times} requests to {tool}.",
    "This variant is dearer than {tool} by a factor of {times}.",
    "Compared with {tool}, the charge per use is {times} times higher.",
    "Costs {times} times the usual {tool} rate; the output is the same.",
    "Runs on dedicated capacity, at {times} times the price that {tool} has.",
    "For the price of a single use, {tool} can be run {times} times.",
    "Metered separately: {times} units for each one that {tool} takes.",
    "Its tariff is {times} times that of {tool}.",
    "A surcharge applies, so that the total comes to {times} times that of {tool}.",
    "The account is debited {times} times the amount due for {tool}.",
)

TAKES_LONGER = (
    "The typical response time is {times} times that of {tool}.",
    "Note: an answer takes {times} times as long as one of {tool}.",
    "Queued processing: responses arrive {times} times later than those of {tool}.",
    "Latency is about {times} times higher than with {tool}.",
    "Expect to wait {times} times longer than for {tool}.",
    "Response time: {times}x {tool}.",
    "While this works on one request, {tool} would have finished {times}.",
    "This variant is slower than {tool} by a factor of {times}.",
    "Compared with {tool}, each request needs {times} times the time.",
    "Served from cold storage, {times} times more slowly than by {tool}.",
    "Jobs run in a shared queue, and end {times} times later than with {tool}.",
    "In the time of a single use, {tool} can be run {times} times.",
    "Its median duration is {times} times that of {tool}.",
    "Throughput is limited; a result needs {times} times as long as from {tool}.",
    "Delivery is deferred: allow {times} times the duration of {tool}.",
    "Polls a batch system, so that it lags {times} times behind {tool}.",
)

SYSTEMS = {
    "banking": ("banking", "view accounts, look up fees, and order documents"),
    "code": ("code hosting", "manage repositories, review changes, and follow builds"),
    "data": ("reporting", "explore data sets, build charts, and share the results"),
    "devices": ("device management", "look up devices, manuals, and settings"),
    "files": ("file management", "organize files, check disks, and look up commands"),
    "general": ("office", "look up information and convert values"),
    "health": ("clinic", "find care, look up guidance, and prepare visits"),
    "messaging": ("messaging", "write messages, manage contacts, and plan meetings"),
    "search": ("search", "find pages, news, and reference works"),
    "shopping": ("online shop", "browse products, check stores, and manage purchases"),
    "support": ("customer support", "read articles, follow cases, and reach an agent"),
    "travel": ("travel booking", "look up routes, airports, and rules for travellers"),
}
"""What the system behind a domain's tools is called, and what users do with it."""
