"""The decoder's forward pass over rows of a key-value cache, for prefill, decoding and scoring alike."""

from __future__ import annotations

import torch
from torch.nn import functional

from crosswind.policies.embedded.checkpoint import Checkpoint, Layer
from crosswind.policies.tiny.model import Shape, rotary, rotate

_UNSEEN = -1e30
"""Added to the score of a key that a query may not see; finite, so that no row of scores is all infinite."""


class Rows:
    """Keys and values of `count` rows: two tensors [layers, rows, kv_heads, context, head] each.

    Zeroed memory is not touched until it is used, and what was used holds finite values: masked keys can't
    poison.
    """

    def __init__(self, shape: Shape, count: int, context: int) -> None:
        size = (shape.layers, count, shape.kv_heads, context, shape.head)
        self.keys = torch.zeros(size)
        self.values = torch.zeros(size)

    def move(self, source: int, target: int, length: int) -> None:
        """Copy the first `length` positions of one row over another's."""
        for tensor in (self.keys, self.values):
            tensor[:, target, :, :length] = tensor[:, source, :, :length]


class Rotations:
    """Cosines and sines of every position, computed once."""

    def __init__(self, shape: Shape) -> None:
        self.cosines, self.sines = rotary(torch.arange(shape.context), shape)


class ForwardPass:
    """What all layers of one pass share: rows, positions, rotations and who sees what."""

    def __init__(
        self, rotations: Rotations, rows: Rows, span: slice, positions: torch.Tensor, reach: int
    ) -> None:
        """`positions` are [batch, length] in the rows of `span`; `reach` is the highest plus one, or more.

        Padding may carry any position above its row's real end: what it writes there is overwritten before a
        real query may see it.
        """
        self.rows = rows
        self.span = span
        self.positions = positions
        self.reach = reach
        self.row_index = torch.arange(positions.shape[0])[:, None]
        self.cosines = rotations.cosines[positions][:, :, None]
        self.sines = rotations.sines[positions][:, :, None]
        unseen = torch.arange(reach) > positions[..., None]
        self.bias = torch.zeros(unseen.shape).masked_fill_(unseen, _UNSEEN)[:, None]
        """[batch, 1, length, reach]: added to the scores of every head."""

    def rotate(self, vectors: torch.Tensor) -> torch.Tensor:
        """Vectors [batch, length, heads, head] turned by their positions."""
        return rotate(vectors, self.cosines, self.sines)


def hidden_states(checkpoint: Checkpoint, ids: torch.Tensor, step: ForwardPass) -> torch.Tensor:
    """Run ids [batch, length] through the layers; gives [batch, length, hidden].

    Keys and values are written to the rows at the positions; a query sees the keys up to its own position.
    """
    shape = checkpoint.shape
    hidden = functional.embedding(ids, checkpoint.embeddings)
    for index, layer in enumerate(checkpoint.layers):
        keys, values = step.rows.keys[index, step.span], step.rows.values[index, step.span]
        hidden = hidden + _attend(layer, shape, hidden, (keys, values), step)
        hidden = hidden + _feed_forward(layer, shape, hidden)
    return functional.rms_norm(hidden, hidden.shape[-1:], checkpoint.norm, shape.epsilon)


def _attend(
    layer: Layer,
    shape: Shape,
    hidden: torch.Tensor,
    kept: tuple[torch.Tensor, torch.Tensor],
    step: ForwardPass,
) -> torch.Tensor:
    batch, length, _ = hidden.shape
    keys, values = kept
    normed = functional.rms_norm(hidden, hidden.shape[-1:], layer.input_norm, shape.epsilon)
    mixed = functional.linear(normed, layer.query_key_value, layer.query_key_value_bias)
    mixed = mixed.view(batch, length, shape.heads + 2 * shape.kv_heads, shape.head)
    query, key, value = mixed.split((shape.heads, shape.kv_heads, shape.kv_heads), dim=2)
    if layer.query_norm is not None:
        query = functional.rms_norm(query, (shape.head,), layer.query_norm, shape.epsilon)
        key = functional.rms_norm(key, (shape.head,), layer.key_norm, shape.epsilon)
    query = step.rotate(query)
    keys[step.row_index, :, step.positions] = step.rotate(key)
    values[step.row_index, :, step.positions] = value
    seen_keys, seen_values = keys[:, :, : step.reach], values[:, :, : step.reach]
    if length == 1:
        joined = _attend_one(query, seen_keys, seen_values, step.bias, shape)
    else:
        joined = functional.scaled_dot_product_attention(
            query.transpose(1, 2), seen_keys, seen_values, attn_mask=step.bias, enable_gqa=True
        ).transpose(1, 2)
    return functional.linear(joined.reshape(batch, length, shape.heads * shape.head), layer.output)


def _attend_one(
    query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, bias: torch.Tensor, shape: Shape
) -> torch.Tensor:
    """Attention of one query a row: the heads of a group share their keys in one small matrix product."""
    batch = query.shape[0]
    grouped = query.reshape(batch, shape.kv_heads, shape.heads // shape.kv_heads, shape.head)
    scores = torch.matmul(grouped, keys.transpose(2, 3)) * shape.head**-0.5
    weights = torch.softmax(scores + bias, dim=-1)
    return torch.matmul(weights, values)


def _feed_forward(layer: Layer, shape: Shape, hidden: torch.Tensor) -> torch.Tensor:
    normed = functional.rms_norm(hidden, hidden.shape[-1:], layer.feed_forward_norm, shape.epsilon)
    gate, up = functional.linear(normed, layer.gate_up).chunk(2, dim=-1)
    return functional.linear(functional.silu(gate) * up, layer.down)
