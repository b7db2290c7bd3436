"""What an operator acts on, and what it gives: targets, draws and results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, overload

import msgspec

from crosswind.injectors.conversation import ToolResult, ToolSchema, UserText
from crosswind.injectors.faults import Fault

MODEL_LINK = "model"
"""The link to the provider of models; the others lead to tools."""

Draw = Mapping[str, Any]
"""What a draw decided, as JSON data. Stored in the ledger; `apply` needs nothing else."""


class Recovery(StrEnum):
    """How an agent can still solve the task after the noise."""

    RETRY = "retry"
    OTHER_TOOL = "other_tool"
    ASK_USER = "ask_user"
    IGNORE = "ignore"
    NONE_NEEDED = "none_needed"


class ToolClass(StrEnum):
    """What a tool does to the world. Unknown is treated as destructive: never failed after it took effect."""

    READ_ONLY = "read_only"
    IDEMPOTENT = "idempotent"
    DESTRUCTIVE = "destructive"
    UNKNOWN = "unknown"


class Effect(StrEnum):
    """What an operator does to the answer that it acts on. It decides which classes of tools allow it."""

    REPLACES = "replaces"
    """The answer is gone, or something else stands in its place: only a repeated call brings it back."""
    FALSIFIES = "falsifies"
    """What the answer says is false in parts, and it doesn't say so: another read of the same tells."""
    TRUNCATES = "truncates"
    """A part of the answer is missing, and what is left is true."""
    ADDS = "adds"
    """Something stands beside the answer, which is whole."""
    DELAYS = "delays"
    """The answer comes later, or in pieces, and is whole."""
    REWORDS = "rewords"
    """The same is said in another way."""

    @property
    def destroys(self) -> bool:
        return self in (Effect.REPLACES, Effect.FALSIFIES, Effect.TRUNCATES)


class Withheld(StrEnum):
    """Why noise that was drawn did not act."""

    TOOL_CLASS = "tool_class"
    """The tool's class allows no such fault."""
    BOUNDS = "bounds"
    """The session had met as much as its bounds allow."""
    GUARD = "guard"
    """It would have broken another guarantee, or could not be carried out."""


class Half(StrEnum):
    """The halves of the phrase packs, which share no template: a policy that trains on one is measured on
    the other."""

    TRAIN = "train"
    TEST = "test"


EntryWeights = tuple[tuple[str, float], ...]
"""Weights by the names of pack entries, or globs of names; an entry that none names has weight 1."""


class EarlierTexts(Sequence[UserText | ToolResult]):
    """The texts before one of a conversation. Most noise looks at none, so none is copied. It is equal to the
    tuple of them."""

    __slots__ = ("_before", "_items")

    def __init__(self, items: tuple[UserText | ToolResult, ...], before: int) -> None:
        """`before` is the index of the item before which they stand."""
        self._items, self._before = items, before

    def _copy(self) -> tuple[UserText | ToolResult, ...]:
        return self._items[max(0, self._before - EARLIER_TEXTS) : self._before]

    def __eq__(self, other: object) -> bool:
        return self._copy() == (other._copy() if isinstance(other, EarlierTexts) else other)

    def __hash__(self) -> int:
        return hash(self._copy())

    def __iter__(self) -> Iterator[UserText | ToolResult]:
        return iter(self._copy())

    def __reversed__(self) -> Iterator[UserText | ToolResult]:
        return reversed(self._copy())

    def __len__(self) -> int:
        return min(self._before, EARLIER_TEXTS)

    @overload
    def __getitem__(self, at: int) -> UserText | ToolResult: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[UserText | ToolResult, ...]: ...
    def __getitem__(self, at: int | slice) -> Any:
        return self._copy()[at]

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._copy(),)


class Branch(msgspec.Struct, frozen=True, gc=False):
    """What of its conversation an operator may draw from, besides its target. All texts are clean."""

    half: Half = Half.TRAIN
    """The half of the phrase packs that the session draws from."""
    key: str = ""
    """Seeds what is drawn once for the whole session."""
    opening: str = ""
    """What the user said first in this conversation."""
    earlier: Sequence[UserText | ToolResult] = ()
    """The texts before this one, `EARLIER_TEXTS` at most."""
    phrases: frozenset[str] = frozenset()
    """The pack entries that this conversation has met: the members `phrases` of its draws."""
    called: frozenset[str] = frozenset()
    """The tools whose calls have been answered."""
    entries: EntryWeights = ()
    """How often the rule draws which pack entries."""


