"""Log-probabilities of tokens that are given, by the engine's own weights and from scratch."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Sequence
from typing import Any


async def score_all(
    generate: Callable[..., Any], sequences: Sequence[Any], vocabulary: int, context: int
) -> list[list[float]]:
    """Per sequence its completion's log-probabilities (natural logarithm, temperature 1).

    Raises ValueError naming the sequence that can't be scored. The prefix cache isn't used: vLLM computes
    prompts from scratch if their log-probabilities are requested.
    """
    pairs = [_read(index, item, vocabulary, context) for index, item in enumerate(sequences)]
    return list(await asyncio.gather(*(_score(generate, prompt, completion) for prompt, completion in pairs)))


async def _score(generate: Callable[..., Any], prompt: list[int], completion: list[int]) -> list[float]:
    from vllm.sampling_params import SamplingParams

    # One token must be sampled, and the context must have room for it: the last one's is what it says of it.
    settings = SamplingParams(max_tokens=1, temperature=0.0, prompt_logprobs=0, detokenize=False)
    given = {"prompt_token_ids": prompt + completion}
    scored: list[Any] = []
    async for output in generate(given, settings, f"score-{uuid.uuid4().hex}"):
        scored = output.prompt_logprobs
    first = len(prompt)
    return [float(scored[first + place][token].logprob) for place, token in enumerate(completion)]


def _read(index: int, item: Any, vocabulary: int, context: int) -> tuple[list[int], list[int]]:
    prompt, completion = (
        _ids(item, name, index, vocabulary) for name in ("prompt_token_ids", "completion_token_ids")
    )
    if len(prompt) + len(completion) >= context:
        raise ValueError(
            f"sequences[{index}] is {len(prompt) + len(completion)} tokens long: it must be shorter than the "
            f"context of {context}"
        )
    return prompt, completion


def _ids(item: Any, name: str, index: int, vocabulary: int) -> list[int]:
    value = item.get(name) if isinstance(item, dict) else None
    at = f"sequences[{index}].{name}"
    if not isinstance(value, list) or not value:
        raise ValueError(f"{at} must be a list of at least one token id")
    for token in value:
        if isinstance(token, bool) or not isinstance(token, int) or not 0 <= token < vocabulary:
            raise ValueError(f"{at} holds {token!r}: ids are integers from 0 to {vocabulary - 1}")
    return value
