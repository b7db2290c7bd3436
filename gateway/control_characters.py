"""Characters that no name may hold: they steer terminals, break lines or turn the writing's direction."""

from __future__ import annotations

import re
from contextlib import suppress

CONTROL_CHARACTERS = r"\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069"
"""As part of a class in a regular expression."""
_CONTROL = re.compile(f"[{CONTROL_CHARACTERS}]")


def has_control_characters(name: str) -> bool:
    """Whether a name has one. That of a header is read as UTF-8 if it can be: its bytes are no characters."""
    if name.isascii():
        return not name.isprintable()
    with suppress(ValueError):
        name = name.encode("latin-1").decode()
    return _CONTROL.search(name) is not None


def escape_control_characters(text: str) -> str:
    return text if text.isprintable() else _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def escape_within_lines(text: str) -> str:
    """Escape all but line breaks."""
    return "\n".join(map(escape_control_characters, text.split("\n")))
