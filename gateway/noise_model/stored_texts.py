"""What a gateway's model wrote so far, out of its store: for looking at noise where no gateway runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from crosswind.gateway.config.noise_model import NoiseModel
from crosswind.gateway.errors import ConfigurationError
from crosswind.gateway.noise_model.eligibility import seen_by_judge, usable, writes_for
from crosswind.gateway.trajectory.store import Store, StoreError, open_store
from crosswind.injectors.wording import Given, Prompt, Texts


class Stored:
    """The `Texts` of a model in a store. What isn't there is done by rule."""

    def __init__(self, model: NoiseModel, store: Store) -> None:
        self._model = model
        self._store = store

    def get(self, slot: str, prompt: Prompt) -> Given | None:
        if not writes_for(self._model, prompt.operator):
            return None
        key = prompt.key(self._model.model)
        text = self._store.generated([key]).get(key)
        if text is None or not seen_by_judge(self._model, text):
            return Given(None, why="no session has had the model write it yet")
        return usable(self._model, text)


@contextmanager
def stored(config: Path) -> Iterator[Texts]:
    """The texts of the gateway that is configured so. ValueError where there are none to be had."""
    from crosswind.gateway.config.loading import load

    try:
        settings = load(config, {})
        if settings.noise_model is None:
            raise ValueError(f"{config}: no noise_model is configured: add one, or leave the option out")
        store = open_store(settings.store, create=False)
    except (ConfigurationError, StoreError) as error:
        raise ValueError(str(error)) from error
    with closing(store):
        yield Stored(settings.noise_model, store)
