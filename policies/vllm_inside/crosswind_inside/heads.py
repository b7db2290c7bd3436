"""vLLM's output head under LoRA, patched for prompts whose log-probabilities are asked for."""

from __future__ import annotations

from typing import Any

from vllm.lora.layers.logits_processor import LogitsProcessorWithLoRA

_adapted = LogitsProcessorWithLoRA._get_logits


def patch() -> None:
    """Take a prompt's rows past the head's adapters.

    vLLM 0.32 pairs the rows that it is given with the requests that sample in this step. A prompt's rows are
    others, and as soon as two requests run the worker fails over the sizes ("einsum(): subscript b has
    size ..."), which ends the engine. No adapter of ours changes the head, so that nothing is lost.
    """
    LogitsProcessorWithLoRA._get_logits = _get_logits


def _get_logits(self: Any, hidden_states: Any, lm_head: Any, *rest: Any, **named: Any) -> Any:
    sampling = getattr(self.punica_wrapper, "sampler_indices", None)
    if sampling is None or sampling.shape[0] == hidden_states.shape[0]:
        return _adapted(self, hidden_states, lm_head, *rest, **named)
    return self.base_layer._get_logits(hidden_states, getattr(lm_head, "base_layer", lm_head), *rest, **named)
