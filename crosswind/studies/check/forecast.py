"""Count the noise that a profile will do to conversations, over many seeds.

A forecast is a mean: nothing is estimated, as far as the conversation tells. What an agent does differently
because of noise (a call made again, say) isn't in a conversation that is over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from crosswind.injectors.conversation import ToolResult
from crosswind.injectors.engine.plan import NOISY, Assignment, Seed, make_plan
from crosswind.injectors.profiles.load import Profile
from crosswind.injectors.targets import ToolClass, Withheld
from crosswind.studies.conversations import RecordedConversation
from crosswind.studies.preview.events import preview_events


@dataclass(slots=True)
class OperatorTally:
    """One operator at one severity: sums over all sessions."""

    injected: int = 0
    withheld: int = 0
    sessions: int = 0
    """Sessions in which it injected anything."""
    reasons: Counter[str] = field(default_factory=Counter)
    """Why it was withheld."""


@dataclass(slots=True)
class Forecast:
    """The events of `sessions` sessions, conversations times seeds."""

    sessions: int = 0
    noisy: int = 0
    """Sessions with anything injected."""
    operators: dict[tuple[str, float], OperatorTally] = field(default_factory=dict)
    unknown_tools: set[str] = field(default_factory=set)
    """Tools from which faults were withheld, since nothing says what a call of them does."""

    @property
    def injected(self) -> float:
        """Injections a session, on average."""
        return sum(one.injected for one in self.operators.values()) / max(1, self.sessions)

    def add_session(
        self, profile: Profile, recorded: RecordedConversation, seed: int, level: int | None
    ) -> None:
        """Decide one session, and count its events."""
        plan = make_plan(
            profile,
            Seed(seed, recorded.name),
            Assignment(NOISY, level=level),
            tool_classes=(profile.tool_classes, recorded.tool_classes),
        )
        self.sessions += 1
        for rule in plan.rules:
            self.operators.setdefault((rule.operator, rule.severity), OperatorTally())
        acted = set()
        for one in preview_events(plan, recorded):
            key = one.decision.operator, one.decision.severity
            if one.after is None:
                self.operators[key].withheld += 1
                self.operators[key].reasons[one.note] += 1
                if one.withheld is Withheld.TOOL_CLASS and one.tool_class == ToolClass.UNKNOWN and one.tool:
                    self.unknown_tools.add(one.tool)
            else:
                self.operators[key].injected += 1
                acted.add(key)
        for key in acted:
            self.operators[key].sessions += 1
        self.noisy += bool(acted)


def forecast(
    profile: Profile,
    conversations: Iterable[RecordedConversation],
    seeds: Sequence[int],
    level: int | None = None,
) -> Forecast:
    """What the profile does to the conversations under these seeds. ProfileError for an unknown level."""
    found = Forecast()
    for recorded in conversations:
        for seed in seeds:
            found.add_session(profile, recorded, seed, level)
    return found


def tools_in(conversations: Iterable[RecordedConversation]) -> list[str]:
    """The tools that are declared or called in the conversations."""
    names: list[str] = []
    for one in conversations:
        names += (tool.name for tool in one.conversation.tools)
        names += (item.call.name for item in one.conversation.items if isinstance(item, ToolResult))
    return list(dict.fromkeys(names))
