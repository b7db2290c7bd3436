"""The policy under training: a Hugging Face causal language model, its log-probabilities and its export."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import torch
from safetensors.torch import load_file
from torch import Tensor

from crosswind.policies.deployment.reference import load_module, read_first_line
from crosswind.policies.versions.version import PolicyVersion, VersionError
from crosswind.policies.versions.weights import save
from crosswind.trainer.errors import RunRefused
from crosswind.trainer.learning.sharding import divide_like, make_whole, shard
from crosswind.trainer.learning.tree_attention import Unsupported, find_sharing, make_inputs
from crosswind.trainer.learning.worker_group import Call, WorkerGroup
from crosswind.trainer.rollouts.batches import MicroBatch
from crosswind.trainer.rollouts.trees import ROWS, Sharing

WEIGHTS = "model.safetensors"
COPIED = (
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "chat_template.jinja",
)


class ModelError(RunRefused):
    """The policy directory can't be trained from; the message names the directory and the fix."""


@dataclass
class Policy:
    """A model with the small files of the directory that it came from, as they were when it was loaded."""

    module: Any
    source: Path
    files: Mapping[str, bytes]
    """Tokenizer, template and configuration, by name: what every later version has in common with the
    first.
    """
    device: str = "cpu"
    weights_file: ClassVar[str] = WEIGHTS
    """What `write` calls the weights."""
    base: PolicyVersion | None = field(default=None, init=False)
    """The version that an adapter is trained on; None where all weights are trained."""
    group: WorkerGroup = field(default_factory=WorkerGroup, init=False)
    """The workers over which the weights are divided."""
    unshared: str = field(default="", init=False)
    """Why rollouts don't share what they have in common in this model; empty where they do, or before
    `sharing` was asked for.
    """

    @cached_property
    def sharing(self) -> Sharing:
        """How rollouts may share what they have in common."""
        try:
            return find_sharing(self.module, self.score)
        except Unsupported as error:
            self.unshared = str(error)
            return ROWS

    @property
    def vocabulary(self) -> int:
        """How many token ids it has."""
        return int(self.module.get_input_embeddings().num_embeddings)

    def trainable_parameters(self) -> list[Any]:
        return [parameter for parameter in self.module.parameters() if parameter.requires_grad]

    def divide(self, group: WorkerGroup) -> None:
        """Divide the weights over the workers."""
        shard(self.module, group)
        self.group = group

    def checkpoint_activations(self) -> None:
        """Keep the activations at the layers' borders only, and compute the others again in the backward pass
        (Chen et al. 2016, arXiv 1604.06174). Raises ModelError where the model can't.

        Models do so in training mode only; dropout stays off all the same.
        """
        # The second is what transformers called it before.
        names = ("activation_checkpointing_enable", "gradient_checkpointing_enable")
        enable = next(getattr(self.module, name) for name in names if hasattr(self.module, name))
        try:
            enable({"use_reentrant": False})
        except ValueError as error:
            raise ModelError(
                f"checkpointing: {self.source}: {read_first_line(error)}; set it to false"
            ) from None
        self.module.train()
        for module in self.module.modules():
            if isinstance(module, torch.nn.Dropout):
                module.eval()
            if hasattr(module, "attention_dropout"):
                module.attention_dropout = 0.0

    def score(self, batch: MicroBatch, temperature: float) -> tuple[Tensor, Tensor]:
        """Log-probabilities of the sampled tokens at a temperature, with gradient, and entropies: [N] and
        [N], float32.

        The model's own forward is used, since models scale or cap their logits. It projects the vocabulary
        at the places of sampled tokens only: of a tool-calling episode that is about a fifth.
        """
        head = self.module.get_output_embeddings()
        selection = head.register_forward_pre_hook(
            lambda _, hidden: (hidden[0][batch.rows, batch.columns],)  # [B, T, H] to [P, H]
        )
        try:
            inputs = make_inputs(self.module, batch)
            logits = self.module(**inputs, use_cache=False).logits.float()  # [P, V]
        finally:
            selection.remove()
        everything = torch.log_softmax(logits / temperature, dim=-1)  # [P, V]
        with torch.no_grad():
            entropy = -(everything.exp() * everything).sum(-1)  # [P]
        return everything[batch.place, batch.targets], entropy[batch.place]

    def tensors(self) -> dict[str, Tensor]:
        """The weights by name, tied ones once, on the CPU and contiguous; whole at rank 0."""
        with self.group.together(Call.WEIGHTS):
            return {
                name: make_whole(tensor.detach(), self.group).cpu().contiguous()
                for name, tensor in self._untied().items()
            }

    def _untied(self) -> dict[str, Tensor]:
        """The weights as they are held, tied ones under their first name."""
        named: dict[int, str] = {}
        weights: dict[str, Tensor] = self.module.state_dict(keep_vars=True)
        for name, tensor in weights.items():
            named.setdefault(id(tensor) if self.group.size > 1 else tensor.data_ptr(), name)
        return {name: weights[name] for name in named.values()}

    def restore(self, weights: Path) -> None:
        """Take the weights of a file that `write` made. Raises ModelError where their names differ."""
        tensors, own = load_file(str(weights)), self._untied()
        if tensors.keys() != own.keys():
            raise ModelError(
                f"policy: {weights} holds another model's weights than {self.source}; begin with --fresh"
            )
        with torch.no_grad():
            for name, tensor in tensors.items():
                own[name].copy_(divide_like(tensor, own[name]))

    def equals(self, weights: Path) -> bool:
        """Whether a file holds exactly these weights."""
        tensors, own = load_file(str(weights)), self.tensors()
        return tensors.keys() == own.keys() and all(torch.equal(own[name], tensors[name]) for name in own)

    def write(self, directory: Path) -> None:
        """Fill a directory so that transformers and engines load it as they loaded the first policy."""
        for name, body in self.files.items():
            (directory / name).write_bytes(body)
        save(directory / WEIGHTS, self.tensors())


def load(
    directory: Path, *, device: str = "cpu", dtype: str = "float32", weights: Path | None = None
) -> Policy:
    """Load a policy directory; `weights`, a checkpoint's file, are put in the place of its own.

    Raises ModelError where the directory isn't a causal language model's, or the weights are another model's.
    Dropout stays off: a probability ratio must not measure it.
    """
    try:
        module = load_module(directory, dtype)
    except VersionError as error:
        raise ModelError(f"policy: {error}") from None
    try:
        module.to(device).eval()
    except (RuntimeError, AssertionError) as error:
        raise ModelError(
            f"device: {device!r} can't be used: {read_first_line(error)}; name cpu, or one that torch has"
        ) from None
    if module.get_output_embeddings() is None:
        raise ModelError(
            f"policy: {directory}: {type(module).__name__} names no layer that projects the vocabulary "
            "(get_output_embeddings), where the positions to score are chosen; it can't be trained"
        )
    files = {name: (directory / name).read_bytes() for name in COPIED if (directory / name).is_file()}
    policy = Policy(module, directory, files, device)
    if weights is not None:
        policy.restore(weights)
    return policy
