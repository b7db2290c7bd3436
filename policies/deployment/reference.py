"""A version's log-probabilities by transformers: the trainer's side of a confirmation without a trainer.

Torch and transformers are loaded when a reference is made.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from crosswind.policies.deployment.confirmation import Probe
from crosswind.policies.deployment.deployment import ProbeOf
from crosswind.policies.versions.version import PolicyVersion, VersionError, find_base

TEXTS = (
    "Hello, could you please tell me where my order #W1234 is, and when it will arrive?",
    'Call get_order with {"order_id": "#W5678"} and answer with the status: delivered, pending or cancelled.',
    "I'd like to change the address to 12 Market Street; the old one was wrong. Is that still possible?",
    "0123456789 (2 + 3) * 4 = 20; 100 %, a_b, C:\\path, https://example.com?q=1",
)
RANDOM_SEQUENCES, LENGTH = 8, 48

Tokens = tuple[list[list[int]], list[list[int]]]
"""Prompts and completions, by token ids."""


def probe_tokens(directory: Path) -> Tokens:
    """Texts by the directory's own tokenizer, and sequences of random tokens from its whole vocabulary: no
    row of the embeddings is safe from being asked for. The same for every version of one policy.
    """
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        config = orjson.loads((directory / "config.json").read_bytes())
    except Exception as error:  # tokenizers raises bare Exception
        raise VersionError(f"{directory}: tokenizer or configuration can't be read: {error}") from None
    context = int(config.get("max_position_embeddings") or 1024)
    vocabulary = min(tokenizer.get_vocab_size(), int(config.get("vocab_size") or tokenizer.get_vocab_size()))
    rng = random.Random(f"probe-0-{vocabulary}")
    sequences = [tokenizer.encode(text, add_special_tokens=False).ids[: context - 1] for text in TEXTS]
    length = min(LENGTH, context - 1)
    sequences += [[rng.randrange(vocabulary) for _ in range(length)] for _ in range(RANDOM_SEQUENCES)]
    whole = [sequence for sequence in sequences if len(sequence) >= 2]
    return [sequence[: len(sequence) // 4 or 1] for sequence in whole], [
        sequence[len(sequence) // 4 or 1 :] for sequence in whole
    ]


class Reference:
    """A version's weights in float32, an adapter's put on its base's. Needs the extra `train`."""

    def __init__(self, version: PolicyVersion) -> None:
        """Raises VersionError where the directory isn't a causal language model's."""
        base = find_base(version)
        self.directory = (base or version).path
        self._module = load_module(self.directory).eval()
        if base is not None:
            from crosswind.policies.versions.adapter import read_adapter

            read_adapter(version.path).merge_into(self._module.state_dict())

    def distributions(
        self, prompts: Sequence[Sequence[int]], completions: Sequence[Sequence[int]]
    ) -> list[Any]:
        """Per sequence the log-probabilities of all tokens at each of the completion's places: [T, V]."""
        import torch

        out = []
        with torch.no_grad():
            for prompt, completion in zip(prompts, completions, strict=True):
                ids = torch.tensor([[*prompt, *completion]])
                logits = self._module(input_ids=ids, use_cache=False).logits[0, len(prompt) - 1 : -1]
                out.append(torch.log_softmax(logits.float(), dim=-1))
        return out

    def logprobs(
        self, prompts: Sequence[Sequence[int]], completions: Sequence[Sequence[int]]
    ) -> list[list[float]]:
        """Log-probabilities of the completions' tokens."""
        import torch

        return [
            rows.gather(1, torch.tensor(list(completion))[:, None])[:, 0].tolist()
            for rows, completion in zip(self.distributions(prompts, completions), completions, strict=True)
        ]


def probe(version: PolicyVersion) -> Probe:
    """The probe batch of a version, by its own files."""
    reference = Reference(version)
    prompts, completions = probe_tokens(reference.directory)
    return Probe(prompts, completions, reference.logprobs(prompts, completions))


def load_probe() -> ProbeOf:
    """`probe`, once torch is loaded and held to one thread. Raises ModuleNotFoundError."""
    import torch
    import transformers  # noqa: F401

    torch.set_num_threads(1)
    return probe


def load_module(directory: Path, dtype: str = "float32") -> Any:
    """The causal language model in a directory. Raises VersionError where it holds none."""
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    try:
        return AutoModelForCausalLM.from_pretrained(
            directory, dtype=getattr(torch, dtype), local_files_only=True
        )
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise VersionError(
            f"{directory}: no causal language model can be read: {read_first_line(error)}"
        ) from None


def read_first_line(error: Exception) -> str:
    """What transformers or torch says of an error, without the advice that follows."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
