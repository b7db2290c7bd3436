"""Render operators and events for a terminal: removals in red, additions in green."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from rich.cells import cell_len
from rich.console import Console, Group
from rich.text import Text

_PIECE = re.compile(r"\w+|\s+|[^\w\s]")
_WHOLE = 400
"""Characters up to which a text is shown whole beside its difference."""
_AROUND = 16
"""Words and spaces of a longer text that are shown on each side of a difference."""
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


def fold(line: str, console: Console, indent: str = "    ") -> str:
    """A line as wide as the terminal; the rest of a longer one is indented."""
    room = max(console.width - len(indent), 1)
    if cell_len(line) <= console.width:
        return line
    return f"\n{indent}".join(part.plain.rstrip() for part in Text(line).wrap(console, room))


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
    """Both texts with what differs in colour; of a long text, only what stands around the differences."""
    left, right = _PIECE.findall(before), _PIECE.findall(after)
    old, new = Text(style="not dim"), Text(style="not dim")
    codes = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    long = max(len(before), len(after)) > _WHOLE
    for kind, start, end, begin, stop in codes:
        if kind == "equal":
            same = left[start:end]
            shown = (
                _shorten_same(same, at_start=start == 0, at_end=end == len(left)) if long else "".join(same)
            )
            old.append(shown)
            new.append(shown)
        else:
            old.append("".join(left[start:end]), style="red")
            new.append("".join(right[begin:stop]), style="bold green")
    return old, new


def _shorten_same(pieces: Sequence[str], *, at_start: bool, at_end: bool) -> str:
    """The pieces next to a difference; the others as dots."""
    ahead, behind = 0 if at_start else _AROUND, 0 if at_end else _AROUND
    if len(pieces) <= ahead + behind + 1:
        return "".join(pieces)
    tail = pieces[len(pieces) - behind :]
    return "".join([*pieces[:ahead], *(" " if ahead else ""), "… ", *tail]).replace("  ", " ")
