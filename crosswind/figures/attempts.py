"""What figures are computed from: attempts at tasks, with the faults that each one met.

A *task* is attempted several times: clean and noisy, in one or more *samples*. Attempts of the same task are
paired. An attempt that failed for a reason which isn't the agent's is *void*: no figure counts it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec


class Arm(StrEnum):
    """Whether an attempt was assigned noise."""

    CLEAN = "clean"
    NOISY = "noisy"


class Component(StrEnum):
    """What noise perturbs of the agent's decision process (RobustBench-TC)."""

    OBSERVATION = "observation"
    """What the agent is told: users' messages, and the wording of tools."""
    ACTION = "action"
    """Which actions there are: tools added, renamed, or listed twice."""
    REWARD = "reward"
    """What an action seems to cost: cues and descriptions about price and time."""
    TRANSITION = "transition"
    """What an action brings about: results of tools, the link, the provider."""


class Reaction(StrEnum):
    """What the agent did after a fault."""

    NOTICED = "noticed"
    """It spoke of the fault, and made no further call."""
    RETRIED = "retried"
    """It made the same call, or the same request, again."""
    WORKED_AROUND = "worked_around"
    """It went on by another call."""
    INVENTED = "invented"
    """It stated a value that no message or result had shown."""
    GAVE_UP = "gave_up"
    """It ended without another call, without a word of it, and without a solution."""
    LOOPED = "looped"
    """It made the same call three times or more without a new result."""


class Void(StrEnum):
    """Why an attempt doesn't count: the failure isn't the agent's."""

    GATEWAY = "gateway"
    UPSTREAM = "upstream"
    CHECKER = "checker"
    JUDGE = "judge"
    TIMEOUT = "timeout"
    """A time limit of ours, not of the task."""
    INFRASTRUCTURE = "infrastructure"
    """Something else that isn't the agent, in the words of who played it: see the note."""
    NO_REQUEST = "no_request"
    """It succeeded without a request through the gateway, so that no noise could have met it."""
    NOISE_STOPPED = "noise_stopped"
    """Noise was switched off while it was played."""


class ErrorMode(StrEnum):
    """How a failed attempt failed. The first one that holds counts, in this order."""

    EMPTY = "empty"
    """It neither said nor called anything."""
    OMITTED = "omitted"
    """It answered without any call."""
    LOOP = "loop"
    """It made the same call three times or more without a new result."""
    NOT_EXECUTED = "not_executed"
    """Understood but not executed: everything was read, and the write never made."""
    WRONG_CALL = "wrong_call"
    """Its calls weren't the right ones: another tool, or other arguments."""
    OTHER = "other"


class Fault(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Noise that acted, once."""

    operator: str
    kind: str
    """The operator's family: user, schema, tool, state, transport, model."""
    component: Component | None
    """None: an operator that isn't known here."""
    tool: str | None = None
    turn: int
    """From 0; -1 on a tool leg, whose events belong to no turn."""
    stage: int | None = None
    """The third of the attempt's turns, 0 to 2; None on a tool leg without a turn."""
    leg: str = "model"
    """model, or the link of a tool leg."""
    reaction: Reaction | None = None
    """None: it wasn't read."""
    recovered: bool | None = None
    """Whether the attempt got past it: a later call brought what was lost. None: it wasn't read, or nothing
    was lost."""
    turns_to_recover: int | None = None


class Withheld(msgspec.Struct, frozen=True, gc=False):
    """Noise that was drawn and did not act, and why."""

    operator: str
    reason: str
    count: int


class Attempt(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One attempt at a task."""

    task: str
    sample: int = 0
    arm: Arm = Arm.CLEAN
    profile: str | None = None
    sessions: tuple[str, ...] = ()
    """The ids of its sessions in the store."""
    success: float | None = None
    """From 0 to 1; None: not known, as in a void attempt or before its reward."""
    void: Void | None = None
    note: str = ""
    """What else a person should know: how the agent's process ended, what a checker said."""
    turns: int = 0
    tool_calls: int | None = None
    """None: not counted."""
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float | None = None
    """None: not told."""
    cost: float | None = None
    faults: tuple[Fault, ...] = ()
    assigned: tuple[str, ...] = ()
    """The operators that its plan has a rule for."""
    eligible: Mapping[str, int | None] = {}
    """By operator, the places that it could have acted at; None: not counted."""
    withheld: tuple[Withheld, ...] = ()
    no_noise: tuple[str, ...] = ()
    """Why nothing was drawn in some of its requests."""
    error_mode: ErrorMode | None = None

    @property
    def counts(self) -> bool:
        """Whether figures on success count it."""
        return self.void is None and self.success is not None

    @property
    def exposed(self) -> bool:
        """Whether it met any noise."""
        return bool(self.faults)

    def met(self, operator: str) -> bool:
        """Whether it met noise of this operator."""
        return any(fault.operator == operator for fault in self.faults)
