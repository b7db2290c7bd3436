"""Tools that could exist beside a tool: other deeds on the same things, named after its pattern."""

from __future__ import annotations

import re

from crosswind.injectors.operators.schema.naming import LONGEST, in_style, words

VERBS = frozenset(
    """
    add apply assign book calculate cancel change check close compute confirm convert create delete exchange
    fetch find generate get list look make modify move open place post query read remove rename reserve reset
    retrieve return save search send set show submit translate transfer update upload write
    """.split()  # noqa: SIM905
)
"""First or last words of a name that say what is done."""

DEEDS = (
    (
        "archive",
        "Move {things} that are out of use to the archive.",
        "older_than_days",
        "integer",
    ),
    ("annotate", "Attach an internal remark to {things}; customers never see it.", "remark", "string"),
    ("count", "Count {things} per month, for reports.", "month", "string"),
    ("export", "Write {things} to a file in the reporting bucket.", "file_name", "string"),
    ("watch", "Be notified when {things} change from now on.", "channel", "string"),
    ("print", "Send {things} to an office printer.", "printer", "string"),
    ("label", "Put a coloured label on {things} for the team's board.", "colour", "string"),
    ("audit", "List who has looked at {things}, and when.", "since", "string"),
)
"""Verb, purpose, and the parameter with its type. None of them answers a question or does a task."""

_LAST = re.compile(r"[./:](?=[^./:]*$)")


def neighbours(name: str) -> list[dict[str, str]]:
    """Each neighbour's `name`, what it `says`, its `parameter` and that one's `kind`."""
    out: list[dict[str, str]] = []
    for verb, purpose, parameter, kind in DEEDS:
        made = _with_verb(name, verb)
        if made is not None and len(made) <= LONGEST:
            says = purpose.format(things=f"records of {_things(name)}")
            out.append({"name": made, "says": says, "parameter": parameter, "kind": kind})
    return out


def _with_verb(name: str, verb: str) -> str | None:
    """The name with another verb in its own style: `get_order`, `getOrder`, `GetOrder`, `orders.get`."""
    prefix, last = _split(name)
    found = words(last)
    if not found or verb in found:
        return None
    if found[0] in VERBS:
        rest = last[len(found[0]) :]
        return f"{prefix}{_cased(verb, last)}{rest}" if last.lower().startswith(found[0]) else None
    return in_style(name, verb)


def _things(name: str) -> str:
    found = [word for word in words(name) if word not in VERBS]
    return " ".join(found) or "this kind"


def _split(name: str) -> tuple[str, str]:
    match = _LAST.search(name)
    return (name[: match.end()], name[match.end() :]) if match else ("", name)


def _cased(verb: str, like: str) -> str:
    return verb.capitalize() if like[:1].isupper() else verb
