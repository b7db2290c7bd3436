"""The newest sessions of a store, a line each: what was asked, which noise acted, and how it ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from crosswind.gateway.trajectory.record import Trajectory
from crosswind.gateway.trajectory.store import Store
from crosswind.studies.report.example import lay_out
from crosswind.studies.report.report_table import ReportTable
from crosswind.studies.report.tables import WHOSE

SESSIONS_LISTED = 100
_ASKED = 60
"""Characters of the first message that are shown."""


def session_table(store: Store, void: Mapping[str, str]) -> ReportTable | None:
    """The newest sessions; None if there is none. `void` says why a session doesn't count."""
    newest = store.sessions(limit=SESSIONS_LISTED)
    rows = [_row(found, void) for one in newest if (found := store.trajectory(one.id)) is not None]
    if not rows:
        return None
    count = int(store.counts()["sessions"])
    which = f"The {len(rows)} newest of {count:,} sessions" if count > len(rows) else "All sessions"
    return ReportTable(
        "Sessions",
        f"{which}, the newest first. Injected: the noise that acted, and how often. Withheld: noise that was "
        "drawn and did not act. Outcome: the reward, or else how the last turn ended. Void: counted nowhere.",
        ("session", "first message", "profile", "turns", "injected", "withheld", "outcome"),
        rows,
    )


def _row(found: Trajectory, void: Mapping[str, str]) -> tuple[str, ...]:
    session = found.session
    injected = Counter(event.operator for event in found.events if event.after is not None)
    return (
        session.id,
        _first_message(found),
        str(session.plan.get("profile", "")),
        f"{len({turn.index for turn in found.turns}):,}",
        ", ".join(f"{name} ×{count}" for name, count in sorted(injected.items())) or "no noise acted",
        f"{sum(event.withheld for event in found.events):,}",
        _outcome(found) + (f" (void: {void[session.id]})" if session.id in void else ""),
    )


def _first_message(found: Trajectory) -> str:
    for turn in lay_out(found).turns:
        for message in turn.messages:
            if message.role == "user":
                text = " ".join(message.received.split())
                return text if len(text) <= _ASKED else f"{text[: _ASKED - 1]}…"
    return ""


def _outcome(found: Trajectory) -> str:
    if found.session.reward is not None:
        return f"reward {found.session.reward:g}"
    if not found.turns:
        return "no turn"
    last = found.turns[-1]
    if last.error is not None:
        whose = WHOSE.get(last.error.source.value, last.error.source.value)
        return f"failed: {whose}, {last.error.kind}"
    return "ended in a tool call" if last.finish_reason in ("tool_calls", "tool_use") else "answered"
