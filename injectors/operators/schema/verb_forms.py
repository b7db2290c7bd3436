"""The forms in which a description's verb stands: "get", "gets", "getting"."""

from __future__ import annotations

from enum import StrEnum

from crosswind.injectors.operators.words import descriptions as words


class Form(StrEnum):
    BASE = "base"
    THIRD = "third"
    GERUND = "gerund"


def conjugate(verb: str, form: Form) -> str:
    """A verb in that form; what follows it (`look up`) stays."""
    first, _, rest = verb.partition(" ")
    if form is Form.THIRD:
        first = _third_person(first)
    elif form is Form.GERUND:
        first = _gerund(first)
    return f"{first} {rest}" if rest else first


def _third_person(verb: str) -> str:
    if verb.endswith("y") and verb[-2] not in "aeou":
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(("ch", "sh", "s", "x", "o", "z")) else f"{verb}s"


def _gerund(verb: str) -> str:
    if verb in words.DOUBLED:
        return f"{verb}{verb[-1]}ing"
    if verb.endswith("ie"):
        return f"{verb[:-2]}ying"
    return f"{verb[:-1]}ing" if verb.endswith("e") and not verb.endswith(("ee", "ye", "oe")) else f"{verb}ing"


FORMS: dict[str, tuple[str, Form]] = {
    conjugate(verb, form): (verb, form)
    for form in (Form.GERUND, Form.THIRD, Form.BASE)
    for verb in words.VERBS
}
"""By each form of each verb: the verb, and which form it is."""
