"""The decoder's forward pass over rows of a key-value cache, for prefill, decoding and scoring alike."""

from __future__ import annotations

import torch
from torch.nn import functional

from policies.embedded.checkpoint import Checkpoint, Layer
from policies.tiny.model import Shape, rotary, rotate

_HIDDEN_KEY = -1e30
"""Added to the score of a key that a query may not see; finite, so that no row of scores is all infinite."""


class Rows:
    """Keys and values of `count` rows: two tensors [layers, rows, kv_heads, context, head] each.

    Zeroed memory is not touched until it is used, and what was used holds finite values: masked keys can't poison.
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


def hidden_states(
    checkpoint: Checkpoint,
    rotations: Rotations,
    rows: Rows,
    span: slice,
    ids: torch.Tensor,
    positions: torch.Tensor,
    reach: int,
) -> torch.Tensor:
    """Run ids [batch, length] at positions [batch, length] over the rows of `span`; gives [batch, length, hidden].

    Keys and values are written at the positions; each query sees the keys at positions up to its own. `reach` is
    the highest position plus one. Padding carries position `context - 1` or any position above the row's real end:
    what it writes there is overwritten before a real query may see it.
    """
    shape = checkpoint.shape
    cosines, sines = rotations.cosines[positions][:, :, None], rotations.sines[positions][:, :, None]
    hidden_keys = torch.arange(reach) > positions[..., None]  # [batch, length, reach]
    bias = torch.zeros(hidden_keys.shape).masked_fill_(hidden_keys, _HIDDEN_KEY)
    if ids.shape[1] > 1:
        bias = bias[:, None]
    hidden = functional.embedding(ids, checkpoint.embeddings)
    for index, layer in enumerate(checkpoint.layers):
        keys, values = rows.keys[index, span], rows.values[index, span]
        hidden = hidden + _attend(layer, shape, hidden, cosines, sines, keys, values, positions, bias, reach)
        hidden = hidden + _feed_forward(layer, shape, hidden)
    return functional.rms_norm(hidden, hidden.shape[-1:], checkpoint.norm, shape.epsilon)


def _attend(
    layer: Layer,
    shape: Shape,
    hidden: torch.Tensor,
    cosines: torch.Tensor,
    sines: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    positions: torch.Tensor,
    bias: torch.Tensor,
    reach: int,
) -> torch.Tensor:
    batch, length, _ = hidden.shape
    normed = functional.rms_norm(hidden, hidden.shape[-1:], layer.input_norm, shape.epsilon)
    mixed = functional.linear(normed, layer.query_key_value)
    mixed = mixed.view(batch, length, shape.heads + 2 * shape.kv_heads, shape.head)
    query, key, value = mixed.split((shape.heads, shape.kv_heads, shape.kv_heads), dim=2)
    query = rotate(functional.rms_norm(query, (shape.head,), layer.query_norm, shape.epsilon), cosines, sines)
    key = rotate(functional.rms_norm(key, (shape.head,), layer.key_norm, shape.epsilon), cosines, sines)
    batch_index = torch.arange(batch)[:, None]
    keys[batch_index, :, positions] = key
    values[batch_index, :, positions] = value
    if length == 1:
        joined = _attend_one(query, keys[:, :, :reach], values[:, :, :reach], bias, shape)
    else:
        joined = functional.scaled_dot_product_attention(
            query.transpose(1, 2), keys[:, :, :reach], values[:, :, :reach], attn_mask=bias, enable_gqa=True
        ).transpose(1, 2)
    return functional.linear(joined.reshape(batch, length, shape.heads * shape.head), layer.output)


def _attend_one(
    query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, bias: torch.Tensor, shape: Shape
) -> torch.Tensor:
    """Attention of one query a row: the heads of a group share their keys in one small matrix product."""
    batch = query.shape[0]
    grouped = query.reshape(batch, shape.kv_heads, shape.heads // shape.kv_heads, shape.head)
    scores = torch.matmul(grouped, keys.transpose(2, 3)) * shape.head**-0.5
    weights = torch.softmax(scores + bias[:, None], dim=-1)
    return torch.matmul(weights, values)


def _feed_forward(layer: Layer, shape: Shape, hidden: torch.Tensor) -> torch.Tensor:
    normed = functional.rms_norm(hidden, hidden.shape[-1:], layer.feed_forward_norm, shape.epsilon)
    gate, up = functional.linear(normed, layer.gate_up).chunk(2, dim=-1)
    return functional.linear(functional.silu(gate) * up, layer.down)
