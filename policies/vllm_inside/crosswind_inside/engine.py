"""vLLM's engine as one policy of which new versions are published while requests go on."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import torch

from .adapter import check_adapter, silence
from .answers import current
from .bodies import read_sequences, read_text
from .checkpoint import METADATA, check_version, read_json
from .header import Refused
from .scoring import score_all

LORA = "lora"
PARENT = "CROSSWIND_PARENT"
"""Environment variable: the process that this server ends with, however that one ends."""
STATE = "CROSSWIND_STATE"
"""Environment variable: the file that says what is served, for whoever restarts the server."""

_LOOK_EVERY = 1.0
"""Seconds."""
_ADAPTER, _ADAPTER_ID = "crosswind", 1
"""One adapter, replaced in place: requests in flight go on with its new weights."""


class RequestRefused(Exception):
    """The request can't be carried out as it is; what served before serves on."""

    def __init__(self, message: str, code: str = "invalid", status: int = 400) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


class EngineFailed(Exception):
    """The engine could not do what was right to ask."""


class PolicyEngine:
    """One engine of vLLM (an AsyncLLM), its version and the way to the next one."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self._model = Path(engine.model_config.model)
        self._sample = engine.generate
        self._publishing = asyncio.Lock()
        self._adapter: Any = None
        self._under: dict[str, str] = {}
        """The full version that lies under each adapter's: requests of no adapter are sampled by that one."""
        self._swaps = 0
        self._in_flight = 0
        self._served = _metadata(self._model)
        self._full = self._served

    _watching: asyncio.Task[None]

    @classmethod
    async def attach(cls, engine: Any) -> PolicyEngine:
        """Take over an engine that has just started, and name its version. Raises EngineFailed."""
        # This process uses torch only to check files. It must not compete with the workers for cores.
        torch.set_num_threads(1)
        policy = cls(engine)
        # The first reload takes seconds, so do it now. It also shows whether this engine can reload.
        await policy._swap_weights(policy._model)
        await engine.update_weight_version(policy._served["version"])
        await asyncio.to_thread(lambda: _commit_state(policy._write_state(policy._served, policy._full)))
        engine.generate = policy._generate_tracked
        policy._watching = asyncio.create_task(_end_with_parent(os.environ.get(PARENT)))
        return policy

    def status(self) -> dict[str, Any]:
        config = self._engine.model_config
        return self._served | {
            "engine": "vllm",
            "swaps": self._swaps,
            "in_flight": self._in_flight,
            "context": config.max_model_len,
            "vocabulary": config.get_vocab_size(),
        }

    async def publish(self, body: dict[str, Any]) -> dict[str, Any]:
        """Check everything, then swap between two steps. If anything is wrong, the old version serves on.

        Raises RequestRefused where the version is refused, EngineFailed where the engine failed.
        """
        try:
            path, version = Path(read_text(body, "path")), read_text(body, "version")
        except ValueError as error:
            raise RequestRefused(str(error)) from None
        async with self._publishing:
            try:
                metadata, base = await asyncio.to_thread(self._check, path, version)
            except Refused as error:
                raise RequestRefused(str(error), "version_refused", 422) from None
            word = await asyncio.to_thread(self._write_state, _describe(metadata, path), base or self._full)
            in_flight, began = self._in_flight, time.perf_counter()
            async with self._pause():
                if base is not None:
                    await self._swap_weights(Path(base["path"]))
                    self._served = self._full = base
                if metadata.get("kind") == LORA:
                    await self._swap_adapter(path)
                    self._under[version] = self._full["version"]
                    self._served = _describe(metadata, path)
                elif self._adapter is not None:
                    await self._drop_adapter(Path(self._adapter.lora_path))
            milliseconds = round((time.perf_counter() - began) * 1000, 3)
            await asyncio.to_thread(_commit_state, word)
        return {"version": version, "swap_ms": milliseconds, "in_flight": in_flight}

    async def score(self, body: dict[str, Any]) -> dict[str, Any]:
        """Log-probabilities of given completions, computed from scratch. Raises RequestRefused."""
        config = self._engine.model_config
        try:
            # One token must be sampled, and the context must have room for it.
            read = read_sequences(body, config.get_vocab_size(), config.max_model_len - 1)
        except ValueError as error:
            raise RequestRefused(str(error)) from None
        async with self._publishing:
            logprobs = await score_all(self._generate, *read)
            return {"logprobs": logprobs, "version": self._served["version"]}

    def _check(self, path: Path, version: str) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """Check a directory; gives its metadata and the full version to load: its own, or an adapter's base
        where another one serves. Raises Refused.
        """
        metadata = read_json(path / METADATA)
        if metadata.get("kind") != LORA:
            check_version(path, self._model, version)
            return metadata, _describe(metadata, path)
        lora = self._engine.vllm_config.lora_config
        if lora is None:
            raise Refused(f"{path}: this engine was started without --enable-lora; start it with that")
        check_adapter(path, self._model, version, lora.max_lora_rank)
        if metadata.get("base_checksum") == self._full["checksum"]:
            return metadata, None
        under = Path(str(metadata.get("base_path")))
        base = read_json(under / METADATA)
        check_version(under, self._model, str(metadata.get("base")))
        if base.get("checksum") != metadata.get("base_checksum"):
            raise Refused(
                f"{path}: it adapts {metadata.get('base')!r}, which {under} doesn't hold as it was: an "
                "adapter is worth nothing on other weights"
            )
        return metadata, _describe(base, under)

    @asynccontextmanager
    async def _pause(self) -> AsyncGenerator[None]:
        """Nothing is decoded within. What was in flight goes on after it, whatever happens here, and under
        the name of what serves then.
        """
        await self._engine.pause_generation(mode="keep", clear_cache=False)
        try:
            yield
        finally:
            self._swaps += 1
            try:
                await self._engine.update_weight_version(self._served["version"])
            finally:
                await self._engine.resume_generation()

    async def _swap_weights(self, path: Path) -> None:
        states = await self._engine.collective_rpc("crosswind_swap", args=(str(path),))
        failures = [state for state in states if "failed" in state]
        if any(state.get("bricked") for state in failures) or 0 < len(failures) < len(states):
            # Some or all of its weights are neither the old nor the new ones: it must not answer again.
            os.kill(os.getpid(), signal.SIGTERM)
            raise EngineFailed(
                f"the swap failed, and the engine with it: {failures[0]['failed']}; it is restarted"
            )
        if failures:
            raise EngineFailed(f"the swap failed, the version before serves on: {failures[0]['failed']}")

    async def _swap_adapter(self, path: Path) -> None:
        from vllm.lora.request import LoRARequest

        await self._load_adapter(path)
        self._adapter = LoRARequest(_ADAPTER, _ADAPTER_ID, str(path))

    async def _drop_adapter(self, path: Path) -> None:
        """What is in flight keeps its adapter: from now on that adds nothing to the weights."""
        self._adapter = None
        with tempfile.TemporaryDirectory() as folder:
            await asyncio.to_thread(silence, path, Path(folder))
            await self._load_adapter(Path(folder))

    async def _load_adapter(self, path: Path) -> None:
        from vllm.lora.request import LoRARequest

        try:
            await self._engine.add_lora(LoRARequest(_ADAPTER, _ADAPTER_ID, str(path), load_inplace=True))
        except Exception as error:
            raise EngineFailed(f"vLLM refused the adapter: {error}; the version before serves on") from None

    def _generate_tracked(self, prompt: Any, sampling_params: Any, request_id: str, **options: Any) -> Any:
        """In the place of the engine's `generate`: the version's adapter, and its part of the prefix cache.

        Every swap opens a new part, so that nothing is computed from keys of other weights; what is in flight
        keeps its own.
        """
        if isinstance(prompt, dict):
            salt = f"{self._swaps}|{prompt.get('cache_salt') or ''}"
            prompt = {**prompt, "cache_salt": salt}
        outputs = self._generate(prompt, sampling_params, request_id, **options)
        answer = current.get()
        if answer is not None:
            renamed = self._under if self._adapter is None else {}
            outputs = answer.watch(outputs, sampling_params.n, renamed)
        return self._count(outputs)

    def _generate(self, prompt: Any, sampling_params: Any, request_id: str, **options: Any) -> Any:
        if self._adapter is not None and options.get("lora_request") is None:
            options["lora_request"] = self._adapter
        return self._sample(prompt, sampling_params, request_id, **options)

    async def _count(self, outputs: AsyncGenerator[Any]) -> AsyncGenerator[Any]:
        self._in_flight += 1
        try:
            async for output in outputs:
                yield output
        finally:
            self._in_flight -= 1

    def _write_state(self, served: dict[str, Any], full: dict[str, Any]) -> Path | None:
        """Write down what is going to be served, for a server that is started in this one's place. Not to be
        seen before `_commit_state`: only the disk's refusal comes before the swap. Raises EngineFailed.
        """
        place = os.environ.get(STATE)
        if not place:
            return None
        new = Path(f"{place}.new")
        try:
            new.write_text(json.dumps(served | {"under": full["path"]}))
        except OSError as error:
            raise EngineFailed(
                f"{new}: what is served can't be written down ({error.strerror}), and a restart would go "
                "back to another version; the version before serves on: free space"
            ) from None
        return new


def _commit_state(word: Path | None) -> None:
    """Show what was written down."""
    if word is not None:
        word.rename(word.with_suffix(""))


async def _end_with_parent(parent: str | None) -> None:
    """End this server once its parent is another one than was named."""
    while parent is not None:
        if os.getppid() != int(parent):
            os.kill(os.getpid(), signal.SIGTERM)
            return
        await asyncio.sleep(_LOOK_EVERY)


def _metadata(directory: Path) -> dict[str, Any]:
    try:
        metadata = read_json(directory / METADATA)
    except Refused:
        metadata = {}  # a model of somebody else's making
    return _describe({"version": directory.name} | metadata, directory)


def _describe(metadata: dict[str, Any], directory: Path) -> dict[str, Any]:
    names = ("version", "parent", "step", "kind", "run", "checksum")
    told = {"step": 0, "kind": "full", "checksum": ""} | {name: metadata.get(name) for name in names}
    return told | {"path": str(directory.resolve())}
