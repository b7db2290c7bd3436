"""Noise on a terminal: what was taken away and what was put in, in colour."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import Any

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from crosswind.injectors.operator import Registered

_PIECE = re.compile(r"\w+|\s+|[^\w\s]")
LONGEST = 4000
"""Longer texts are shown up to here."""


def heading(text: str) -> Text:
    """A line above an event."""
    return Text(f"\n{text}", style="bold")


def listed(name: str, entry: Registered) -> Group:
    """An operator in a list: its names, what it does, what severity means, how to recover, whose it is."""
    aliases = f" ({', '.join(entry.aliases)})" if entry.aliases else ""
    summary = " ".join(entry.documentation.partition("\n\n")[0].split())
    facts = {"severity": severity_of(entry.documentation), "recovery": entry.recovery.value}
    facts["source"] = entry.source or entry.origin
    lines = [Text(summary), *(Text(f"{label}: {fact}", style="dim") for label, fact in facts.items() if fact)]
    return Group(Text(f"{name}{aliases}", style="cyan"), *(Padding(line, (0, 0, 0, 4)) for line in lines))


def severity_of(docstring: str) -> str:
    """What an operator's documentation says that severity means: the sentence, or the line, on it."""
    text = reflowed(docstring)
    found = re.search(r"Severity[^\n]*?\.(?=\s[A-Z]|\s*$)", text, re.MULTILINE)
    return found.group().removeprefix("Severity: ") if found else ""


def reflowed(docstring: str) -> str:
    """A docstring with each paragraph on one line, for a terminal to wrap."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in docstring.split("\n\n"))


def spoken(number: int, message: Mapping[str, Any]) -> Group:
    """One chat message as the client has it: who says what, and what is called."""
    role = Text(f"\n[{number}] {message['role']}", style="bold blue")
    lines: list[Text] = []
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = [str(part["text"]) for part in parts if isinstance(part, dict) and part.get("text") is not None]
    lines += [Text(f"  {_shortened(text)}") for text in texts]
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, Mapping) else None
        function = function if isinstance(function, Mapping) else {}
        lines.append(Text(f"  calls {function.get('name')}({function.get('arguments')})", style="italic"))
    return Group(role, *lines)


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
