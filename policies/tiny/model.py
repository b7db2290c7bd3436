"""A Qwen3-shaped decoder of about a million parameters, as a training module with transformers' parameter
names; the sizes and weights of those that the embedded engine serves beside it.

Pre-norm blocks with RMSNorm, grouped-query attention with normalised queries and keys, rotary positions, a
gated
feed-forward and tied embeddings. `Qwen3ForCausalLM` loads the same weights unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional


@dataclass(frozen=True, slots=True)
class Variant:
    """How a decoder differs from Qwen3's, by its `model_type`."""

    normalised: bool = False
    """Queries and keys pass an RMSNorm."""
    biased: bool = False
    """The projections to queries, keys and values have a bias."""
    sliding: bool = False
    """`sliding_window` is in force without a switch."""


VARIANTS = {
    "qwen3": Variant(normalised=True),
    "qwen2": Variant(biased=True),
    "llama": Variant(),
    "mistral": Variant(sliding=True),
}


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a decoder. The defaults are the smallest Qwen3 that was seen to learn tool calling."""

    vocabulary: int
    hidden: int = 128
    layers: int = 4
    heads: int = 4
    kv_heads: int = 2
    head: int = 32
    feed_forward: int = 384
    context: int = 1024
    rope_theta: float = 10_000.0
    epsilon: float = 1e-6
    kind: str = "qwen3"
    tied: bool = True
    """The embeddings are the output layer too."""

    @property
    def variant(self) -> Variant:
        return VARIANTS[self.kind]

    def to_config(self, *, eos: int, pad: int) -> dict[str, Any]:
        """The content of `config.json`."""
        return {
            "architectures": ["Qwen3ForCausalLM"],
            "model_type": "qwen3",
            "vocab_size": self.vocabulary,
            "hidden_size": self.hidden,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.kv_heads,
            "head_dim": self.head,
            "intermediate_size": self.feed_forward,
            "max_position_embeddings": self.context,
            "rope_theta": self.rope_theta,
            "rms_norm_eps": self.epsilon,
            "hidden_act": "silu",
            "attention_bias": False,
            "attention_dropout": 0.0,
            "tie_word_embeddings": True,
            "use_sliding_window": False,
            "dtype": "float32",
            "eos_token_id": eos,
            "pad_token_id": pad,
            "bos_token_id": None,
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Shape:
        """Read `config.json`'s content. What can't be computed here is refused with the field's name."""
        kind = config.get("model_type")
        if kind not in VARIANTS:
            raise ValueError(f"config.json: field 'model_type' is {kind!r}")
        rope = config.get("rope_parameters") or {}
        scaling = config.get("rope_scaling") or rope
        window = config.get("sliding_window")
        sliding = window if VARIANTS[kind].sliding or config.get("use_sliding_window") else None
        for name, value, wanted in (
            ("attention_bias", bool(config.get("attention_bias")), False),
            ("mlp_bias", bool(config.get("mlp_bias")), False),
            ("hidden_act", config.get("hidden_act", "silu"), "silu"),
            ("rope type", scaling.get("rope_type", scaling.get("type", "default")), "default"),
            ("sliding_window", sliding, None),
        ):
            if value != wanted:
                raise ValueError(f"config.json: field {name!r} is {value!r}, not {wanted!r}")
        heads = config["num_attention_heads"]
        return cls(
            vocabulary=config["vocab_size"],
            hidden=config["hidden_size"],
            layers=config["num_hidden_layers"],
            heads=heads,
            kv_heads=config.get("num_key_value_heads") or heads,
            head=config.get("head_dim") or config["hidden_size"] // heads,
            feed_forward=config["intermediate_size"],
            context=config["max_position_embeddings"],
            rope_theta=config.get("rope_theta") or rope.get("rope_theta", 10_000.0),
            epsilon=config["rms_norm_eps"],
            kind=kind,
            tied=bool(config.get("tie_word_embeddings", True)),
        )

    def parameters(self) -> dict[str, tuple[int, ...]]:
        """Every parameter's name and shape, as a checkpoint must hold them."""
        shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (self.vocabulary, self.hidden)}
        query, key = self.heads * self.head, self.kv_heads * self.head
        for layer in range(self.layers):
            at = f"model.layers.{layer}."
            shapes |= {
                at + "input_layernorm.weight": (self.hidden,),
                at + "self_attn.q_proj.weight": (query, self.hidden),
                at + "self_attn.k_proj.weight": (key, self.hidden),
                at + "self_attn.v_proj.weight": (key, self.hidden),
                at + "self_attn.o_proj.weight": (self.hidden, query),
            }
            if self.variant.normalised:
                shapes |= {at + f"self_attn.{name}_norm.weight": (self.head,) for name in "qk"}
            shapes |= {
                at + "post_attention_layernorm.weight": (self.hidden,),
                at + "mlp.gate_proj.weight": (self.feed_forward, self.hidden),
                at + "mlp.up_proj.weight": (self.feed_forward, self.hidden),
                at + "mlp.down_proj.weight": (self.hidden, self.feed_forward),
            }
            if self.variant.biased:
                sizes = {"q": query, "k": key, "v": key}
                shapes |= {at + f"self_attn.{name}_proj.bias": (size,) for name, size in sizes.items()}
        if not self.tied:
            shapes["lm_head.weight"] = (self.vocabulary, self.hidden)
        return shapes | {"model.norm.weight": (self.hidden,)}


