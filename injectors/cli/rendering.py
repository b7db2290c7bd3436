"""Render operators and events for a terminal: removals in red, additions in green."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from rich.console import Group
from rich.text import Text

_PIECE = re.compile(r"\w+|\s+|[^\w\s]")
LONGEST = 4000
"""Characters of a text that are shown, at most."""


def render_heading(text: str) -> Text:
    return Text(f"\n{text}", style="bold")


def severity_of(docstring: str) -> str:
    """The sentence or line of an operator's documentation that says what severity means."""
    text = reflow(docstring)
    found = re.search(r"Severity[^\n]*?\.(?=\s[A-Z]|\s*$)", text, re.MULTILINE)
    return found.group().removeprefix("Severity: ") if found else ""


def reflow(docstring: str) -> str:
    """A docstring with each paragraph on one line, for a terminal to wrap."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in docstring.split("\n\n"))


def render_event(before: str, after: str | None, note: str) -> Group:
    """One injection: the text before and after, and the note."""
    if after is None:
        return Group(_line("  clean  ", Text(shorten(before))), Text(f"  {note}", style="yellow"))
    old, new = _compare(shorten(before), shorten(after))
    lines = [_line("  before ", old)] if before else []
    return Group(*lines, _line("  after  ", new), Text(f"  {note}", style="dim"))


def _line(label: str, text: Text) -> Text:
    return Text(label, style="cyan").append_text(text)


def shorten(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"


def _compare(before: str, after: str) -> tuple[Text, Text]:
    left, right = _PIECE.findall(before), _PIECE.findall(after)
    old, new = Text(style="not dim"), Text(style="not dim")
    for kind, start, end, begin, stop in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        same = kind == "equal"
        old.append("".join(left[start:end]), style="" if same else "red")
        new.append("".join(right[begin:stop]), style="" if same else "bold green")
    return old, new
