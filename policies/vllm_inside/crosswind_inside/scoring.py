"""Log-probabilities of tokens that are given, by the engine's own weights and from scratch."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Sequence
from typing import Any


async def score_all(
    generate: Callable[..., Any], prompts: Sequence[list[int]], completions: Sequence[list[int]]
) -> list[list[float]]:
    """The completions' log-probabilities (natural logarithm, temperature 1).

    The prefix cache isn't used: vLLM computes prompts from scratch if their log-probabilities are requested.
    """
    pairs = zip(prompts, completions, strict=True)
    return list(await asyncio.gather(*(_score(generate, prompt, completion) for prompt, completion in pairs)))


async def _score(generate: Callable[..., Any], prompt: list[int], completion: list[int]) -> list[float]:
    from vllm.sampling_params import SamplingParams

    # vLLM must sample at least one token, so the context needs room for one more.
    settings = SamplingParams(max_tokens=1, temperature=0.0, prompt_logprobs=0, detokenize=False)
    given = {"prompt_token_ids": prompt + completion}
    scored: list[Any] = []
    async for output in generate(given, settings, f"score-{uuid.uuid4().hex}"):
        scored = output.prompt_logprobs
    first = len(prompt)
    return [float(scored[first + place][token].logprob) for place, token in enumerate(completion)]
