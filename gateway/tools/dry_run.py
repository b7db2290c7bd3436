"""A dry run: what noise would have done to each tool, as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from crosswind.gateway.columns import write_columns
from crosswind.gateway.tools.events import CALL, ToolEvent

DRY = "Dry run, nothing was done: "
_LONGEST_NAME = 20
"""Of a tool in a row; a longer name has a line of its own, so that 80 columns are enough."""
_HEAD = ("tool", "class", "calls", "would be hit by", "times")


class DryRun(msgspec.Struct):
    """Counted by tool."""

    calls: dict[str, int] = {}
    classes: dict[str, str] = {}
    done: dict[str, dict[str, int]] = {}
    """By tool and operator, how often it would have acted."""

    def count(self, events: Iterable[ToolEvent]) -> None:
        for one in events:
            if one.operator == CALL:
                self.calls[one.tool] = self.calls.get(one.tool, 0) + 1
                self.classes[one.tool] = one.tool_class or ""
            elif one.after is not None:
                done = self.done.setdefault(one.tool, {})
                done[one.operator] = done.get(one.operator, 0) + 1

    def write(self) -> str:
        """A line for each tool and operator; empty where there was no call."""
        rows = list(self._rows())
        lines = write_columns([_HEAD, *(row for _, row in rows)])
        out = lines[:1]
        for (alone, _), line in zip(rows, lines[1:], strict=True):
            out += [write_columns([(alone,)])[0], line] if alone else [line]
        return "\n".join(out) if rows else ""

    def _rows(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The rows, each with the tool's name if that has a line of its own."""
        for tool in sorted(self.calls.keys() | self.done.keys()):
            alone = tool if len(tool) > _LONGEST_NAME else ""
            first = "" if alone else tool, self.classes.get(tool, ""), str(self.calls.get(tool, 0))
            for name, times in sorted(self.done.get(tool, {"nothing": 0}).items()):
                yield alone, (*first, name, str(times) if times else "")
                alone, first = "", ("", "", "")
