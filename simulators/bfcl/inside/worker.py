"""The worker process: BFCL as an environment over HTTP. It prints its port, and ends when its input does."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Sequence
from itertools import count
from typing import Any

from .arguments import find_mismatch
from .entries import INSTRUCTIONS, KINDS, Entry, find_entry, order_tasks
from .gold_agent import ASK, GAVE_UP, GoldAgent
from .server import Answer, Server
from .tool_classes import observe

PATIENCE = 3
"""Questions that the user answers in a turn, by saying the turn's message again."""
_CASE = re.compile(rf"{re.escape(INSTRUCTIONS)}([\w-]+)")
_numbers = count(1)


Objects = Sequence[dict[str, Any]]


def describe_tools(tools: Objects) -> Objects:
    return [{"type": "function", "function": tool} for tool in tools]


class Episode:
    """One attempt: the user says one message after the other, the tools act on a world of its own."""

    def __init__(self, entry: Entry) -> None:
        self._entry = entry
        self._turn = self._asked = 0
        self.world = entry.open_world()

    def call(self, name: str, arguments: dict[str, Any]) -> str:
        """A call's result. One that no strict server would accept is refused, and nothing is done."""
        tool = next((one for one in self._entry.tools_in(self._turn) if one["name"] == name), None)
        if tool is None:
            return json.dumps({"error": f"there is no tool {name}"})
        if wrong := find_mismatch(tool, arguments):
            return json.dumps({"error": wrong})
        return self.world.call(name, arguments)

    def reply(self, text: str) -> str | None:
        """What the user says next. A turn is over when the agent says something and calls nothing, unless it
        asks before it has done anything; in turns in which nothing is to be done a question ends the turn."""
        said = self._entry.said
        asks = "?" in text and not self.world.acted and bool(self._entry.calls[self._turn])
        if text == ASK or (asks and self._asked < PATIENCE):
            self._asked += 1
            # Asked once more, the user starts from the beginning.
            return said[self._turn] if self._asked == 1 else "\n".join(said[: self._turn + 1])
        if text == GAVE_UP or self._turn + 1 == len(said):
            return None
        self._turn, self._asked = self._turn + 1, 0
        self.world.begin_turn()
        return said[self._turn]

    @property
    def new_tools(self) -> Objects | None:
        """The tools from this turn on, where it brings some."""
        brings = self._turn in self._entry.held_back.values()
        return describe_tools(self._entry.tools_in(self._turn)) if brings else None


class Worker:
    """What answers the calls of the environment protocol."""

    def __init__(self) -> None:
        self._episodes: dict[str, Episode] = {}
        # The simulators are plain Python on one interpreter: several calls at once would gain nothing.
        self._one_at_a_time = threading.Lock()

    def environment(self) -> Answer:
        kinds = {name: list(kinds) for name, kinds in KINDS.items()}
        return {
            "name": "bfcl",
            "instructions": INSTRUCTIONS,
            "tools": [],
            "tool_classes": observe(),
            "kinds": kinds,
            "oracle": True,
        }

    def tasks(self, split: str, kinds: str, seed: int, first: int, count: int) -> Answer:
        found = order_tasks(split, kinds, seed)
        return {"tasks": [_describe(one) for one in found[first : first + count]]}

    def task(self, id: str) -> Answer:
        return _describe(find_entry(id))

    def reset(self, task: str, seed: int) -> Answer:
        entry = find_entry(task)
        with self._one_at_a_time:
            episode = Episode(entry)
            key = str(next(_numbers))
            self._episodes[key] = episode
            return {
                "episode": key,
                "opening": entry.said[0],
                "scenario": "You play a user of an assistant. What you say, message by message:\n"
                + "\n".join(f"- {text}" for text in entry.said),
                "instructions": entry.instructions,
                "tools": describe_tools(entry.tools_in(0)),
                "tool_classes": entry.tool_classes,
            }

    def call(self, episode: str, name: str, arguments: str) -> Answer:
        try:
            given = json.loads(arguments)
        except (ValueError, RecursionError) as error:
            return {"result": json.dumps({"error": f"arguments are not JSON: {error}"})}
        if not isinstance(given, dict):
            return {"result": json.dumps({"error": "arguments are not an object"})}
        with self._one_at_a_time:
            return {"result": self._find(episode).call(name, given)}

    def reply(self, episode: str, text: str) -> Answer:
        with self._one_at_a_time:
            found = self._find(episode)
            reply, tools = found.reply(text), found.new_tools
            return {"reply": reply} if tools is None else {"reply": reply, "tools": tools}

    def verify(self, episode: str) -> Answer:
        with self._one_at_a_time:
            reward, components = self._find(episode).world.verify()
        return {"reward": reward, "components": components}

    def close(self, episode: str) -> Answer:
        self._find(episode).world.close()
        del self._episodes[episode]
        return {}

    def decide(self, messages: Objects, tools: Objects, recovers: bool, verifies: bool) -> Answer:
        """The gold agent's next message; the system prompt says which case it is."""
        case = _CASE.search(str(messages[0]["content"]))
        if case is None:
            raise ValueError(f"messages: the first one doesn't say {INSTRUCTIONS!r}")
        with self._one_at_a_time:
            return {"message": GoldAgent(find_entry(case[1]), recovers=recovers).decide(messages, tools)}

    def _find(self, episode: str) -> Episode:
        if episode not in self._episodes:
            raise LookupError(f"there is no episode {episode!r}")
        return self._episodes[episode]


def _describe(entry: Entry) -> Answer:
    return {"id": entry.id, "split": entry.split, "kind": entry.category}


CALLS = ("environment", "tasks", "task", "reset", "call", "reply", "verify", "close", "decide")


def main() -> None:
    """Serve until standard input ends, as it does when the process that started this one is gone."""
    worker = Worker()
    server = Server({name: getattr(worker, name) for name in CALLS})
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()
