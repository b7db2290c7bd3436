"""Run in vLLM's environment: python half_a_reload.py BASE OTHER. A reload breaks off half-way, on purpose.

What was served before must be served after it, to the bit, and the next reload must work.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

os.environ |= {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_NO_USAGE_STATS": "1",
}

from crosswind_inside import worker
from vllm import LLM, SamplingParams

BREAKS_AT = 20
"""Tensors that are read before the disk goes away."""

_whole = worker.Weights.tensors


def _half(weights: Any) -> Iterator[tuple[str, Any]]:
    for number, entry in enumerate(_whole(weights)):
        if broken and number == BREAKS_AT:
            broken.clear()
            raise OSError("the disk went away")
        yield entry


broken: set[str] = set()
base, other = sys.argv[1:]
engine = LLM(
    base,
    dtype="float32",
    enforce_eager=True,
    enable_lora=True,
    max_lora_rank=16,
    worker_extension_cls="crosswind_inside.worker.WeightExtension",
)
greedy = SamplingParams(max_tokens=12, temperature=0, logprobs=0)


def sampled() -> tuple[list[int], float]:
    output = engine.generate({"prompt_token_ids": [3, 546, 920, 308, 359, 4]}, greedy)[0].outputs[0]
    return list(output.token_ids), output.cumulative_logprob


def swap(path: str) -> dict[str, Any]:
    return engine.collective_rpc("crosswind_swap", args=(path,))[0]


before = sampled()
assert swap(other) == {}
moved = sampled()
assert moved != before
assert swap(base) == {}
worker.Weights.tensors = _half  # type: ignore[method-assign]
broken.add("now")
assert swap(other) == {"failed": "OSError: the disk went away"}
assert not broken
assert sampled() == before
assert swap(other) == {}
assert sampled() == moved