EARLIER_TEXTS = 64
NO_BRANCH = Branch()


@dataclass(frozen=True, slots=True)
class UserTarget:
    """A user's text. `protected` holds the spans [start, end) of entities that must survive unchanged."""

    text: str
    ordinal: int
    protected: Sequence[tuple[int, int]] = ()
    tools: tuple[ToolSchema, ...] = ()
    user_can_answer: bool = True
    clean: str | None = None
    """What the user said, where other noise has come to it; None: `text` itself."""
    branch: Branch = NO_BRANCH
    unsettled: tuple[str, ...] = ()
    """The words that the same rule has put in doubt in an earlier message, and not settled yet."""
    before_contradiction: str | None = None
    """The text as it was before other noise has contradicted it or put it in doubt; None: none has."""

    @property
    def own(self) -> str:
        """The user's own words: what is put in doubt, or called final, must be one of them."""
        return self.text if self.clean is None else self.clean


@dataclass(frozen=True, slots=True)
class InstructionsTarget:
    """The instructions of a model that plays the user."""

    text: str
    ordinal: int
    branch: Branch = NO_BRANCH


@dataclass(frozen=True, slots=True)
class ToolResultTarget:
    """A tool's result. `prior_faults` counts the faults that this logical call has met on this branch."""

    text: str
    ordinal: int
    tool: str
    arguments: str
    tool_class: ToolClass
    prior_faults: int = 0
    tools: tuple[ToolSchema, ...] = ()
    beside: str = ""
    """What stands around it where it is a part of a user's message: the goal, say, and possible actions."""
    branch: Branch = NO_BRANCH


@dataclass(frozen=True, slots=True)
class TransportTarget:
    """One exchange on a link. `attempt` counts the client's attempts at the same turn, from 0."""

    link: str
    ordinal: int
    attempt: int = 0
    streaming: bool = False
    opted_in: bool = False
    """Whether the operator of the gateway lets this exchange take place again, though a tool acts."""

    @property
    def repeatable(self) -> bool:
        """Whether the exchange may take place again: a model's answer only costs tokens, a tool acts."""
        return self.link == MODEL_LINK or self.opted_in


@dataclass(frozen=True, slots=True)
class ModelTarget:
    """One request to the model. `ordinal` counts turns from 0, `attempt` the attempts at this one."""

    ordinal: int
    attempt: int = 0
    streaming: bool = False


@dataclass(frozen=True, slots=True)
class ToolTarget:
    """A declared tool, as it is shown so far.

    `declared` are all tools of the list as the client declared them; `taken` are the names that no added tool
    may have. `apply` may use `tool` only: the rest changes when the client's list does.
    """

    tool: ToolSchema
    declared: tuple[ToolSchema, ...] = ()
    taken: frozenset[str] = frozenset()
    branch: Branch = NO_BRANCH
    tool_class: ToolClass = ToolClass.UNKNOWN


Target = UserTarget | InstructionsTarget | ToolResultTarget | TransportTarget | ModelTarget | ToolTarget


@dataclass(frozen=True, slots=True)
class AddedTool:
    """A tool that stands in the list because of noise only.

    With a name it is a phantom: its calls never reach the agent, `answers` holds what the first, second, ...
    of them gets (the last one again from then on). Without one it is a duplicate: it has the name of the tool
    at hand, and its calls reach the agent. It stands behind the declared tool `behind`, or first for "".
    """

    name: str | None
    description: str | None
    parameters: Mapping[str, Any]
    answers: tuple[str, ...] = ()
    behind: str = ""


@dataclass(frozen=True, slots=True)
class ToolChange:
    """What becomes of one declared tool."""

    tool: ToolSchema
    """The tool under its name, description and parameters from now on."""
    added: tuple[AddedTool, ...] = ()
    behind: str | None = None
    """The declared tool behind which it stands from now on; "": first; None: where it stood."""
    order: str | None = None
    """The seed of a shuffle of the whole list; None: no shuffle."""
    takes: Mapping[str, str] = field(default_factory=dict)
    """The type that the tool takes, per parameter that is now declared with another one."""


@dataclass(frozen=True, slots=True)
class Result:
    """What `apply` gives: the payload in the target's place (a text, a tool's change, or a fault; a fault's
    settings will do) and a note on what it did."""

    payload: str | ToolChange | Fault | Mapping[str, Any]
    note: str
