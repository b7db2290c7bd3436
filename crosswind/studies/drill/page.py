"""What a drill did: drilled sessions against the others that traffic opened meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec

from crosswind.figures.attempts import Arm, Attempt, Void
from crosswind.figures.exposure import NOTHING, explain_no_noise
from crosswind.figures.figures import measure
from crosswind.gateway.counts import count
from crosswind.gateway.sessions.drills import DRILLED, NO, YES
from crosswind.gateway.trajectory.outcomes import NoiseEvent, SessionOutcome, Withholding
from crosswind.studies.attempts import read_attempts, with_labels
from crosswind.studies.components import kind_of
from crosswind.studies.drop.sections import Section, describe

_ARMS = {Arm.NOISY: with_labels({DRILLED: YES}), Arm.CLEAN: with_labels({DRILLED: NO})}
_NAMES = {Arm.NOISY: "drilled", Arm.CLEAN: "others"}


@dataclass(frozen=True, slots=True)
class DrillRecord:
    """The sessions of a drill as the control plane gives them, read like a store."""

    sessions: Sequence[SessionOutcome]
    events: Sequence[NoiseEvent]
    withheld: Sequence[Withholding]

    @staticmethod
    def of(given: Mapping[str, Any]) -> DrillRecord:
        return DrillRecord(
            msgspec.convert(given["outcomes"], list[SessionOutcome]),
            msgspec.convert(given["events"], list[NoiseEvent]),
            msgspec.convert(given["withheld"], list[Withholding]),
        )

    def outcomes(self) -> Sequence[SessionOutcome]:
        return self.sessions

    def noise_events(self) -> Sequence[NoiseEvent]:
        return self.events

    def withholdings(self) -> Sequence[Withholding]:
        return self.withheld

    def trajectory(self, session_id: str) -> None:
        """Bodies stay in the gateway's store."""


def describe_drill(
    drill: Mapping[str, Any], record: DrillRecord
) -> tuple[list[Section], dict[str, Any], tuple[Attempt, ...]]:
    """The sections of a drill's page, its figures and its attempts."""
    attempts = read_attempts(record, arms=_ARMS, read_in_full=0).attempts
    figures = measure(attempts, kind_of)
    sections = [
        Section("The drill", lines=_tell(drill, attempts)),
        _traffic_section(attempts),
    ]
    if any(one.success is not None for one in attempts):
        sections += describe(figures)
    else:
        sections += [one for one in describe(figures) if one.title == "Noise that did not act"]
    return sections, {"drill": dict(drill), **figures.to_json()}, attempts


def _tell(drill: Mapping[str, Any], attempts: Sequence[Attempt]) -> tuple[str, ...]:
    """What was drilled, when, and why it ended, in sentences."""
    drilled = [one for one in attempts if one.arm is Arm.NOISY]
    began, ended = (_clock(drill[name]) for name in ("began_us", "ended_us"))
    share = f"{100 * drill['share']:g} %"
    lines = [
        f"Drill {drill['id']}: {drill['profile']} on {share} of new sessions, from {began} to {ended}.",
        f"Begun by {drill['began_by']}. Ended by {drill['ended_by']}: {drill['reason']}.",
    ]
    if not drilled:
        none = f"of {count(len(attempts), 'session')} none was drawn"
        lines.append(f"N{NOTHING[1:]}{none if attempts else 'traffic opened no session'}.")
    elif not any(one.faults for one in drilled):
        reason = explain_no_noise(drilled)
        lines.append(f"{reason[:1].upper()}{reason[1:]}.")
    elif not any(one.success is not None for one in attempts):
        lines.append(
            "No session has a reward, so that success can't be told. "
            f"`crosswind compare STORE STORE --only drill={drill['id']} --before {DRILLED}={NO} "
            f"--after {DRILLED}={YES}` tells it once there are rewards."
        )
    return tuple(lines)


def _clock(at_us: int) -> str:
    return datetime.fromtimestamp(at_us / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _traffic_section(attempts: Sequence[Attempt]) -> Section:
    rows = []
    for arm, name in _NAMES.items():
        found = [one for one in attempts if one.arm is arm]
        count = len(found) or 1
        rows.append(
            (
                name,
                f"{len(found):,}",
                f"{sum(bool(one.faults) for one in found):,}",
                f"{sum(len(one.faults) for one in found):,}",
                f"{sum(each.count for one in found for each in one.withheld):,}",
                f"{sum(one.void in (Void.UPSTREAM, Void.GATEWAY) for one in found):,}",
                f"{sum(one.success is not None for one in found):,}",
                f"{sum(one.turns for one in found) / count:.1f}" if found else "–",
                f"{sum(one.seconds or 0.0 for one in found) / count:.1f}" if found else "–",
            )
        )
    heads = ("", "sessions", "exposed", "injected", "withheld", "failed", "rewarded", "turns", "seconds")
    about = (
        "Of the sessions that traffic opened during the drill. Exposed: noise acted. Failed: ended in a "
        "failure of the upstream or the gateway, not an injected one. Turns and seconds are means."
    )
    return Section("Traffic", heads, tuple(rows), about)
