"""The verb with which a description begins: "Cancels an order." says what "Cancel an order." does."""

from __future__ import annotations

import re

_SURE = (
    *("add", "calculate", "cancel", "compute", "convert", "create", "delete", "determine", "fetch", "find"),
    *("generate", "get", "identify", "modify", "obtain", "provide", "remove", "retrieve", "send", "submit"),
)
"""Verbs that are nothing else."""

_LIKELY = (
    *("book", "change", "check", "count", "display", "exchange", "list", "look", "move", "open", "place"),
    *(
        "post",
        "query",
        "read",
        "rename",
        "reserve",
        "return",
        "save",
        "search",
        "set",
        "show",
        "update",
        "write",
    ),
)
"""Verbs where an article or the like comes next; else they may be nouns."""

_DETERMINED = r"(?=\s+(?:a|an|the|all|its|up|one|this|your)\b)"


def _third(verb: str) -> str:
    if verb.endswith("y") and verb[-2] not in "aeou":
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(("ch", "sh", "s", "x")) else f"{verb}s"


FORMS = {
    one: other for verb in (*_SURE, *_LIKELY) for one, other in ((verb, _third(verb)), (_third(verb), verb))
}
"""Each form to the other, in lower case."""


def _any(verbs: tuple[str, ...]) -> str:
    return "|".join((*verbs, *map(_third, verbs)))


OPENING = re.compile(rf"\s*((?:{_any(_SURE)})\b(?=\s)|(?:{_any(_LIKELY)})\b{_DETERMINED})", re.IGNORECASE)
