"""BFCL's entries as tasks: their categories, splits, tools and gold calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import blake2b
from typing import Any

from .multi_turn import World, execute_gold
from .package import Document, more_functions, pairs, simulator_tools, write_tool
from .single_turn import Stand, find_gold
from .tool_classes import observe
from .values import Call

INSTRUCTIONS = "You serve the user with the tools that you have. Case: "

MULTI_TURN = ("multi_turn_base", "multi_turn_long_context", "multi_turn_miss_param", "multi_turn_miss_func")
SINGLE_TURN = (
    *("simple_python", "multiple", "parallel", "parallel_multiple", "irrelevance"),
    *("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple", "live_irrelevance"),
)
CATEGORIES = (*MULTI_TURN, *SINGLE_TURN)
KINDS: Mapping[str, Sequence[str]] = {
    "all": CATEGORIES,
    "practice": ("multi_turn_base", "simple_python", "multiple", "parallel", "parallel_multiple"),
    "multi_turn": MULTI_TURN,
    "single_turn": SINGLE_TURN,
    **{category: (category,) for category in CATEGORIES},
}


@dataclass(frozen=True)
class Entry:
    """One entry of BFCL."""

    category: str
    document: Document
    truth: Any
    """The ground truth as BFCL writes it; None: nothing is to be called."""

    @property
    def id(self) -> str:
        return str(self.document["id"])

    @property
    def split(self) -> str:
        """`train` or `test`: half of the entries each, drawn by their ids."""
        return ("train", "test")[blake2b(self.id.encode(), digest_size=1).digest()[0] % 2]

    @property
    def in_turns(self) -> bool:
        return self.category in MULTI_TURN

    @cached_property
    def said(self) -> list[str]:
        """What the user says, turn by turn."""
        return [turn[-1]["content"] if turn else more_functions() for turn in self.document["question"]]

    @cached_property
    def held_back(self) -> Mapping[str, int]:
        """By tool that the agent isn't given from the beginning, the turn that brings it."""
        missed = self.document.get("missed_function") or {}
        return {name: int(turn) for turn, names in missed.items() for name in names}

    def tools_in(self, turn: int) -> list[Document]:
        """The tools that the agent has in a turn."""
        return [tool for tool in self.tools if self.held_back.get(tool["name"], 0) <= turn]

    @cached_property
    def instructions(self) -> str:
        first = self.document["question"][0]
        system = [message["content"] for message in first if message["role"] == "system"]
        return "\n".join((*system, f"{INSTRUCTIONS}{self.id}"))

    @cached_property
    def tools(self) -> list[Document]:
        """The tools, as the OpenAI chat API has them in `function`."""
        if not self.in_turns:
            return [write_tool(one) for one in self.document["function"]]
        left_out = set(self.document.get("excluded_function") or ())
        found = [tool for name in self.document["involved_classes"] for tool in simulator_tools(name)]
        return [tool for tool in found if tool["name"] not in left_out]

    @cached_property
    def tool_classes(self) -> Mapping[str, str]:
        """What the tools do to the world. A single-turn call that is made again changes nothing more."""
        if not self.in_turns:
            return {tool["name"]: "idempotent" for tool in self.tools}
        found = observe()
        return {tool["name"]: found[tool["name"]] for tool in self.tools if tool["name"] in found}

    @cached_property
    def calls(self) -> list[list[Call]]:
        """The gold calls of each turn with their results."""
        if self.in_turns:
            return execute_gold(self.document, self.truth)
        return [find_gold(self.document, self.truth, self.said[0])]

    def open_world(self) -> World | Stand:
        return (World if self.in_turns else Stand)(self.document, self.truth)


@cache
def read_category(category: str) -> Mapping[str, Entry]:
    """A category's entries by id. Those that begin in the middle of a conversation are left out."""
    entries = (Entry(category, *pair) for pair in pairs(category))
    return {
        entry.id: entry
        for entry in entries
        if [one["role"] for one in entry.document["question"][0]] in (["user"], ["system", "user"])
    }


def find_entry(task_id: str) -> Entry:
    """The entry of that id. LookupError for an id that is none."""
    # Live ones are named CATEGORY_0-0-0, all others CATEGORY_0.
    entry = None
    category = task_id.rpartition("_")[0]
    if category in CATEGORIES:
        entry = read_category(category).get(task_id)
    if entry is None:
        raise LookupError(f"there is no task {task_id!r}")
    return entry


@cache
def order_tasks(split: str, kinds: str, seed: int) -> Sequence[Entry]:
    """A split's entries, the kinds in turn, in the order that the seed determines."""
    if kinds not in KINDS:
        raise ValueError(f"kinds: there is no {kinds!r}; use one of {', '.join(KINDS)}")
    queues = [
        sorted(
            (entry for entry in read_category(category).values() if entry.split == split),
            key=lambda entry: blake2b(f"{seed} {entry.id}".encode(), digest_size=8).digest(),
        )
        for category in KINDS[kinds]
    ]
    return list(_in_turn([iter(queue) for queue in queues]))


def _in_turn(queues: list[Iterator[Entry]]) -> Iterator[Entry]:
    """One of each, again and again, until all are empty."""
    while queues:
        for queue in list(queues):
            if (entry := next(queue, None)) is None:
                queues.remove(queue)
            else:
                yield entry
