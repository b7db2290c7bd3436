"""NoisyAgent's noise scheduling: noise rises by the gap between clean and noisy success (§3.2, eq. 10; §A.5).

Rollouts count in the arm that they were assigned (eq. 7 and 9). Not all of the noisy ones are exposed to
noise, so the difference as assigned is divided by the rate of exposure: Δ is what noise costs a rollout that
meets it.

Two things raise noise. Each time clean success plateaus, the noise scale ρ rises by a fixed step, split
evenly over the types; the first time after a warm-up at the latest, since Δ has no data while ρ is 0. And a
type whose gap Δ = clean - noisy falls below θ rises by a level and a share of its own, unless too few of its
rollouts were exposed. ρ, the sum of the shares, never exceeds its cap. The paper prints θ = 0.05 and the cap
of 0.5; windows, steps and the number of levels are ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import sqrt
from typing import Any, Literal

import msgspec

from crosswind.figures.intervals import Z_95
from crosswind.gateway.trajectory.record import Arm
from crosswind.injectors.engine.curriculum import Curriculum, TypeState
from crosswind.trainer.config.settings import AdvantageScope, CurriculumSettings, GapSettings
from crosswind.trainer.rollouts.groups import Group

Count = Literal["assigned", "exposed"]
"""Which rollouts are a type's: those that were assigned it, or those that met it."""


@dataclass(frozen=True, slots=True)
class Window:
    """Successes and rollouts, decayed step by step."""

    successes: float = 0.0
    rollouts: float = 0.0

    def add(self, successes: int, rollouts: int, decay: float) -> Window:
        return Window(self.successes * decay + successes, self.rollouts * decay + rollouts)

    @property
    def rate(self) -> float:
        return self.successes / self.rollouts if self.rollouts else 0.0

    @property
    def variance(self) -> float:
        """Of the rate, by a binomial with one success and one failure added, so that it never is 0."""
        smoothed = (self.successes + 1.0) / (self.rollouts + 2.0)
        return smoothed * (1.0 - smoothed) / max(self.rollouts, 1.0)


@dataclass(frozen=True, slots=True)
class Gap:
    """Δ of eq. 10: clean success less noisy success, with its standard error."""

    value: float
    error: float

    @property
    def upper(self) -> float:
        """The one-sided 95 % upper bound, by the normal approximation."""
        return self.value + 1.645 * self.error

    @property
    def interval(self) -> tuple[float, float]:
        """The two-sided 95 % interval, by the normal approximation."""
        return self.value - Z_95 * self.error, self.value + Z_95 * self.error

    def divided_by(self, rate: Window) -> Gap | None:
        """Δ of those who were exposed, where the others are as clean ones; None where nobody was.

        By the delta method. That the exposed succeed less often makes the error smaller than this.
        """
        if not rate.successes:
            return None
        variance = (self.error**2 + (self.value / rate.rate) ** 2 * rate.variance) / rate.rate**2
        return Gap(self.value / rate.rate, sqrt(variance))


@dataclass(frozen=True, slots=True)
class TypeWindow:
    """One noise type: its place in the curriculum, and the success of its rollouts and of their clean
    siblings.
    """

    level: int
    share: float = 0.0
    clean: Window = Window()
    noisy: Window = Window()
    """Of the rollouts that were assigned the type; of those that met it where `count` is `exposed`."""
    rollouts: int = 0
    """The rollouts in `noisy`, undecayed."""
    exposure: Window = Window()
    """Of the rollouts that were assigned the type, those that met it."""
    count: Count = "assigned"

    @property
    def counted_gap(self) -> Gap | None:
        """Δ over groups that held this type, as its rollouts are counted; None without data."""
        if not self.noisy.rollouts or not self.clean.rollouts:
            return None
        error = sqrt(self.clean.variance + self.noisy.variance)
        return Gap(self.clean.rate - self.noisy.rate, error)

    @property
    def gap(self) -> Gap | None:
        """Δ of the rollouts that met the type; None without data."""
        if self.count == "exposed" or (counted := self.counted_gap) is None:
            return self.counted_gap
        return counted.divided_by(self.exposure)


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


def begin(profile: str, noise_types: Iterable[str], highest_level: int, settings: GapSettings) -> GapState:
    """The state before training: every type at the start level, ρ = 0 unless there is no warm-up."""
    if settings.start_level > highest_level:
        raise ValueError(
            f"curriculum.start_level: profile {profile!r} has levels 1 to {highest_level}, "
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
        name: _update_windows(name, window, groups, settings, count) for name, window in state.types.items()
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
    clean = [solved for group in groups for solved in _find_clean(group, settings)]
    return (sum(clean) / len(clean),) if clean else ()


def _find_clean(group: Group, settings: GapSettings) -> list[bool]:
    """Whether each clean rollout of a group succeeded."""
    return [one.reward >= settings.success_at for one in group.rollouts if one.arm is Arm.CLEAN]


def _update_windows(
    name: str, window: TypeWindow, groups: Sequence[Group], settings: GapSettings, count: Count
) -> TypeWindow:
    """The type's windows after a step: its rollouts at the present level, and the clean ones of the same
    groups.
    """
    noisy: list[bool] = []
    clean: list[bool] = []
    exposed: list[bool] = []
    for group in groups:
        own = [one for one in group.rollouts if (one.noise_type, one.level) == (name, window.level)]
        exposed += [one.exposed for one in own]
        counted = [one for one in own if one.exposed or count == "assigned"]
        if counted:
            noisy += [one.reward >= settings.success_at for one in counted]
            clean += _find_clean(group, settings)
    return TypeWindow(
        window.level,
        window.share,
        window.clean.add(sum(clean), len(clean), settings.decay),
        window.noisy.add(sum(noisy), len(noisy), settings.decay),
        window.rollouts + len(noisy),
        window.exposure.add(sum(exposed), len(exposed), settings.decay),
        count,
    )


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
