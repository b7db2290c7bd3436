"""Texts of programs and templates, which no user changes a value in."""

from __future__ import annotations

import re

_LABEL = re.compile(r"(?m)^[^\S\n]*[A-Z][A-Z _]{3,}:|\[\s*['\"]?[a-z]+_\w+['\"]?\s*,")
"""`TASK:` at the start of a line, or a bracketed list of the tools' names."""
_PERSONA = re.compile(
    r"(?i)\A\W*(?:you(?: are|['’]re) (?:an?|the)|act as|as an? (?:ai|assistant|expert)"
    r"|your (?:job|role|task) is)\b"
    r"|\b(?:system prompt|your (?:name|persona|role) is|the user (?:asks|is|may|says|wants|will))\b"
    r"|<\|?\w+\|?>|^#{2,} "
)
"""What tells an agent its part: the instructions of an application, which a user has pasted."""
_BROKEN = re.compile(r"(?:\.\s?\?|\?\s?\.|,\s?[.?])\s*$")
"""Marks at the end that say that the text was cut or filled in."""


def is_document(text: str) -> bool:
    """Whether the text has labels or marks that no user types, or tells an agent its part."""
    return any(one.search(text) is not None for one in (_LABEL, _BROKEN, _PERSONA))
