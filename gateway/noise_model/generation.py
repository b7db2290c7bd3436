"""One model's texts by content: from memory, from the store, or written now; each asked for once at a time.

A call goes on when nobody waits for it any longer: what it gives is kept for whoever asks next. A model that
fails again and again is left alone for a while.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import partial

import aiohttp
import structlog

from crosswind.gateway.clock import now_us
from crosswind.gateway.config.noise_model import NoiseModel
from crosswind.gateway.noise_model.chat_model import ModelFailed, asked
from crosswind.gateway.noise_model.eligibility import seen_by_judge, usable
from crosswind.gateway.noise_model.judge import scored
from crosswind.gateway.recorder.recorder import Recorder
from crosswind.gateway.sessions.session import LiveSession
from crosswind.gateway.telemetry.metrics import Metrics
from crosswind.gateway.trajectory.generated_text import GeneratedText
from crosswind.gateway.trajectory.store import Store, StoreError
from crosswind.injectors.wording import Given, Prompt

_log = structlog.get_logger("crosswind.language")

REMEMBERED = 4096
"""Texts that are kept in memory."""

Written = GeneratedText | str
"""A text, or why there is none."""


class TextGenerator:
    """The texts of the configured model. It owns the calls that are under way."""

    def __init__(self, model: NoiseModel, store: Store, recorder: Recorder, metrics: Metrics) -> None:
        self.model = model
        self._store = store
        self._recorder = recorder
        self._metrics = metrics
        self._free = asyncio.Semaphore(model.concurrency)
        self._known: OrderedDict[str, GeneratedText] = OrderedDict()
        self._under_way: dict[str, asyncio.Task[Written]] = {}
        self._http: aiohttp.ClientSession | None = None
        self._failures = 0
        self._paused_until = 0.0

    async def get(
        self, prompts: Mapping[str, Prompt], session: LiveSession, wait_s: float
    ) -> dict[str, Written]:
        """What there is under each key within so many seconds; what is under way then goes on.

        What is written now is stored for the session.
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
        """See to it that what isn't known is written; gives the calls that are under way for it."""
        unknown = [key for key in prompts if not self._sound(self._known.get(key))]
        stored = await self._recalled(unknown) if unknown else {}
        begun: dict[str, asyncio.Task[Written]] = {}
        for key in unknown:
            if self._sound(self._known.get(key)):
                continue
            task = self._under_way.get(key)
            if task is None:
                writing = self._write(key, prompts[key], stored.get(key), session)
                task = self._under_way[key] = asyncio.create_task(writing)
                task.add_done_callback(partial(self._over, key))
            begun[key] = task
        return begun

    def _over(self, key: str, _: asyncio.Task[Written]) -> None:
        self._under_way.pop(key, None)

    async def _recalled(self, keys: Sequence[str]) -> Mapping[str, GeneratedText]:
        """What the store has; what can be used of it is known from now on."""
        try:
            found = await asyncio.to_thread(self._store.generated, keys)
        except StoreError as error:
            _log.warning("a model's texts can't be read from the store", error=str(error))
            return {}
        for text in found.values():
            if self._sound(text):
                self._remember(text)
        return found

    def given(self, written: Written) -> Given:
        """What an operator may use of it."""
        return Given(None, why=written) if isinstance(written, str) else usable(self.model, written)

    def under_way(self) -> list[asyncio.Task[Written]]:
        """The calls that are going on."""
        return list(self._under_way.values())

    async def close(self) -> None:
        """Give up what is under way."""
        tasks = self.under_way()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._http is not None:
            await self._http.close()

    def _sound(self, text: GeneratedText | None) -> bool:
        """Whether a text can be used as it is known: a judge that is configured has seen it."""
        return text is not None and seen_by_judge(self.model, text)

    async def _write(
        self, key: str, prompt: Prompt, found: GeneratedText | None, session: LiveSession
    ) -> Written:
        """Write a text, unless it is `found` and only to be judged; keep it."""
        loop = asyncio.get_running_loop()
        async with self._free:
            if loop.time() < self._paused_until:
                return f"the model is left alone after {self.model.failures} failures in a row"
            try:
                text = found.text if found else await self._asked(prompt)
                score = await self._score(prompt, text)
            except ModelFailed as error:
                self._failed(str(error))
                return str(error)
        self._failures = 0
        self._metrics.texts.labels("written").inc()
        row = GeneratedText(session.record.id, key, prompt.operator, self.model.model, text, score, now_us())
        if session.unwritten:
            session.pending.append(row)  # Along with its first turn.
        else:
            self._recorder.offer([row])
        return self._remember(row)

    async def _asked(self, prompt: Prompt) -> str:
        return await asked(self._client, self.model, prompt.system, prompt.user)

    async def _score(self, prompt: Prompt, text: str) -> float | None:
        judge = self.model.judge
        return None if judge is None else await scored(self._client, judge, prompt, text)

    def _remember(self, text: GeneratedText) -> GeneratedText:
        self._known[text.key] = text
        self._known.move_to_end(text.key)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return text

    def _failed(self, why: str) -> None:
        self._failures += 1
        self._metrics.texts.labels("failed").inc()
        _log.warning("no text for noise", why=why, failures_in_a_row=self._failures)
        if self._failures >= self.model.failures:
            self._paused_until = asyncio.get_running_loop().time() + self.model.pause

    @property
    def _client(self) -> aiohttp.ClientSession:
        """The connections, made on first use: they belong to the loop that serves."""
        if self._http is None:
            self._http = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar())
        return self._http


def _outcome(task: asyncio.Task[Written]) -> Written:
    if task.cancelled():
        return "the gateway was shutting down"
    error = task.exception()
    return task.result() if error is None else f"the text could not be written ({type(error).__name__})"
