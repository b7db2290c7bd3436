"""Parts of a gateway that the configuration decides on: whether they are there, and what they are made of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog

from crosswind.gateway.config.settings import Settings
from crosswind.gateway.errors import ConfigurationError
from crosswind.gateway.http.connection_table import ConnectionTable, Plane
from crosswind.gateway.http.memory_budget import MemoryBudget
from crosswind.gateway.noise_model.generation import TextGenerator
from crosswind.gateway.noise_model.preparation import TextPreparation
from crosswind.gateway.protocols.codec import write_refusal
from crosswind.gateway.proxy.provider_ownership import ProviderOwnership
from crosswind.gateway.recorder.recorder import Recorder
from crosswind.gateway.sandbox.confinement import Confined
from crosswind.gateway.sessions.profiles import keep_first
from crosswind.gateway.telemetry.metrics import Metrics
from crosswind.gateway.trajectory.store import Store
from crosswind.injectors import registry
from crosswind.injectors.packs.load import OWN, PackError, read_folder, use_texts
from crosswind.injectors.profiles.expressions import LIMIT

_log = structlog.get_logger("crosswind.gateway")


def tell_late_search(pattern: str, times: int) -> None:
    """Log that an expression of a profile is slow, and when its rule ends."""
    left = LIMIT.failures - times
    then = f"{left} more, and its rule doesn't act any more" if left > 0 else "its rule doesn't act any more"
    _log.warning("a search for a profile's expression took too long", expression=pattern, then=then)


def make_connection_tables(settings: Settings) -> tuple[ConnectionTable, ConnectionTable]:
    """The connections of the data plane and of the control plane, with one budget of memory."""
    budget = MemoryBudget(settings.limits.bodies)
    data, control = (ConnectionTable(plane, settings.limits, settings.timeouts, budget) for plane in Plane)
    data.error_body = write_refusal
    return data, control


def build_ownership(settings: Settings, store: Store, recorder: Recorder) -> ProviderOwnership | None:
    """Who owns what the provider keeps; None where callers have no keys of ours."""
    if settings.auth != "keys":
        return None
    return ProviderOwnership(store, recorder, settings.durability_wait)


def build_preparation(
    settings: Settings, store: Store, recorder: Recorder, metrics: Metrics
) -> TextPreparation | None:
    """The texts that a model writes ahead; None without such a model."""
    writer = settings.noise_model
    return None if writer is None else TextPreparation(TextGenerator(writer, store, recorder, metrics))


def use_packs(settings: Settings, shared: Path | None = None, reading: int = 0) -> None:
    """Use the configuration's folder of phrase packs, as the first process that shares a folder read it in
    this reading of the configuration; without one, as it is now. Raises ConfigurationError.
    """
    kept = None if shared is None else shared / f"packs-{reading}"
    try:
        if settings.packs is None:
            return use_texts({})
        if kept is not None and kept.exists():
            return use_texts(json.loads(kept.read_text("utf-8")), settings.packs)
        texts = read_folder(settings.packs)
        use_texts(texts, settings.packs)
        if kept is not None:
            use_texts(json.loads(keep_first(kept, json.dumps(texts))), settings.packs)
    except PackError as error:
        raise ConfigurationError(str(error)) from None


@contextmanager
def trying_packs(settings: Settings, shared: Path | None, reading: int) -> Iterator[tuple[str, ...]]:
    """The same, for a block that may find that the rest of the configuration can't be used: if it raises, the
    packs of before are used again. Gives the folder if what is in it has changed.
    """
    before = OWN.texts, OWN.folder
    use_packs(settings, shared, reading)
    try:
        yield (str(settings.packs),) if settings.packs == before[1] and OWN.texts != before[0] else ()
    except BaseException:
        use_texts(*before)
        raise


def build_confinement(settings: Settings, metrics: Metrics) -> Confined | None:
    """The process of third-party operators; None without them. Raises ConfigurationError."""
    if not registry.has_third_parties():
        return None
    try:
        registry.operators()
    except registry.BrokenOperatorPackageError as error:
        raise ConfigurationError(str(error)) from error
    return Confined(
        settings.third_party,
        lambda operator, kind: metrics.operator_failures.labels(operator, kind).inc(),
        lambda operator: metrics.operators_off.labels(operator).set(1),
    )
