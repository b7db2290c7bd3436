"""vLLM's worker extension: full weights replaced in place, between two steps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from vllm.model_executor.layers.vocab_parallel_embedding import VocabParallelEmbedding
from vllm.model_executor.model_loader.reload.layerwise import finalize_layerwise_reload

from . import heads, seeds
from .checkpoint import WEIGHTS
from .header import HEAD, is_tied

# vLLM imports this module in each worker, before the model is loaded.
heads.patch()
seeds.patch()


class Weights:
    """A directory's weights, mapped: they can be read even when the files are gone."""

    def __init__(self, directory: Path) -> None:
        self._without = HEAD if is_tied(directory) else None
        self._file = safe_open(str(directory / WEIGHTS), framework="pt")

    def tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Every parameter by its name in the checkpoint. Tied embeddings come once."""
        for name in self._file.keys():  # noqa: SIM118  it isn't a mapping
            if name != self._without:
                yield name, self._file.get_tensor(name)


class WeightExtension:
    """vLLM mixes it into its worker (`--worker-extension-cls`) and calls it through `collective_rpc`."""

    _crosswind_serving: Weights | None = None

    def crosswind_swap(self, path: str) -> dict[str, Any]:
        """Load a directory that was checked. Where that fails, what served before is loaded again; `bricked`
        says that this failed too, and the process must end. Never raises.
        """
        try:
            # Mapped now: its files may be deleted once it is no longer the newest version.
            serving = self._crosswind_serving or Weights(Path(self.model_config.model))  # type: ignore[attr-defined]
            new = Weights(Path(path))
        except Exception as error:
            return {"failed": _describe(error)}
        try:
            self._crosswind_load(new)
        except Exception as error:
            try:
                self._crosswind_abort()
                self._crosswind_load(serving)
            except Exception:
                return {"failed": _describe(error), "bricked": True}
            return {"failed": _describe(error)}
        self._crosswind_serving = new
        return {}

    def _crosswind_load(self, weights: Weights) -> None:
        runner = self.model_runner  # type: ignore[attr-defined]
        runner.reload_weights(weights_iterator=weights.tensors())
        for module in runner.get_model().modules():
            # On a CPU the head computes with a packed copy, which a reload of the embeddings it is tied to
            # doesn't renew.
            if isinstance(module, VocabParallelEmbedding) and hasattr(module, "cpu_linear"):
                module.quant_method.process_weights_after_loading(module)

    def _crosswind_abort(self) -> None:
        """End a reload that broke off: what it did not reach is put back, so that another can begin."""
        runner = self.model_runner  # type: ignore[attr-defined]
        finalize_layerwise_reload(runner.get_model(), runner.model_config)


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
