"""Say where noise could not act: a profile that does nothing must not look like an agent that bears it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import structlog

from crosswind.gateway.noise.pipeline import Noise
from crosswind.gateway.recorder.redaction import Redactor
from crosswind.gateway.telemetry.metrics import Metrics
from crosswind.injectors.engine.decision import Injection
from crosswind.injectors.guard.solvability import suggest_declaration
from crosswind.injectors.targets import ToolClass, Withheld

MOST_TOOLS = 1000
"""Tools that are told apart; those that come later are counted together."""
_OTHERS = "(others)"
_LONGEST = 80
OTHERS_FIX = "say what they do with `tool_classes` in the configuration, or `--tools-read-only NAME`"

_log = structlog.get_logger("crosswind.noise")


@dataclass(slots=True)
class WithheldNoise:
    """What was injected and what was withheld in this process."""

    metrics: Metrics
    injected: int = 0
    withheld: int = 0
    _by_tool: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Faults that a tool's class forbade, by the tool and its class."""

    def count(self, noise: Noise, redactor: Redactor) -> None:
        """Count the noise of one exchange, which is over; log each tool whose class forbids faults when it
        first does.
        """
        for one in noise.withheld:
            assert one.withheld is not None
            self.metrics.count_withheld(one.withheld, one.tool_class)
            if one.withheld is Withheld.TOOL_CLASS:
                self._count_tool(one, redactor)
        for event in noise.events:
            self.injected += event.after is not None
            self.withheld += event.after is None and event.withheld

    def _count_tool(self, one: Injection, redactor: Redactor) -> None:
        tool = redactor.mask_name(one.tool or "")
        key = ((tool if tool.isprintable() else repr(tool))[:_LONGEST], one.tool_class or ToolClass.UNKNOWN)
        if key not in self._by_tool and len(self._by_tool) >= MOST_TOOLS:
            key = (_OTHERS, key[1])
        self._by_tool[key] += 1
        if self._by_tool[key] > 1 or key[0] == _OTHERS:
            return
        if key[1] == ToolClass.UNKNOWN:
            _log.warning("faults are withheld from a tool of unknown class", tool=key[0], fix=_fix(key[0]))
        else:
            why = redactor.mask_text(one.note.removeprefix("Withheld: ").replace(one.tool or "", tool))
            _log.info("faults are withheld from a tool that writes", tool=key[0], tool_class=key[1], why=why)

    def summarize(self) -> None:
        """Log what noise did in this process, if any was drawn; the end of a run."""
        if not self.injected and not self.withheld:
            return
        _log.info("noise of this run", injected=self.injected, withheld=self.withheld)
        for (tool, tool_class), count in self._by_tool.most_common(20):
            if tool_class == ToolClass.UNKNOWN:
                _log.warning(
                    "faults were withheld, since a tool's class is unknown",
                    tool=tool,
                    faults=count,
                    fix=_fix(tool),
                )
        if not self.injected:
            _log.warning("no noise acted: all that was drawn was withheld", withheld=self.withheld)


def _fix(tool: str) -> str:
    return OTHERS_FIX if tool == _OTHERS else f"if it only reads: {suggest_declaration(tool)}"
