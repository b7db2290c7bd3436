"""Trees of sequences in a model's own forward: a mask of who sees whom, and each token's position.

Which models take them is found out by asking, not by name. Other models read one sequence a row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from crosswind.trainer.rollouts.batches import MicroBatch, Sample, collate
from crosswind.trainer.rollouts.sequences import RolloutSequences, TokenSequence
from crosswind.trainer.rollouts.trees import ROWS, Sharing

FULL, SLIDING = "full_attention", "sliding_attention"
_TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-8}
"""How far a tree's log-probabilities may be from those of rows; in lower precisions 0.1."""
_TREE = ((1, 2, 3, 4, 5, 6), (1, 2, 3, 7, 8, 9), (1, 2, 3, 7, 8, 4))
"""Three sequences that have a beginning in common."""


class Unsupported(Exception):
    """Why a model doesn't take trees, in words."""


def make_inputs(module: Any, batch: MicroBatch) -> dict[str, Any]:
    """What a model is called with, for the batch's trees to be read as such."""
    if batch.ends is None or batch.positions is None:
        return {"input_ids": batch.input_ids}
    config = module.config.get_text_config()
    kinds, window = _list_kinds(config), getattr(config, "sliding_window", None)
    seen = _ancestors(batch.ends)
    if window is not None and SLIDING in kinds and int(batch.positions.max()) >= window:
        near = batch.positions[:, :, None] - batch.positions[:, None, :] < window
        masks = {FULL: seen, SLIDING: seen & near}
        chosen = {kind: _additive(masks[kind], module.dtype) for kind in sorted(kinds)}
        mask: Any = chosen if len(chosen) > 1 else chosen[SLIDING]
    else:
        mask = _additive(seen, module.dtype)
    return {"input_ids": batch.input_ids, "position_ids": batch.positions, "attention_mask": mask}


def _ancestors(ends: Tensor) -> Tensor:
    """[B, T, T] bool: whether token i sees token j, which is on its path where j ≤ i < end(j). Padding sees
    itself: something has to be seen.
    """
    places = torch.arange(ends.shape[1], device=ends.device)
    seen = (places[None, None, :] <= places[None, :, None]) & (places[None, :, None] < ends[:, None, :])
    return seen | (places[:, None] == places[None, :])


def _additive(seen: Tensor, dtype: torch.dtype) -> Tensor:
    """[B, 1, T, T]: what is added to attention scores, as every attention of transformers takes it."""
    mask = torch.zeros(seen.shape, dtype=dtype, device=seen.device)
    return mask.masked_fill_(~seen, torch.finfo(dtype).min)[:, None]


def _list_kinds(config: Any) -> set[str]:
    """The kinds of attention in the model's layers."""
    kinds = getattr(config, "layer_types", None)
    if kinds is not None:
        return set(kinds)
    return {FULL if getattr(config, "sliding_window", None) is None else SLIDING}


def find_sharing(module: Any, score: Callable[[MicroBatch, float], tuple[Tensor, Tensor]]) -> Sharing:
    """How rollouts may share what they have in common in this model. Raises Unsupported, with the reason,
    where they share whole sequences only.
    """
    config = module.config.get_text_config()
    if module.config._attn_implementation not in ("sdpa", "eager"):
        raise Unsupported(f"its attention is {module.config._attn_implementation!r}")
    if others := _list_kinds(config) - {FULL, SLIDING}:
        raise Unsupported(f"it has layers of kind {', '.join(sorted(others))}")
    sharing = Sharing(branches=True, width=int(config.hidden_size))
    samples = [_as_sample(ids) for ids in _TREE]
    device = str(next(module.parameters()).device)
    try:
        with torch.no_grad():
            tree = score(collate(samples, device, Sharing(branches=True, width=4096)), 1.0)[0]
    except (TypeError, ValueError, RuntimeError, KeyError, IndexError, AttributeError) as error:
        raise Unsupported(f"its forward refuses their mask ({type(error).__name__})") from None
    with torch.no_grad():
        rows = score(collate(samples, device, ROWS), 1.0)[0]
    apart = float((tree - rows).abs().max())
    if not apart <= _TOLERANCE.get(module.dtype, 0.1):
        raise Unsupported(f"its log-probabilities change by {apart:.2g} with their mask")
    return sharing


def _as_sample(ids: tuple[int, ...]) -> Sample:
    sampled = list(range(1, len(ids)))
    one = TokenSequence(list(ids), sampled, [0.0] * len(sampled), [False] * len(sampled))
    return Sample(RolloutSequences((one,), 0), 0.0)
