"""The curriculum's state as data, and which noise a rollout of a group gets under it.

NoisyAgent (arXiv 2605.27209, section 3.2 and appendix A.5): a share rho of a group's rollouts is noisy, each
noise type has a level and a share of its own. ToolRL-DR's Mixed recipe adds `group_share`: the share of
groups that are noisy at all. `assign` is pure: any worker gives the same answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, Self

import msgspec

from crosswind.injectors.engine.plan import CLEAN, NOISY, Assignment
from crosswind.injectors.engine.stored_data import StoredData
from crosswind.injectors.registry import nearest
from crosswind.injectors.seeded_random import SeededRandom

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


@dataclass(frozen=True, slots=True)
class TypeState:
    """One noise type: its level in the profile, and its share of the noisy rollouts, relative to the other
    types'."""

    level: Annotated[int, msgspec.Meta(ge=0)]
    share: Annotated[float, msgspec.Meta(ge=0)]


@dataclass(frozen=True)  # No slots: `super()` does not work in a class that they replace.
class Curriculum(StoredData):
    """The dose of the next sessions. `types` is keyed by operator; empty: the profile decides on type and
    level."""

    stored_as: ClassVar = "curriculum"

    version: int
    profile: str
    rho: Share = 0.0
    """Share of noisy rollouts within a noisy group (NoisyAgent caps it at 0.5)."""
    group_share: Share = 1.0
    advantages: Literal["per_arm", "group"] = "per_arm"
    seed_scope: Literal["session", "group", "task"] = "session"
    at_least_one: bool = False
    """Whether a noisy rollout meets its type at the first place that it has."""
    types_per_group: Literal[1, "all"] = "all"
    """`all`: the noisy rollouts of a group have the types by their shares. 1: they all have one, which is
    drawn by the shares."""
    types: Mapping[str, TypeState] = field(default_factory=dict)
    assignment: Literal["count", "coin"] = "count"
    """`count`: rho of a group's rollouts are noisy, 0 or at least 2. `coin`: each is with probability rho."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The curriculum that the JSON data describe. ValueError naming the field."""
        known = list(cls.__dataclass_fields__)
        for name in sorted(set(data).difference(known)):
            raise ValueError(f"curriculum: unknown field {name!r}; {nearest(str(name), known)}")
        return super().from_json(data)


def assign(
    curriculum: Curriculum, *, seed: int, group_id: str, rollout_index: int, group_size: int
) -> Assignment:
    """The arm, noise type and level of one rollout. ValueError where the index isn't in the group.

    By `count` the group's noisy rollouts have the mean rho x group_size over groups and are 0 or at least 2,
    since an arm of one has no advantage; a group of fewer than 2 is clean. Types of level 0 or share 0 aren't
    given out.
    """
    if not 0 <= rollout_index < group_size:
        raise ValueError(
            f"rollout_index {rollout_index} isn't in a group of group_size {group_size}: use 0 to size - 1"
        )
    rng = SeededRandom(f"curriculum|{seed}|{curriculum.version}|{group_id}")
    active = {name: state for name, state in curriculum.types.items() if state.level > 0 and state.share > 0}
    in_noisy_group = rng.chance(curriculum.group_share)
    if curriculum.assignment == "coin":
        noisy = [index for index in range(group_size) if rng.chance(curriculum.rho)]
        order = noisy + [index for index in range(group_size) if index not in noisy]
        count = len(noisy)
    else:
        count = _noisy_count(curriculum.rho * group_size, group_size, rng)
        order = rng.shuffled(range(group_size))
    place = order.index(rollout_index)
    if not in_noisy_group or place >= count or (curriculum.types and not active):
        return Assignment(CLEAN)
    must = curriculum.at_least_one
    if not active:
        return Assignment(NOISY, at_least_one=must)
    # One type for all of a group is the first of one point on the shares.
    alone = curriculum.types_per_group == 1
    name = _systematic(active, 0 if alone else place, 1 if alone else count, rng.uniform())
    return Assignment(NOISY, name, active[name].level, at_least_one=must)


def _noisy_count(mean: float, group_size: int, rng: SeededRandom) -> int:
    """A whole number with the given mean, never 1. One draw is consumed."""
    point = rng.uniform()
    if group_size < 2:
        return 0
    if mean < 2:
        return 2 if point < mean / 2 else 0
    whole = int(mean)
    return whole + (point < mean - whole)


def _systematic(types: Mapping[str, TypeState], place: int, count: int, offset: float) -> str:
    """The type of the place-th of `count` noisy rollouts: evenly spaced points on the shares laid end to
    end."""
    names = sorted(types)
    point = (place + offset) / count * sum(types[name].share for name in names)
    for name in names:
        point -= types[name].share
        if point < 0:
            return name
    return names[-1]
