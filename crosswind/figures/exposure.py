"""Why noise didn't act, in words: what stands in the place of a figure that would be the clean one's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set

from crosswind.figures.attempts import Attempt

NOTHING = "nothing could be injected, because "


def leave_out_asleep(noisy: Sequence[Attempt]) -> list[Attempt]:
    """The noisy attempts without those under a profile of which none met noise: their success would be the
    clean one's. None are left where no noise acted at all."""
    awake = {one.profile for one in noisy if one.faults}
    return [one for one in noisy if one.profile in awake]


def explain_no_noise(attempts: Sequence[Attempt], operators: Set[str] | None = None) -> str:
    """Why none of these attempts met noise (of these operators), in one sentence without a full stop."""
    reasons: Counter[str] = Counter()
    for attempt in attempts:
        for one in attempt.withheld:
            if operators is None or one.operator in operators:
                reasons[one.reason] += one.count
    if reasons:
        (most, times), *others = reasons.most_common()
        if operators is not None:
            # How often stands in its table; operators with the same reason are told together.
            return f"{NOTHING}{_within(most)}"
        more = f", and {_times(sum(count for _, count in others))} for other reasons" if others else ""
        return f"{NOTHING}{_within(most)} ({_times(times)}{more})"
    if not any(attempt.turns for attempt in attempts):
        return f"{NOTHING}no request of these tasks came through the gateway"
    notes = Counter(note for attempt in attempts for note in attempt.no_noise)
    if notes:
        return f"{NOTHING}{_within(notes.most_common(1)[0][0])}"
    if not any(one.assigned for one in attempts):
        return f"{NOTHING}the sessions had a profile without rules"
    return _without_places(attempts, operators)


def _without_places(attempts: Sequence[Attempt], operators: Set[str] | None) -> str:
    places = [
        (name, count)
        for attempt in attempts
        for name, count in attempt.eligible.items()
        if operators is None or name in operators
    ]
    if places and not any(count is None or count for _, count in places):
        if all(name.startswith("tool.") for name, _ in places) and not any(
            one.tool_calls is None or one.tool_calls for one in attempts
        ):
            return f"{NOTHING}no attempt called a tool"
        return f"{NOTHING}there was no place that it acts at"
    return "nothing was injected: no draw fell on any of these attempts"


def _within(sentence: str) -> str:
    """A sentence as part of another one."""
    text = sentence.removeprefix("No noise: ").rstrip(".")
    if text.startswith("Withheld: "):
        return text.removeprefix("Withheld: ")  # It goes on in lower case, unless a name begins it.
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
