"""vLLM's seeded sampling on a CPU, patched for prompts that are computed in several steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from vllm.platforms import current_platform


def patch() -> None:
    """Give seeded requests their randomness back where a step's token is thrown away.

    A prompt that doesn't fit into a step is sampled from all the same, and vLLM 0.32 then winds the request's
    generator back by an offset, which a CPU's generator hasn't got: "CPU Generator does not use offset" ends
    the engine. Here its state from before the step is put back, so that seeds stay exact.
    """
    if not current_platform.is_cpu():
        return
    from vllm.v1.worker.cpu_model_runner import CPUModelRunner

    sample, keep_books = CPUModelRunner._sample, CPUModelRunner._bookkeeping_sync

    def _sample(self: Any, *arguments: Any, **named: Any) -> Any:
        before = {index: generator.get_state() for index, generator in _find_discarded(self).items()}
        sampled = sample(self, *arguments, **named)
        for index, state in before.items():
            self.input_batch.generators[index].set_state(state)
        return sampled

    def _bookkeeping_sync(self: Any, *arguments: Any, **named: Any) -> Any:
        generators, wound_back = self.input_batch.generators, _find_discarded(self)
        for index in wound_back:
            del generators[index]
        try:
            return keep_books(self, *arguments, **named)
        finally:
            generators.update(wound_back)

    CPUModelRunner._sample, CPUModelRunner._bookkeeping_sync = _sample, _bookkeeping_sync


def _find_discarded(runner: Any) -> dict[int, Any]:
    """The generators of requests whose token of this step is thrown away, by their place in the batch."""
    batch = runner.input_batch
    places = np.nonzero(runner.discard_request_mask.np[: batch.num_reqs])[0].tolist()
    return {index: batch.generators[index] for index in places if index in batch.generators}
