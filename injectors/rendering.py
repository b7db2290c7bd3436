"""Noise on a terminal: what was taken away and what was put in, in colour."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from rich.console import Group
from rich.text import Text

_PIECE = re.compile(r"\w+|\s+|[^\w\s]")
LONGEST = 4000
"""Longer texts are shown up to here."""


def heading(text: str) -> Text:
    """A line above an event."""
    return Text(f"\n{text}", style="bold")


def reflowed(docstring: str) -> str:
    """A docstring with each paragraph on one line, for a terminal to wrap."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in docstring.split("\n\n"))


def event(before: str, after: str | None, note: str) -> Group:
    """One injection: the text before, with what goes in red; the text after, with what came in green; the
    note."""
    if after is None:
        return Group(_line("  clean  ", Text(_shortened(before))), Text(f"  {note}", style="yellow"))
    old, new = _compared(_shortened(before), _shortened(after))
    lines = [_line("  before ", old)] if before else []
    return Group(*lines, _line("  after  ", new), Text(f"  {note}", style="dim"))


def _line(label: str, text: Text) -> Text:
    return Text(label, style="cyan").append_text(text)


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"


def _compared(before: str, after: str) -> tuple[Text, Text]:
    left, right = _PIECE.findall(before), _PIECE.findall(after)
    old, new = Text(style="not dim"), Text(style="not dim")
    for kind, start, end, begin, stop in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        same = kind == "equal"
        old.append("".join(left[start:end]), style="" if same else "red")
        new.append("".join(right[begin:stop]), style="" if same else "bold green")
    return old, new
