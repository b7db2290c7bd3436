"""Phrases, each with others that mean the same there.

Values, and words that limit or measure, are left out. Keys are in lower case.
"""

from __future__ import annotations

IN_DESCRIPTIONS: dict[str, tuple[str, ...]] = {
    "a list of": ("a listing of",),
    "according to": ("in line with", "based on"),
    "allows you to": ("lets you",),
    "associated with": ("linked to",),
    "based on": ("by way of", "going by"),
    "belonging to": ("owned by",),
    "calculate": ("compute", "work out"),
    "calculates": ("computes", "works out"),
    "certain": ("particular",),
    "change": ("alter",),
    "changes": ("alters",),
    "check": ("verify",),
    "checks": ("verifies",),
    "compute": ("calculate",),
    "computes": ("calculates",),
    "create": ("make", "set up"),
    "creates": ("makes", "sets up"),
    "currently": ("at present",),
    "delete": ("remove", "erase"),
    "deletes": ("removes", "erases"),
    "during": ("in the course of",),
    "fetch": ("obtain", "get"),
    "fetches": ("obtains", "gets"),
    "find": ("look for", "locate"),
    "finds": ("looks for", "locates"),
    "for example": ("for instance",),
    "for instance": ("for example",),
    "get": ("fetch", "give"),
    "gets": ("fetches", "gives"),
    "given": ("specified",),
    "gives": ("returns",),
    "identify": ("determine",),
    "in order to": ("so as to", "to"),
    "information": ("details",),
    "information about": ("details on", "details of"),
    "look up": ("find", "look for"),
    "looks up": ("finds", "looks for"),
    "modify": ("change", "alter"),
    "modifies": ("changes", "alters"),
    "obtain": ("get", "fetch"),
    "obtains": ("gets", "fetches"),
    "particular": ("certain", "specific"),
    "provide": ("supply",),
    "provided": ("given", "supplied"),
    "provides": ("supplies",),
    "remove": ("delete",),
    "removes": ("deletes",),
    "requested": ("asked for",),
    "retrieve": ("obtain", "fetch"),
    "retrieves": ("obtains", "fetches"),
    "returns": ("gives", "yields"),
    "search for": ("look for",),
    "searches for": ("looks for",),
    "show": ("display",),
    "shows": ("displays",),
    "specific": ("particular", "certain"),
    "specified": ("given", "designated"),
    "such as": ("like",),
    "to be used": ("to use",),
    "update": ("change",),
    "updates": ("changes",),
    "used to": ("serving to",),
    "want to": ("wish to",),
    "whether": ("if",),
}
"""In descriptions of tools and parameters. Nouns are left out: a parameter or a value may be named so."""

SURE_VERBS = (
    *("add", "calculate", "cancel", "compute", "convert", "create", "delete", "determine", "fetch", "find"),
    *("generate", "get", "identify", "modify", "obtain", "provide", "remove", "retrieve", "send", "submit"),
)
"""Words that begin a description and are always verbs."""

LIKELY_VERBS = (
    *("book", "change", "check", "count", "display", "exchange", "list", "look", "move", "open", "place"),
    *("post", "query", "read", "rename", "reserve", "return", "save", "search", "set", "show", "update"),
    "write",
)
"""Words that are verbs where an article or the like follows, and may be nouns elsewhere."""
