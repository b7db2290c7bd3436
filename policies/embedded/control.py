"""The engine's own routes under /policy: what is served, publishing a version, scoring tokens."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from crosswind.policies.embedded.checkpoint import read_checkpoint
from crosswind.policies.embedded.request import RequestError
from crosswind.policies.embedded.worker import Worker
from crosswind.policies.versions.version import VersionError, checksum_file, read_version
from crosswind.policies.vllm_inside.crosswind_inside.bodies import read_sequences, read_text

COMMON = {"tokenizer.json": "tokenizer", "chat_template.jinja": "chat template"}
"""What a version must have in common with the one that the engine was started with."""


class Control:
    """Publishes to, and asks, one worker. Publishing is one at a time."""

    def __init__(self, worker: Worker, directory: Path) -> None:
        self._worker = worker
        home = read_version(directory).home
        self._common = {name: checksum_file(home / name) for name in COMMON}
        self._publishing = asyncio.Lock()

    def status(self) -> dict[str, Any]:
        """What is served now; how it was made is in its directory."""
        worker, shape = self._worker, self._worker.shape
        served = worker.version.metadata()
        del served["metrics"]
        return served | {
            "engine": "embedded",
            "path": str(worker.version.path.resolve()),
            "swaps": worker.swaps,
            "in_flight": worker.in_flight,
            "context": shape.context,
            "vocabulary": shape.vocabulary,
        }

    async def publish(self, body: Any) -> dict[str, Any]:
        """Read, check, and only then swap. Whatever is wrong, the old version serves on."""
        try:
            path, wanted = Path(read_text(body, "path")), read_text(body, "version")
        except ValueError as error:
            raise RequestError(str(error)) from None
        async with self._publishing:
            try:
                checkpoint = await asyncio.to_thread(self._read, path, wanted)
            except VersionError as error:
                raise RequestError(str(error), "path", "version_refused", 422) from None
            swapped = await asyncio.wrap_future(self._worker.swap(checkpoint))
        return {"version": wanted, "swap_ms": round(swapped.swap_ms, 3), "in_flight": swapped.in_flight}

    def _read(self, path: Path, wanted: str) -> Any:
        home = read_version(path).home
        for name, said in COMMON.items():
            if checksum_file(home / name) != self._common[name]:
                raise VersionError(f"{path}: its {said} isn't the one that is served; start an engine for it")
        checkpoint = read_checkpoint(path, like=self._worker.shape)
        if checkpoint.version.version != wanted:
            raise VersionError(f"{path}: holds version {checkpoint.version.version!r}, not {wanted!r}")
        return checkpoint

    async def score(self, body: Any) -> dict[str, Any]:
        shape = self._worker.shape
        try:
            prompts, completions = read_sequences(body, shape.vocabulary, shape.context)
        except ValueError as error:
            raise RequestError(str(error), "sequences") from None
        scored = await asyncio.wrap_future(self._worker.score(prompts, completions))
        return {"logprobs": scored, "version": self._worker.version.version}
