"""Count the noise that a profile will do to conversations, over many seeds.

A forecast is a mean: nothing is estimated, as far as the conversation tells. What an agent does differently
because of noise (a call made again, say) isn't in a conversation that is over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from crosswind.injectors.engine.dose import OperatorDose, find_places
from crosswind.injectors.engine.plan import NOISY, Assignment, CompiledRule, Plan, Seed
from crosswind.injectors.profiles.load import Profile
from crosswind.injectors.targets import ToolClass, Withheld
from crosswind.studies.conversations import RecordedConversation
from crosswind.studies.preview.events import preview_events


@dataclass(slots=True)
class Forecast:
    """The events of `sessions` sessions, conversations times seeds."""

    sessions: int = 0
    noisy: int = 0
    """Sessions with anything injected."""
    operators: dict[tuple[str, float], OperatorDose] = field(default_factory=dict)
    """By operator and severity, over all sessions."""
    reasons: dict[tuple[str, float], Counter[str]] = field(default_factory=dict)
    """Why it was withheld."""
    unknown_tools: set[str] = field(default_factory=set)
    """Tools from which faults were withheld, since nothing says what a call of them does."""

    @property
    def injected(self) -> float:
        """Injections a session, on average."""
        return sum(one.injected for one in self.operators.values()) / max(1, self.sessions)

    def add_session(
        self,
        profile: Profile,
        recorded: RecordedConversation,
        seed: int,
        level: int | None,
        declared: Sequence[Mapping[str, ToolClass]],
    ) -> None:
        """Decide one session, and count its events."""
        tables = *declared, profile.tool_classes, recorded.tool_classes
        plan = recorded.make_plan(profile, Seed(seed, recorded.name), Assignment(NOISY, level=level), tables)
        self.sessions += 1
        places = find_places(plan, recorded.items, recorded.conversation.tools, recorded.turns)
        for key, rules in _rules_by_dose(plan).items():
            eligible = sum(places.get(rule.name, 0) for rule in rules)
            self.operators[key] = self.operators.get(key, OperatorDose()) + OperatorDose(1, eligible)
        acted = set()
        for one in preview_events(plan, recorded):
            key = one.decision.operator, one.decision.severity
            if one.after is None:
                self.operators[key] += OperatorDose(withheld=1)
                self.reasons.setdefault(key, Counter())[one.note] += 1
                if one.withheld is Withheld.TOOL_CLASS and one.tool_class == ToolClass.UNKNOWN and one.tool:
                    self.unknown_tools.add(one.tool)
            else:
                self.operators[key] += OperatorDose(injected=1, exposed=int(key not in acted))
                acted.add(key)
        self.noisy += bool(acted)


def _rules_by_dose(plan: Plan) -> dict[tuple[str, float], list[CompiledRule]]:
    found: dict[tuple[str, float], list[CompiledRule]] = {}
    for rule in plan.rules:
        found.setdefault((rule.operator, rule.severity), []).append(rule)
    return found


def forecast(
    profile: Profile,
    conversations: Iterable[RecordedConversation],
    seeds: Sequence[int],
    level: int | None = None,
    declared: Sequence[Mapping[str, ToolClass]] = (),
) -> Forecast:
    """What the profile does to the conversations under these seeds. `declared` is what a gateway's
    configuration says of tools, the strongest first. ProfileError for an unknown level."""
    found = Forecast()
    for recorded in conversations:
        for seed in seeds:
            found.add_session(profile, recorded, seed, level, declared)
    return found
