"""The processes of a run: rank 0 leads, the others follow its calls and compute their part of them.

Only rank 0 has the store, the engine and the run's files. What all must compute together, it announces: a
call and its argument go to the others by broadcast. They wait for the next call as long as it takes, since a
run may wait for rollouts for hours; within a call, the group's deadline holds.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import Any, TypeVar

import torch
import torch.distributed as dist

from crosswind.trainer.errors import WorkerLost

T = TypeVar("T")

_UNLIMITED = timedelta(days=365)
_EXCHANGES = (
    "torch.distributed.distributed_c10d",
    "torch.distributed._functional_collectives",
    "torch.distributed.fsdp._fully_shard._fsdp_collectives",
)
"""The modules of torch that do nothing but exchange tensors."""


class Call(Enum):
    """What all workers compute together."""

    START = "start"
    MEASURE = "measure"
    UPDATE = "update"
    DIVERGENCE = "divergence"
    PROBE = "probe"
    WEIGHTS = "weights"
    OPTIMISER = "optimiser"
    END = "end"


@dataclass
class WorkerGroup:
    """This process among the workers of a run. By default it is the only one, and no method does anything."""

    rank: int = 0
    size: int = 1
    mesh: Any = None
    """The workers as FSDP2 wants them."""
    _calls: Any = field(default=None, repr=False)
    """The process group of the announcements, for which the others wait without a deadline."""
    _broken: bool = field(default=False, repr=False)

    @contextmanager
    def together(self, call: Call, argument: Any = None) -> Iterator[None]:
        """Around what all workers compute. Rank 0 announces it; raises WorkerLost where one doesn't take
        part.
        """
        if self.size == 1:
            yield
            return
        done = False
        try:
            if self.rank == 0:
                dist.broadcast_object_list([(call, argument)], src=0, group=self._calls)
            yield
            done = True
        except RuntimeError as error:
            if not _is_exchange(error):
                raise
            raise WorkerLost(
                f"the exchange with the other workers failed in {call.value}: {str(error).splitlines()[0]}"
            ) from None
        finally:
            self._broken = self._broken or not done

    def receive(self) -> tuple[Call, Any]:
        """The next call of rank 0. Raises WorkerLost where that is gone."""
        received: list[Any] = [None]
        try:
            dist.broadcast_object_list(received, src=0, group=self._calls)
        except RuntimeError as error:
            self._broken = True
            raise WorkerLost(f"rank 0 is gone: {str(error).splitlines()[0]}") from None
        call, argument = received[0]
        return call, argument

    def share(self, batches: Sequence[T]) -> list[tuple[T, bool]]:
        """This worker's part of the micro-batches, in turns, and for each whether it is padding: every worker
        computes as many, since the weights that one needs come from all.
        """
        if not batches:
            return []
        rounds = -(-len(batches) // self.size)
        places = [turn * self.size + self.rank for turn in range(rounds)]
        return [(batches[place], False) if place < len(batches) else (batches[0], True) for place in places]

    def add_up(self, values: Sequence[float]) -> list[float]:
        """Each of these values, summed over the workers."""
        if self.size == 1:
            return list(values)
        total = torch.tensor(values, dtype=torch.float64, device=self.mesh.device_type)
        dist.all_reduce(total)
        summed: list[float] = total.tolist()
        return summed

    def join_lists(self, values: list[T]) -> list[T]:
        """The lists of all workers, one after the other, at every worker."""
        if self.size == 1:
            return values
        lists: list[list[T]] = [[] for _ in range(self.size)]
        dist.all_gather_object(lists, values)
        return [value for each in lists for value in each]

    def leave(self) -> None:
        """End the group. Rank 0 tells the others, where they can still be told."""
        if self.size == 1 or self._broken:
            return
        if self.rank == 0:
            with suppress(RuntimeError):  # They are gone already.
                dist.broadcast_object_list([(Call.END, None)], src=0, group=self._calls)
        dist.destroy_process_group()


@contextmanager
def join_group(device: str, deadline: float, rendezvous: str | None = None) -> Iterator[WorkerGroup]:
    """The group that this process's environment says it belongs to, as torchrun sets it, or the launcher, or
    Ray; of this process alone where that says nothing. `rendezvous`: the file by which the processes of one
    machine find each other.
    """
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield WorkerGroup()
        return
    try:
        group = _join(device.partition(":")[0], size, deadline, rendezvous)
    except RuntimeError as error:  # as all errors of torch.distributed are
        raise WorkerLost(f"the {size} workers didn't find each other: {str(error).splitlines()[0]}") from None
    try:
        yield group
    finally:
        group.leave()


def _join(kind: str, size: int, deadline: float, rendezvous: str | None) -> WorkerGroup:
    if kind == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    if not dist.is_initialized():
        dist.init_process_group(
            "gloo" if kind == "cpu" else f"cpu:gloo,{kind}:nccl",
            init_method="env://" if rendezvous is None else f"file://{rendezvous}",
            rank=int(os.environ["RANK"]),
            world_size=size,
            timeout=timedelta(seconds=deadline),
        )
    mesh = dist.init_device_mesh(kind, (size,))
    # A process group's timeout is each process's own: who announces doesn't wait for ever.
    announced = timedelta(seconds=deadline) if dist.get_rank() == 0 else _UNLIMITED
    calls = dist.new_group(backend="gloo", timeout=announced)
    dist.barrier(group=calls)  # Connects all: a group's first exchange would wait for one that is gone.
    return WorkerGroup(dist.get_rank(), size, mesh, calls)


def _is_exchange(error: RuntimeError) -> bool:
    """Whether a collective operation failed, and not what this process computes. NCCL raises DistErrors, gloo
    plain RuntimeErrors: those are told by where they come from.
    """
    if isinstance(error, dist.DistError):
        return True
    frames = (frame.f_globals.get("__name__") for frame, _ in traceback.walk_tb(error.__traceback__))
    return type(error) is RuntimeError and any(name in _EXCHANGES for name in frames)
