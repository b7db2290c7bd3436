"""Weights and optimiser state divided over workers by FSDP2 (`fully_shard`), and whole again.

Every worker holds a slice of each parameter, of its gradient and of its moments. A layer's parameters are
gathered for its forward and its backward pass only. Checkpoints hold whole tensors, so that they don't depend
on how many workers there were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from crosswind.trainer.learning.optimiser import list_parameters
from crosswind.trainer.learning.worker_group import Call, WorkerGroup


def shard(module: Any, group: WorkerGroup) -> None:
    """Divide a model's weights over the group, in place: a unit for each layer, and one for the rest."""
    if group.size == 1:
        return
    # transformers names the classes of layers that have to stay in one piece.
    layers = set(getattr(module, "_no_split_modules", None) or ())
    settings: dict[str, Any] = {
        "mesh": group.mesh,
        "reshard_after_forward": True,
        # Gradients are added up in float32, whatever the weights are.
        "mp_policy": MixedPrecisionPolicy(reduce_dtype=torch.float32),
    }
    for part in [part for part in module.modules() if type(part).__name__ in layers]:
        fully_shard(part, **settings)
    fully_shard(module, **settings)


def make_whole(tensor: Tensor, group: WorkerGroup) -> Tensor:
    """The whole of a divided tensor; to be called by all workers. Those that don't lead get their slice
    back.
    """
    if not isinstance(tensor, DTensor):
        return tensor
    whole = tensor.full_tensor()
    return whole if group.rank == 0 else tensor.to_local()


def divide_like(whole: Tensor, target: Tensor) -> Tensor:
    """What of a whole tensor belongs where the target is, on its device."""
    if not isinstance(target, DTensor):
        return whole
    mesh, placements = target.device_mesh, target.placements
    return distribute_tensor(whole.to(target.device), mesh, placements, src_data_rank=None)


def gather_state(optimiser: torch.optim.Optimizer, group: WorkerGroup) -> dict[str, Any]:
    """An optimiser's state with whole tensors, at rank 0."""
    state: dict[str, Any] = optimiser.state_dict()
    if group.size > 1:
        with group.together(Call.OPTIMISER):
            state = _map_tensors(state, group)
    return state


def divide_state(state: Mapping[str, Any], optimiser: torch.optim.Optimizer) -> dict[str, Any]:
    """A state with whole tensors as an optimiser with divided parameters takes it. Raises KeyError where it
    is of other parameters.
    """
    parameters = dict(enumerate(list_parameters(optimiser)))
    divided = dict(state)
    divided["state"] = {
        index: {name: _divide_moment(value, parameters[index]) for name, value in moments.items()}
        for index, moments in state["state"].items()
    }
    if "masters" in state:
        pairs = zip(state["masters"], parameters.values(), strict=True)
        divided["masters"] = [divide_like(master, parameter) for master, parameter in pairs]
    return divided


def _divide_moment(value: Any, parameter: Tensor) -> Any:
    """A moment has its parameter's shape; the count of steps has none."""
    return divide_like(value, parameter) if value.shape == parameter.shape else value


def _map_tensors(value: Any, group: WorkerGroup) -> Any:
    if isinstance(value, Tensor):
        return make_whole(value, group)
    if isinstance(value, dict):
        return {key: _map_tensors(one, group) for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_map_tensors(one, group) for one in value]
    return value
