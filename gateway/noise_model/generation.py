"""Get a model's texts: from memory, from the store, or written now, never the same one twice at a time.

A call continues when its request no longer waits for it: the text is kept for the next request. A model that
keeps failing is not asked for a while.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING

import structlog

from crosswind.gateway.clock import now_us
from crosswind.gateway.config.noise_model import NoiseModel
from crosswind.gateway.noise_model.chat_model import ModelFailed, ask_model, open_client, score_text
from crosswind.gateway.recorder.recorder import Recorder
from crosswind.gateway.sessions.session import LiveSession
from crosswind.gateway.telemetry.metrics import Metrics
from crosswind.gateway.trajectory.record import GeneratedText
from crosswind.gateway.trajectory.store import Store, StoreError
from crosswind.injectors.wording import Prompt, WrittenText

if TYPE_CHECKING:
    import httpx

_log = structlog.get_logger("crosswind.language")

REMEMBERED = 4096
"""How many texts are kept in memory."""

Written = GeneratedText | str
"""A text, or why there is none."""


def writes_for(model: NoiseModel, operator: str) -> bool:
    return any(fnmatchcase(operator, pattern) for pattern in model.operators)


def is_judged(model: NoiseModel, text: GeneratedText) -> bool:
    return model.judge is None or text.score is not None


def offer_text(model: NoiseModel, text: GeneratedText) -> WrittenText:
    """What operators get of a text: nothing that the judge refused."""
    if model.judge is not None and text.score is not None and text.score < model.judge.least:
        why = f"the judge gave {text.score:g} of 5, where {model.judge.least:g} is the least"
        return WrittenText(None, why=why)
    return WrittenText(text.text, text.model)


class TextGenerator:
    """Has the configured model write texts. It owns the calls that are running."""

    def __init__(self, model: NoiseModel, store: Store, recorder: Recorder, metrics: Metrics) -> None:
        self.model = model
        self._store = store
        self._recorder = recorder
        self._metrics = metrics
        self._free = asyncio.Semaphore(model.concurrency)
        self._known: OrderedDict[str, GeneratedText] = OrderedDict()
        self._running: dict[str, asyncio.Task[Written]] = {}
        self._http: httpx.AsyncClient | None = None
        self._failures = 0
        self._paused_until = 0.0

    async def get(
        self, prompts: Mapping[str, Prompt], session: LiveSession, wait_s: float
    ) -> dict[str, Written]:
        """The text under each key, as far as it is there within `wait_s` seconds; the calls continue.

        New texts are stored under the session.
        """
        begun = await self.begin(prompts, session)
        if begun and wait_s > 0:
            await asyncio.wait(begun.values(), timeout=wait_s)
        late = f"the model took more than {self.model.wait:g} s" if self.model.wait else "it wasn't at hand"
        outcomes = {key: _outcome(task) if task.done() else late for key, task in begun.items()}
        return {key: outcomes[key] if key in outcomes else self._known[key] for key in prompts}

    async def begin(
        self, prompts: Mapping[str, Prompt], session: LiveSession
    ) -> dict[str, asyncio.Task[Written]]:
        """Start the calls for unknown texts; gives those that are running for them."""
        unknown = [key for key in prompts if not self._is_usable(self._known.get(key))]
        stored = await self._load(unknown) if unknown else {}
        begun: dict[str, asyncio.Task[Written]] = {}
        for key in unknown:
            if self._is_usable(self._known.get(key)):
                continue
            task = self._running.get(key)
            if task is None:
                writing = self._write(key, prompts[key], stored.get(key), session)
                task = self._running[key] = asyncio.create_task(writing)
                task.add_done_callback(partial(self._over, key))
            begun[key] = task
        return begun

    def _over(self, key: str, _: asyncio.Task[Written]) -> None:
        self._running.pop(key, None)

    async def _load(self, keys: Sequence[str]) -> Mapping[str, GeneratedText]:
        """The texts that the store has; usable ones are kept in memory."""
        try:
            found = await asyncio.to_thread(self._store.generated_texts, keys)
        except StoreError as error:
            _log.warning("a model's texts can't be read from the store", error=str(error))
            return {}
        for text in found.values():
            if self._is_usable(text):
                self._remember(text)
        return found

    def offer(self, written: Written) -> WrittenText:
        return WrittenText(None, why=written) if isinstance(written, str) else offer_text(self.model, written)

    def running(self) -> list[asyncio.Task[Written]]:
        return list(self._running.values())

    async def close(self) -> None:
        tasks = self.running()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._http is not None:
            await self._http.aclose()

    def _is_usable(self, text: GeneratedText | None) -> bool:
        return text is not None and is_judged(self.model, text)

    async def _write(
        self, key: str, prompt: Prompt, found: GeneratedText | None, session: LiveSession
    ) -> Written:
        """Have a text written, or only judged if it was `found` unjudged; keep it."""
        loop, model, http = asyncio.get_running_loop(), self.model, self._client
        async with self._free:
            if loop.time() < self._paused_until:
                return f"the model is left alone after {model.failures} failures in a row"
            try:
                text = found.text if found else await ask_model(http, model, prompt.system, prompt.user)
                score = await score_text(http, model.judge, prompt, text) if model.judge else None
            except ModelFailed as error:
                self._count_failure(str(error))
                return str(error)
        self._failures = 0
        self._metrics.texts.labels("written").inc()
        row = GeneratedText(session.record.id, key, prompt.operator, model.model, text, score, now_us())
        if session.unwritten:
            session.pending.append(row)  # Along with its first turn.
        else:
            self._recorder.offer([row])
        return self._remember(row)

    def _remember(self, text: GeneratedText) -> GeneratedText:
        self._known[text.key] = text
        self._known.move_to_end(text.key)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return text

    def _count_failure(self, why: str) -> None:
        self._failures += 1
        self._metrics.texts.labels("failed").inc()
        _log.warning("no text for noise", why=why, failures_in_a_row=self._failures)
        if self._failures >= self.model.failures:
            self._paused_until = asyncio.get_running_loop().time() + self.model.pause

    @property
    def _client(self) -> httpx.AsyncClient:
        """Its connections, opened on first use since they belong to the serving event loop."""
        if self._http is None:
            self._http = open_client()
        return self._http


def _outcome(task: asyncio.Task[Written]) -> Written:
    if task.cancelled():
        return "the gateway was shutting down"
    error = task.exception()
    return task.result() if error is None else f"the text could not be written ({type(error).__name__})"