def initial_weights(shape: Shape, seed: int) -> dict[str, torch.Tensor]:
    """Random float32 weights: standard deviation hidden^-0.5, a tenth of it where a block writes to the
    residual.

    With the usual 0.02 a model this small doesn't learn to copy within minutes.
    """
    generator = torch.Generator().manual_seed(seed)
    weights = {}
    for name, size in shape.parameters().items():
        if len(size) == 1:
            weights[name] = torch.ones(size)
            continue
        scale = shape.hidden**-0.5 * (0.1 if name.endswith(("o_proj.weight", "down_proj.weight")) else 1.0)
        weights[name] = torch.randn(size, generator=generator) * scale
    return weights


def rotary(positions: torch.Tensor, shape: Shape) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines [..., head] of integer positions [...]."""
    exponents = torch.arange(0, shape.head, 2, dtype=torch.float32) / shape.head
    angles = positions[..., None].float() * (1.0 / shape.rope_theta**exponents)
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos(), angles.sin()


def rotate(vectors: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor) -> torch.Tensor:
    """Vectors [..., head] turned by their position: the second half is the imaginary part of the first."""
    first, second = vectors.chunk(2, dim=-1)
    return vectors * cosines + torch.cat((-second, first), dim=-1) * sines


KeysAndValues = tuple[torch.Tensor, torch.Tensor]
"""Of one layer: [batch, kv_heads, length, head] each."""


class Qwen3(nn.Module):  # type: ignore[misc]
    """The decoder for training. Parameters have transformers' names, with underscores for the dots."""

    def __init__(self, shape: Shape, weights: Mapping[str, torch.Tensor]) -> None:
        super().__init__()
        self.shape = shape
        for name in shape.parameters():
            self.register_parameter(name.replace(".", "__"), nn.Parameter(weights[name].detach().clone()))

    def weights(self) -> dict[str, torch.Tensor]:
        """The parameters under transformers' names (not copies)."""
        return {name.replace("__", "."): parameter.detach() for name, parameter in self.named_parameters()}

    def forward(self, ids: torch.Tensor, prefix: torch.Tensor | None = None) -> torch.Tensor:
        """Logits [batch, length, vocabulary] of ids [batch, length]; padding belongs at the end.

        `prefix` [shared] are tokens that stand before every row and are computed once: a system prompt, say.
        """
        shape = self.shape
        embeddings = self._get("model.embed_tokens")
        shared = torch.zeros(0, dtype=torch.long) if prefix is None else prefix
        before, length = len(shared), ids.shape[1]
        turns_before = rotary(torch.arange(before), shape)
        turns = rotary(torch.arange(before, before + length), shape)
        seen = torch.ones(length, before + length, dtype=torch.bool).tril(before)
        seen_before = torch.ones(before, before, dtype=torch.bool).tril()
        prefix_hidden, hidden = embeddings[shared][None], functional.embedding(ids, embeddings)
        for layer in range(shape.layers):
            past: KeysAndValues | None = None
            if before:
                mixed, past = self._attend(layer, prefix_hidden, turns_before, seen_before)
                prefix_hidden = prefix_hidden + mixed
                prefix_hidden = prefix_hidden + self._feed_forward(layer, prefix_hidden)
            mixed, _ = self._attend(layer, hidden, turns, seen, past)
            hidden = hidden + mixed
            hidden = hidden + self._feed_forward(layer, hidden)
        return functional.linear(self._norm(hidden, "model.norm"), embeddings)

    def _get(self, name: str) -> torch.Tensor:
        return self.get_parameter(f"{name}.weight".replace(".", "__"))

    def _norm(self, hidden: torch.Tensor, name: str) -> torch.Tensor:
        return functional.rms_norm(hidden, hidden.shape[-1:], self._get(name), self.shape.epsilon)

    def _attend(
        self,
        layer: int,
        hidden: torch.Tensor,
        turns: tuple[torch.Tensor, torch.Tensor],
        seen: torch.Tensor,
        past: KeysAndValues | None = None,
    ) -> tuple[torch.Tensor, KeysAndValues]:
        """Attention over the past's keys (of one row, for all rows) and the rows' own, where `seen` [query,
        key].
        """
        shape, at = self.shape, f"model.layers.{layer}.self_attn"
        batch, length, _ = hidden.shape
        normed = self._norm(hidden, f"model.layers.{layer}.input_layernorm")

        def split(name: str, heads: int) -> torch.Tensor:
            projected = functional.linear(normed, self._get(f"{at}.{name}_proj"))
            return projected.view(batch, length, heads, shape.head)

        query = rotate(self._norm(split("q", shape.heads), f"{at}.q_norm").transpose(1, 2), *turns)
        key = rotate(self._norm(split("k", shape.kv_heads), f"{at}.k_norm").transpose(1, 2), *turns)
        value = split("v", shape.kv_heads).transpose(1, 2)
        if past is not None:
            key, value = (
                torch.cat((old.expand(batch, -1, -1, -1), new), dim=2)
                for old, new in zip(past, (key, value), strict=True)
            )
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=seen, enable_gqa=True)
        joined = mixed.transpose(1, 2).reshape(batch, length, shape.heads * shape.head)
        return functional.linear(joined, self._get(f"{at}.o_proj")), (key, value)

    def _feed_forward(self, layer: int, hidden: torch.Tensor) -> torch.Tensor:
        at = f"model.layers.{layer}"
        normed = self._norm(hidden, f"{at}.post_attention_layernorm")
        gate = functional.silu(functional.linear(normed, self._get(f"{at}.mlp.gate_proj")))
        return functional.linear(
            gate * functional.linear(normed, self._get(f"{at}.mlp.up_proj")), self._get(f"{at}.mlp.down_proj")
        )
