"""Why a preview shows no noise, and which seed shows some."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from crosswind.injectors import registry
from crosswind.injectors.conversation import Site
from crosswind.injectors.engine.plan import Plan
from crosswind.injectors.profiles.load import Profile
from crosswind.injectors.wording import Texts
from crosswind.studies.conversations import RecordedConversation
from crosswind.studies.preview.events import PreviewEvent, preview_events

TRIED = 30
"""Seeds that are tried for one that acts."""


@dataclass(frozen=True, slots=True)
class Calm:
    """A preview in which nothing acted."""

    plans: Sequence[Plan]
    """Those of all seeds that were tried; under the last of them something acts, or under none."""
    acts: bool
    declares_tools: bool

    def explain(self, profile: Profile) -> Iterator[str]:
        """What to do about it, line by line."""
        if not profile.rules:
            return
        if self.acts:
            yield f"--seed {self.plans[-1].seed} gives noise."
            return
        level = "; another --level may" if profile.levels else ""
        yield f"No draw of {len(self.plans)} seeds gives noise here{level}."
        if not self.declares_tools and (named := self._find_those_of_tools()):
            needs = "needs" if len(named) == 1 else "need"
            yield (
                f"{', '.join(named)} {needs} declared tools, and CONVERSATION has none: "
                'give a request\'s body, an object with "messages" and "tools".'
            )

    def _find_those_of_tools(self) -> Sequence[str]:
        names = dict.fromkeys(rule.operator for plan in self.plans for rule in plan.rules)
        entries = (registry.operators()[name] for name in names)
        return [one.name for one in entries if one.needs_tools or one.site is Site.TOOL_SCHEMA]


def find_noise(
    recorded: RecordedConversation,
    drawn: Sequence[tuple[Plan, Sequence[PreviewEvent]]],
    others: Iterable[Plan],
    texts: Texts | None,
) -> Calm | None:
    """Look on under other seeds where nothing acted in what was drawn; None where something did."""
    if any(one.after is not None for _, events in drawn for one in events):
        return None
    plans = [plan for plan, _ in drawn]
    declares = bool(recorded.conversation.tools)
    for plan in others:
        plans.append(plan)
        if any(one.after is not None for one in preview_events(plan, recorded, texts=texts)):
            return Calm(plans, acts=True, declares_tools=declares)
    return Calm(plans, acts=False, declares_tools=declares)
