"""Texts that a gateway's model has written so far, read from its store: for previews of noise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from crosswind.gateway.config.noise_model import NoiseModel
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
def open_stored_texts(model: NoiseModel, url: str) -> Iterator[Texts]:
    """The texts that a model wrote for the gateway with this store. ValueError where there is none."""
    try:
        store = open_store(url, create=False)
    except StoreError as error:
        raise ValueError(str(error)) from error
    with closing(store):
        yield StoredTexts(model, store)
