"""Help for a terminal, in which long examples are folded as a shell reads them."""

from __future__ import annotations

import re
import shutil

import click

_WORD = re.compile(r"(?:--\w[\w-]* (?!-))?(?:[^\s'\"]|'[^']*'|\"[^\"]*\")+")
"""A word, or an option with its value."""
_DEEPER = 4
"""Columns by which the rest of a folded line is indented."""


class FoldingFormatter(click.HelpFormatter):
    """Folds the lines of examples, which click leaves as they are."""

    def write_text(self, text: str) -> None:
        room = shutil.get_terminal_size().columns - self.current_indent
        super().write_text(
            "\n".join(
                fold_command(line, room) if line.startswith("  ") else line for line in text.split("\n")
            )
        )


def fold_command(line: str, width: int) -> str:
    """A line of shell on several lines that are one to a shell. What has a comment stays whole."""
    if len(line) <= width or " # " in line:
        return line
    indent = " " * (len(line) - len(line.lstrip()))
    lines, deeper = [indent], indent + " " * _DEEPER
    for word in _WORD.findall(line):
        bare = not lines[-1].strip()
        if not bare and len(lines[-1]) + 1 + len(word) + len(" \\") > width:
            lines.append(deeper)
            bare = True
        lines[-1] += word if bare else f" {word}"
    return " \\\n".join(lines)
