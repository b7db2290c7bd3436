"""NoisyAgent's noise scheduling: noise rises by the gap between clean and noisy success (§3.2, eq. 10; §A.5).

Two things raise noise. Each time clean success plateaus, the noise scale ρ rises by a fixed step, split
evenly over the types; the first time after a warm-up at the latest, since Δ has no data while ρ is 0. And a
type whose gap Δ = clean - noisy falls below θ rises by a level and a share of its own, unless too few of its
rollouts were exposed. ρ, the sum of the shares, never exceeds its cap. The paper prints θ = 0.05 and the cap
of 0.5; windows, steps and the number of levels are ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import msgspec

from crosswind.injectors.engine.curriculum import Curriculum, TypeState
from crosswind.trainer.config.settings import AdvantageScope, CurriculumSettings, GapSettings
from crosswind.trainer.curriculum.schedule import read_levels, schedule
from crosswind.trainer.curriculum.windows import Count, TypeWindow, find_clean, update_windows
from crosswind.trainer.rollouts.groups import Group


@dataclass(frozen=True, slots=True)
class GapState:
    """The scheduler's memory: JSON data both ways, kept in the checkpoint and in the store."""

    profile: str
    highest_level: int
    types: Mapping[str, TypeWindow]
    step: int = 0
    version: int = 1
    clean_success: tuple[float, ...] = ()
    """Clean success of each step since ρ last rose by a plateau."""

    @property
    def rho(self) -> float:
        return sum(window.share for window in self.types.values())

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> GapState:
        return msgspec.convert(data, GapState)


@schedule("gap")
class GapSchedule:
    """NoisyAgent's curriculum: `GapState` as a run goes on."""

    def __init__(self, settings: CurriculumSettings, stored: Mapping[str, Any] | None) -> None:
        self._settings = settings
        if stored:
            self.state = GapState.from_json(stored)
        else:
            operators, highest = read_levels(settings)
            self.state = begin(settings.profile, operators, highest, settings.gap)

    @property
    def version(self) -> int:
        return self.state.version

    @version.setter
    def version(self, version: int) -> None:
        self.state = replace(self.state, version=version)

    @property
    def rho(self) -> float:
        return self.state.rho

    @property
    def types(self) -> Mapping[str, TypeWindow]:
        return self.state.types

    def observe(self, groups: Sequence[Group]) -> list[str]:
        self.state, changes = advance(self.state, groups, self._settings.gap, self._settings.count)
        return changes

    def declare(self, advantages: AdvantageScope) -> Curriculum:
        return curriculum(self.state, self._settings, advantages)

    def to_json(self) -> dict[str, Any]:
        return self.state.to_json()


def begin(profile: str, noise_types: Iterable[str], highest_level: int, settings: GapSettings) -> GapState:
    """The state before training: every type at the start level, ρ = 0 unless there is no warm-up."""
    if settings.start_level > highest_level:
        raise ValueError(
            f"curriculum.gap.start_level: profile {profile!r} has levels 1 to {highest_level}, "
            f"not {settings.start_level}: use one of these"
        )
    types = {name: TypeWindow(settings.start_level) for name in sorted(noise_types)}
    return GapState(
        profile, highest_level, types if settings.warmup_steps else _raise_scale(types, settings, [])
    )


def advance(
    state: GapState, groups: Sequence[Group], settings: GapSettings, count: Count = "assigned"
) -> tuple[GapState, list[str]]:
    """Feed in one training step's groups. Returns the new state, and what changed, in words. Pure."""
    types = {
        name: update_windows(name, window, groups, settings, count) for name, window in state.types.items()
    }
    changes: list[str] = []
    types = _adapt(types, state.highest_level, settings, changes)
    history = state.clean_success + _clean_success(groups, settings)
    warm = state.rho == 0 and state.step + 1 >= settings.warmup_steps
    if warm or _plateau(history, settings):
        history = ()
        types = _raise_scale(types, settings, changes)
    reached = GapState(
        state.profile,
        state.highest_level,
        types,
        state.step + 1,
        state.version + bool(changes),
        history[-2 * settings.plateau_window :],
    )
    return reached, changes


def curriculum(state: GapState, settings: CurriculumSettings, advantages: AdvantageScope) -> Curriculum:
    """The curriculum by which the gateway plans new sessions."""
    return Curriculum(
        version=state.version,
        profile=state.profile,
        rho=state.rho,
        group_share=settings.group_share,
        advantages=advantages,
        seed_scope=settings.seed_scope,
        at_least_one=settings.at_least_one,
        types_per_group=settings.types_per_group,
        types={
            name: TypeState(level=window.level, share=window.share) for name, window in state.types.items()
        },
    )


def _clean_success(groups: Sequence[Group], settings: GapSettings) -> tuple[float, ...]:
    """Clean success of one step; nothing where it had no clean rollout."""
    clean = [solved for group in groups for solved in find_clean(group, settings.success_at)]
    return (sum(clean) / len(clean),) if clean else ()


def _adapt(
    types: Mapping[str, TypeWindow], highest: int, settings: GapSettings, changes: list[str]
) -> dict[str, TypeWindow]:
    """Raise each type that the policy is adapted to. Its windows start over: they describe the old level."""
    out = dict(types)
    for name, window in types.items():
        gap = window.gap
        if gap is None or window.rollouts < settings.minimum_rollouts:
            continue
        measured = gap.value if settings.gap_rule == "point" else gap.upper
        room = max(0.0, settings.rho_cap - sum(each.share for each in out.values()))
        level, share = window.level, window.share
        if measured < settings.theta and window.exposure.rate >= settings.minimum_exposure:
            level, share = min(level + 1, highest), share + min(settings.share_step, room)
        elif settings.lower_above is not None and gap.value > settings.lower_above:
            level = max(level - 1, settings.start_level)
        if (level, share) != (window.level, window.share):
            out[name] = TypeWindow(level, share, count=window.count)
            changes.append(
                f"{name}: gap {gap.value:+.3f}, level {window.level} to {level}, share {share:.3f}"
            )
    return out


def _plateau(history: tuple[float, ...], settings: GapSettings) -> bool:
    window = settings.plateau_window
    if len(history) < 2 * window:
        return False
    later, earlier = sum(history[-window:]) / window, sum(history[-2 * window : -window]) / window
    return later - earlier < settings.plateau_tolerance


def _raise_scale(
    types: Mapping[str, TypeWindow], settings: GapSettings, changes: list[str]
) -> dict[str, TypeWindow]:
    """ρ up by its step, or to its cap, in equal parts."""
    rho = sum(window.share for window in types.values())
    rise = settings.rho_step if rho or settings.rho_start is None else settings.rho_start
    step = min(rise, settings.rho_cap - rho)
    if step <= 1e-9 or not types:
        return dict(types)
    changes.append(f"rho {rho:.3f} to {rho + step:.3f}")
    return {name: replace(each, share=each.share + step / len(types)) for name, each in types.items()}
