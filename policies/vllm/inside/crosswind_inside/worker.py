"""vLLM's worker extension: full weights replaced in place, between two steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vllm.model_executor.layers.vocab_parallel_embedding import VocabParallelEmbedding

from . import heads, seeds
from .checkpoint import Weights

# vLLM imports this module in each worker, before the model is loaded.
heads.mend()
seeds.mend()


class WeightExtension:
    """Mixed into vLLM's worker by `--worker-extension-cls`; called through its `collective_rpc`."""

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
            return {"failed": _told(error)}
        try:
            self._crosswind_load(new)
        except Exception as error:
            try:
                self._crosswind_load(serving)
            except Exception:
                return {"failed": _told(error), "bricked": True}
            return {"failed": _told(error)}
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


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
