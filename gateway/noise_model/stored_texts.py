"""Texts that a gateway's model has written so far, read from its store: for previews of noise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from crosswind.gateway.config.noise_model import NoiseModel
from crosswind.gateway.errors import ConfigurationError
from crosswind.gateway.noise_model.generation import is_judged, offer_text, writes_for
from crosswind.gateway.trajectory.store import Store, StoreError, open_store
from crosswind.injectors.wording import Prompt, Texts, WrittenText


class StoredTexts:
    """A model's `Texts` in a store. Operators go by rule where one is missing."""

    def __init__(self, model: NoiseModel, store: Store) -> None:
        self._model = model
        self._store = store

    def get(self, slot: str, prompt: Prompt) -> WrittenText | None:
        if not writes_for(self._model, prompt.operator):
            return None
        key = prompt.key(self._model.model)
        text = self._store.generated_texts([key]).get(key)
        if text is None or not is_judged(self._model, text):
            return WrittenText(None, why="no session has had the model write it yet")
        return offer_text(self._model, text)


@contextmanager
def open_stored_texts(config: Path) -> Iterator[Texts]:
    """The texts of the gateway with this configuration. ValueError where it has no model or no store."""
    from crosswind.gateway.config.loading import load

    try:
        settings = load(config, {})
        if settings.noise_model is None:
            raise ValueError(f"{config}: no noise_model is configured: add one, or leave the option out")
        store = open_store(settings.store, create=False)
    except (ConfigurationError, StoreError) as error:
        raise ValueError(str(error)) from error
    with closing(store):
        yield StoredTexts(settings.noise_model, store)
