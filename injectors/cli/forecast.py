"""What a profile will do to conversations, in expected numbers: the mean over many seeds of what it does.

Nothing is estimated: each seed's session is decided as a gateway would decide it, as far as the conversation
tells. What an agent does otherwise because of noise (a call made again, say) isn't in a conversation that has
been.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from crosswind.injectors.cli.preview import preview
from crosswind.injectors.conversation import Conversation, ToolResult
from crosswind.injectors.engine.plan import NOISY, Assignment, Seed, make_plan
from crosswind.injectors.profiles.load import Profile


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A conversation with the number of its answers; `name` keys its draws."""

    name: str
    conversation: Conversation
    turns: int


@dataclass(slots=True)
class Counted:
    """One operator at one severity: sums over all sessions."""

    injected: int = 0
    withdrawn: int = 0
    sessions: int = 0
    """Sessions in which it injected anything."""
    reasons: Counter[str] = field(default_factory=Counter)
    """Why it was withdrawn."""


@dataclass(slots=True)
class Expectation:
    """What came of `sessions` sessions, conversations times seeds."""

    sessions: int = 0
    noisy: int = 0
    """Sessions with anything injected."""
    operators: dict[tuple[str, float], Counted] = field(default_factory=dict)

    @property
    def injected(self) -> float:
        """Injections a session, on average."""
        return sum(one.injected for one in self.operators.values()) / max(1, self.sessions)

    def take(self, profile: Profile, dialogue: Dialogue, seed: int, level: int | None) -> None:
        """Decide one session, and count it."""
        plan = make_plan(profile, Seed(seed, dialogue.name), Assignment(NOISY, level=level))
        self.sessions += 1
        for rule in plan.rules:
            self.operators.setdefault((rule.operator, rule.severity), Counted())
        acted = set()
        for one in preview(plan, dialogue.conversation, dialogue.turns):
            counted = self.operators[one.decision.operator, one.decision.severity]
            if one.after is None:
                counted.withdrawn += 1
                counted.reasons[one.note] += 1
            else:
                counted.injected += 1
                acted.add((one.decision.operator, one.decision.severity))
        for key in acted:
            self.operators[key].sessions += 1
        self.noisy += bool(acted)


def expect(
    profile: Profile, dialogues: Iterable[Dialogue], seeds: Sequence[int], level: int | None = None
) -> Expectation:
    """What the profile does to the conversations under these seeds. ProfileError for an unknown level."""
    found = Expectation()
    for dialogue in dialogues:
        for seed in seeds:
            found.take(profile, dialogue, seed, level)
    return found


def tools_of(dialogues: Iterable[Dialogue]) -> list[str]:
    """The tools that are declared or called in the conversations."""
    named: dict[str, None] = {}
    for one in dialogues:
        named.update(dict.fromkeys(tool.name for tool in one.conversation.tools))
        called = (item.call.name for item in one.conversation.items if isinstance(item, ToolResult))
        named.update(dict.fromkeys(called))
    return list(named)
