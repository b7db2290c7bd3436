"""What an operator is, and the decorator that registers one.

Draw and apply are apart: `draw` consumes the random stream, `apply` is a pure function of the target and the
stored draw, so that a replay is exact. Probability, schedule and scope live in the profile around an
operator, never inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Protocol, TypeVar

from crosswind.injectors.conversation import Site
from crosswind.injectors.result_validation import check_draw, check_result
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result


class Operator(Protocol):
    """The extension point: one class, one file, found by the registry."""

    def draw(self, target: Any, rng: SeededRandom, severity: float) -> Draw | None:
        """Decide. None: there is nothing to do here. Severity is in (0, 1]; the class says what it means,
        in units."""
        ...

    def apply(self, target: Any, draw: Draw) -> Result:
        """Carry out a stored draw. Pure."""
        ...


@dataclass(frozen=True, slots=True)
class Registered:
    name: str
    site: Site
    recovery: Recovery
    implementation: Operator
    aliases: tuple[str, ...] = ()
    source: str = ""
    fault: bool = False
    """Whether it destroys the answer: then the bounds on faults apply. Follows from `effect`, if that is
    given."""
    documentation: str = field(default="", compare=False)
    origin: str = ""
    """The third party's package that it comes from; empty: ours."""
    effect: Effect = Effect.ADDS
    """What it does to the answer: which classes of tools allow it."""
    version: int = 1
    """Rises when the same seed comes to draw something else."""
    needs_tools: bool = False
    """Whether it acts on values that fill declared tools' parameters, and on nothing where none are."""

    def __post_init__(self) -> None:
        if self.fault and not self.effect.destroys:
            object.__setattr__(self, "effect", Effect.REPLACES)
        object.__setattr__(self, "fault", self.effect.destroys)

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of a rule, with their defaults: the fields of the operator, if it is a dataclass."""
        kind = type(self.implementation)
        return {one.name: one.default for one in fields(kind)} if is_dataclass(kind) else {}

    def with_options(self, options: Mapping[str, Any]) -> Operator:
        """The operator under a rule's options. Raises what it raises where they don't fit."""
        return type(self.implementation)(**options) if options else self.implementation

    def draw(
        self, options: Mapping[str, Any], target: Any, rng: SeededRandom, severity: float
    ) -> Draw | None:
        """The operator's draw under a rule's options. What they decide is in the draw: `apply` needs none.

        Raises what the operator raises; a third party's OperatorFailed, too."""
        if self.origin and (sandbox := current_sandbox()) is not None:
            return sandbox.draw(self, options, target, rng, severity)
        draw = self.with_options(options).draw(target, rng, severity)
        return draw if not self.origin else check_draw(self.name, draw)

    def apply(self, target: Any, draw: Draw) -> Result:
        """Carry out a stored draw. Raises as `draw` does."""
        if self.origin and (sandbox := current_sandbox()) is not None:
            return sandbox.apply(self, target, draw)
        result = self.implementation.apply(target, draw)
        return result if not self.origin else check_result(self.name, self.site, result)


class Sandbox(Protocol):
    """Where third parties' operators run, if not in this process. Both methods raise OperatorFailed."""

    def draw(
        self, entry: Registered, options: Mapping[str, Any], target: Any, rng: SeededRandom, severity: float
    ) -> Draw | None: ...

    def apply(self, entry: Registered, target: Any, draw: Draw) -> Result: ...


_sandbox: ContextVar[Sandbox | None] = ContextVar("sandbox", default=None)


def current_sandbox() -> Sandbox | None:
    """The sandbox of third parties' operators; None: they run in this process."""
    return _sandbox.get()


@contextmanager
def use_sandbox(sandbox: Sandbox) -> Iterator[None]:
    """Run third parties' operators in this sandbox within the block, in this context only."""
    token = _sandbox.set(sandbox)
    try:
        yield
    finally:
        _sandbox.reset(token)


OURS = __name__.partition(".")[0]
T = TypeVar("T", bound=type)
_registered: dict[str, Registered] = {}


def operator(
    name: str,
    *,
    site: Site,
    recovery: Recovery,
    aliases: tuple[str, ...] = (),
    source: str = "",
    effect: Effect = Effect.ADDS,
    fault: bool = False,
    version: int = 1,
    needs_tools: bool = False,
) -> Callable[[T], T]:
    """Register the decorated class under its public name.

    `effect` says what it does to the answer that it acts on; `fault=True` is short for `Effect.REPLACES`.
    `version` rises when the same seed comes to draw something else. `needs_tools=True` is for one that
    acts on values that fill the declared tools' parameters.
    """

    def decorate(cls: T) -> T:
        if version < 1:
            raise ValueError(f"operator {name!r}: version {version} is wrong: versions begin with 1")
        for method, takes in (("draw", "target, rng, severity"), ("apply", "target, draw")):
            if not callable(getattr(cls, method, None)):
                raise TypeError(f"operator {name!r}: {cls.__qualname__} lacks {method}(self, {takes})")
        documentation = (cls.__doc__ or "").strip()
        given = Effect.REPLACES if fault else effect
        entry = Registered(name, site, recovery, cls(), aliases, source, documentation=documentation)
        register(replace(entry, effect=given, version=version, needs_tools=needs_tools))
        return cls

    return decorate


def register(entry: Registered) -> None:
    """Add an operator. A second operator of the same name is an error."""
    kind = type(entry.implementation)
    if entry.name in _registered:
        raise ValueError(
            f"operator {entry.name!r} is registered twice: rename {kind.__module__}.{kind.__qualname__}"
        )
    package = kind.__module__.partition(".")[0]
    _registered[entry.name] = replace(entry, origin="" if package == OURS else package)


def registered_operators() -> Mapping[str, Registered]:
    """The operators of the modules imported so far, by name. `crosswind.injectors.registry` imports all of
    them first.
    """
    return _registered
