"""Compare two versions: their figures, their weights, and their outputs on the same tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch

from crosswind.policies.deployment.reference import Reference, probe_tokens
from crosswind.policies.versions.adapter import read_adapter
from crosswind.policies.versions.version import LORA, PolicyVersion, VersionError, find_base


@dataclass(frozen=True, slots=True)
class WeightsDistance:
    """The distance between two sets of weights."""

    relative: float
    """‖B - A‖ / ‖A‖, over all weights together."""
    largest: float
    """The largest change of a single weight."""
    tensors: Mapping[str, float]
    """The most changed tensors, each with its own ‖B - A‖ / ‖A‖, the most changed one first."""
    changed: int
    total: int
    """Tensors that differ at all, and all there are."""


@dataclass(frozen=True, slots=True)
class OutputsDistance:
    """The distance between two versions' outputs on the probe's tokens, in nats."""

    kl: float
    """Mean over places of KL(A ‖ B), over the whole vocabulary."""
    largest_kl: float
    logprobs: float
    """Mean absolute difference of the log-probabilities of the probe's tokens."""
    largest_logprob: float
    same_choice: float
    """Share of places at which both hold the same token for the likeliest."""
    tokens: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two versions side by side."""

    before: str
    after: str
    metrics: Mapping[str, tuple[Any, Any]]
    """Figures that either version's metadata has, by dotted name."""
    weights: WeightsDistance
    outputs: OutputsDistance

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def compare(before: PolicyVersion, after: PolicyVersion) -> Comparison:
    """Compare two versions of one policy. Raises VersionError where they don't have the same shape or
    vocabulary.
    """
    return Comparison(
        before.version,
        after.version,
        _metrics(before, after),
        _weights(before, after),
        _outputs(before, after),
    )


MOST_CHANGED = 5


def _weights(before: PolicyVersion, after: PolicyVersion) -> WeightsDistance:
    """Tensor by tensor, in double precision; an adapter counts merged into its base."""
    first, second = _load_merged(before), _load_merged(after)
    if first.keys() != second.keys() or any(first[name].shape != second[name].shape for name in first):
        odd = sorted(first.keys() ^ second.keys()) or [
            name for name in first if first[name].shape != second[name].shape
        ]
        raise VersionError(
            f"{before.version!r} and {after.version!r} are of different shapes ({', '.join(odd[:3])}); "
            "compare versions of one policy"
        )
    apart, norms, largest = dict[str, float](), dict[str, float](), 0.0
    for name, tensor in first.items():
        difference = second[name].double() - tensor.double()
        apart[name], norms[name] = float(difference.norm()), float(tensor.double().norm())
        largest = max(largest, float(difference.abs().max()))
    relative = {name: apart[name] / norms[name] if norms[name] else apart[name] for name in apart}
    most = sorted((name for name in apart if apart[name]), key=lambda name: -relative[name])
    whole = sum(value**2 for value in norms.values()) ** 0.5
    return WeightsDistance(
        sum(value**2 for value in apart.values()) ** 0.5 / (whole or 1.0),
        largest,
        {name: relative[name] for name in most[:MOST_CHANGED]},
        len(most),
        len(first),
    )


def _load_merged(version: PolicyVersion) -> dict[str, torch.Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    base = find_base(version)
    path = (base or version).path / "model.safetensors"
    try:
        tensors: dict[str, torch.Tensor] = load_file(str(path))
    except (OSError, SafetensorError, ValueError) as error:
        raise VersionError(f"{path}: can't be read as safetensors ({error})") from None
    if version.kind == LORA:
        tensors = {name: tensor.float() for name, tensor in tensors.items()}
        read_adapter(version.path).merge_into(tensors)
    return tensors


def _outputs(before: PolicyVersion, after: PolicyVersion) -> OutputsDistance:
    first, second = Reference(before), Reference(after)
    prompts, completions = probe_tokens(first.directory)
    if probe_tokens(second.directory) != (prompts, completions):
        raise VersionError(
            f"{before.version!r} and {after.version!r} have different tokenizers; compare versions of one "
            "policy"
        )
    divergences, differences, same = [], [], []
    pairs = zip(
        first.distributions(prompts, completions), second.distributions(prompts, completions), strict=True
    )
    for completion, (mine, other) in zip(completions, pairs, strict=True):
        divergences.append((mine.exp() * (mine - other)).sum(-1))
        chosen = torch.tensor(completion)[:, None]
        differences.append((mine.gather(1, chosen) - other.gather(1, chosen))[:, 0].abs())
        same.append(mine.argmax(-1) == other.argmax(-1))
    kl, apart = torch.cat(divergences), torch.cat(differences)
    return OutputsDistance(
        float(kl.mean()),
        float(kl.max()),
        float(apart.mean()),
        float(apart.max()),
        float(torch.cat(same).float().mean()),
        len(apart),
    )


def _metrics(before: PolicyVersion, after: PolicyVersion) -> dict[str, tuple[Any, Any]]:
    first, second = dict(_figures(before.metrics)), dict(_figures(after.metrics))
    return {name: (first.get(name), second.get(name)) for name in sorted(first.keys() | second.keys())}


def _figures(metrics: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in metrics.items():
        if isinstance(value, Mapping):
            yield from _figures(value, f"{prefix}{name}.")
        elif isinstance(value, int | float | str | None) and not isinstance(value, bool):
            yield prefix + name, value
