"""One model in three places: transformers, the training module and the engine's cached forward pass."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from crosswind.policies.embedded.batch import BatchLimits, DecodeBatch
from crosswind.policies.embedded.checkpoint import read_checkpoint, read_shape
from crosswind.policies.embedded.sampling import gumbel, sample
from crosswind.policies.embedded.sequence import Sequence
from crosswind.policies.tiny.model import Qwen3, initial_weights
from crosswind.policies.versions.version import Registry

END: frozenset[int] = frozenset()


@pytest.fixture(scope="module")
def transformers_model(registry: Registry) -> Any:
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    return AutoModelForCausalLM.from_pretrained(str(registry.get("random-0").path))


def _batch(registry: Registry, **limits: int) -> DecodeBatch:
    return DecodeBatch(read_checkpoint(registry.get("random-0").path), BatchLimits(**limits))


def _run(batch: DecodeBatch, *sequences: Sequence) -> None:
    batch.waiting.extend(sequences)
    with torch.inference_mode():
        while batch.waiting or batch.running:
            batch.step()


def test_the_training_module_computes_what_transformers_computes(
    registry: Registry, transformers_model: Any
) -> None:
    shape = read_shape(registry.get("random-0").path)
    model = Qwen3(shape, initial_weights(shape, 0))
    ids = torch.randint(0, shape.vocabulary, (3, 60), generator=torch.Generator().manual_seed(1))
    prefix = ids[0, :23]
    shared = torch.cat((prefix.expand(3, -1), ids), dim=1)
    with torch.no_grad():
        assert (model(ids) - transformers_model(ids).logits).abs().max() < 1e-5
        assert (model(ids, prefix) - transformers_model(shared).logits[:, 23:]).abs().max() < 1e-5
    assert sum(parameter.numel() for parameter in model.parameters()) == transformers_model.num_parameters()


def test_sampled_logprobs_are_transformers_and_scores(registry: Registry, transformers_model: Any) -> None:
    """Prefill in a padded batch, prefix reuse, decoding with rows that come and go: the numbers stay the
    same.
    """
    batch = _batch(registry, rows=5, prefill=3)
    shared = list(range(40))
    sequences = [
        Sequence(shared + [50 + index] * (1 + 7 * index), 6 + 3 * index, 0.5 + 0.25 * index, index, END)
        for index in range(8)
    ]
    _run(batch, *sequences)
    _run(batch, *(later := [Sequence(one.prompt + one.tokens, 9, 1.0, 5, END) for one in sequences]))
    assert all(one.cached >= 40 for one in later)
    for one in [*sequences, *later]:
        with torch.no_grad():
            logits = transformers_model(torch.tensor([one.prompt + one.tokens])).logits[0]
        sampled, scored = (
            torch.log_softmax(logits[len(one.prompt) - 1 : -1] / at, -1)
            .gather(1, torch.tensor(one.tokens)[:, None])[:, 0]
            .tolist()
            for at in (one.temperature, 1.0)
        )
        assert len(one.tokens) == len(one.logprobs) == one.limit
        assert one.logprobs == pytest.approx(sampled, abs=1e-5)
        assert batch.score([one.prompt], [one.tokens])[0] == pytest.approx(scored, abs=1e-5)


def test_a_full_context_ends_by_length(registry: Registry) -> None:
    batch = _batch(registry)
    one = Sequence([7] * 1000, 24, 1.0, 1, END)
    other = Sequence([7] * 3, 2, 1.0, 1, END)
    _run(batch, one, other)
    assert (len(one.tokens), one.finish) == (24, "length")


def test_a_small_prefix_cache_evicts_and_stays_right(registry: Registry) -> None:
    """More prompts than the cache holds: what is evicted is computed again, to the same tokens."""
    batch = _batch(registry, cache_tokens=8, rows=2)
    prompts = [[index] * 200 + list(range(300, 400)) for index in range(12)]
    first = [Sequence(prompt, 5, 1.0, 3, END) for prompt in prompts]
    again = [Sequence(prompt, 5, 1.0, 3, END) for prompt in prompts]
    _run(batch, *first)
    _run(batch, *again)
    assert [one.tokens for one in first] == [one.tokens for one in again]


def test_sampling_follows_the_distribution() -> None:
    """A chi-square of 20,000 draws: 9 degrees of freedom pass 40 once in a hundred thousand times."""
    logits = torch.linspace(0, 3, 10)
    draws = 20_000
    tokens, logprobs, _ = sample(logits.expand(draws, -1), [1.5] * draws, list(range(draws)), [7] * draws)
    expected = torch.softmax(logits / 1.5, -1) * draws
    found = torch.bincount(torch.tensor(tokens), minlength=10)
    assert float(((found - expected) ** 2 / expected).sum()) < 40
    assert logprobs[0] == pytest.approx(math.log(float(expected[tokens[0]]) / draws), abs=1e-5)


def test_noise_is_finite_and_independent_of_the_rows_beside_it() -> None:
    keys, positions = list(range(500)), [3] * 500
    noise = gumbel(keys, positions, 1024)
    assert bool(torch.isfinite(noise).all())
    assert torch.equal(gumbel(keys[7:8], [3], 1024)[0], noise[7])
    assert float(noise.mean()) == pytest.approx(0.5772, abs=0.01)
    assert float(noise.var()) == pytest.approx(math.pi**2 / 6, abs=0.02)
    neighbours = torch.stack((noise[:-1].flatten(), noise[1:].flatten()))
    assert abs(float(torch.corrcoef(neighbours)[0, 1])) < 0.01
