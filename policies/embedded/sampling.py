"""Sampling whose randomness is keyed by (seed, position): a request's tokens don't depend on what shares its
batch.

The Gumbel-max trick: argmax(logits / T + g) is a draw from softmax(logits / T) if g is standard Gumbel noise.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def stream_key(*parts: object) -> int:
    """A 64-bit key of the parts, equal in every process."""
    raw = "\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(raw, digest_size=8).digest(), "little")


def _splitmix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's output function (Steele, Lea and Flood 2014): a bijection that scatters neighbouring
    states.
    """
    state = (state ^ (state >> np.uint64(30))) * _MIX[0]
    state = (state ^ (state >> np.uint64(27))) * _MIX[1]
    return state ^ (state >> np.uint64(31))


def gumbel(keys: Sequence[int], positions: Sequence[int], vocabulary: int) -> torch.Tensor:
    """Standard Gumbel noise [rows, vocabulary]: row r is a function of (keys[r], positions[r]) alone."""
    with np.errstate(over="ignore"):
        starts = _splitmix(np.array(keys, np.uint64) + np.array(positions, np.uint64) * _GOLDEN)
        cells = _splitmix(starts[:, None] + np.arange(1, vocabulary + 1, dtype=np.uint64) * _GOLDEN)
    uniform = torch.from_numpy((cells >> np.uint64(41)).astype(np.float32))
    uniform.add_(0.5).mul_(2.0**-23)  # 23 bits and a half: exact in float32, and never 0 or 1
    return uniform.log_().neg_().log_().neg_()


def sample(
    logits: torch.Tensor, temperatures: Sequence[float], keys: Sequence[int], positions: Sequence[int]
) -> tuple[list[int], list[float], torch.Tensor]:
    """One token a row of logits [rows, vocabulary], its log-probability at the row's temperature, and those
    of all tokens, [rows, vocabulary].

    Temperature 0 is greedy; its log-probability is that of temperature 1, as the limit's is 0 for every
    token.
    """
    scale = torch.tensor([temperature or 1.0 for temperature in temperatures])[:, None]
    scaled = logits / scale
    logprobs = torch.log_softmax(scaled, dim=-1)
    noise = gumbel(keys, positions, logits.shape[1])
    if not all(temperatures):
        noise[torch.tensor([temperature == 0.0 for temperature in temperatures])] = 0.0
    tokens = (scaled + noise).argmax(dim=-1)
    return tokens.tolist(), logprobs.gather(1, tokens[:, None])[:, 0].tolist(), logprobs


def likeliest(logprobs: torch.Tensor, tops: Sequence[int]) -> list[list[tuple[int, float]]]:
    """By row the so many likeliest tokens of log-probabilities [rows, vocabulary], the likeliest first."""
    count = min(max(tops), logprobs.shape[1])
    if not count:
        return [[] for _ in tops]
    values, ids = (part.tolist() for part in logprobs.topk(count, dim=-1))
    return [list(zip(ids[row][:top], values[row][:top], strict=True)) for row, top in enumerate(tops)]
