"""Texts of programs and templates, which no user changes a value in."""

from __future__ import annotations

import re

_LABEL = re.compile(r"(?m)^[^\S\n]*[A-Z][A-Z _]{3,}:|\[\s*['\"]?[a-z]+_\w+['\"]?\s*,")
"""`TASK:` at the start of a line, or a bracketed list of the tools' names."""
_BROKEN = re.compile(r"(?:\.\s?\?|\?\s?\.|,\s?[.?])\s*$")
"""Marks at the end that say that the text was cut or filled in."""


def is_document(text: str) -> bool:
    """Whether the text has labels or marks that no user types."""
    return _LABEL.search(text) is not None or _BROKEN.search(text) is not None
