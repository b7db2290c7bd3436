"""Tasks and tools out of recorded sessions."""

from __future__ import annotations

from typing import Any

from crosswind.gateway.trajectory.store import Store
from crosswind.injectors.conversation import Item, UserText
from crosswind.injectors.guard.tool_classes import classify
from crosswind.injectors.targets import ToolClass
from crosswind.studies.check.stored_conversations import read_stored_conversations
from crosswind.studies.conversations import RecordedConversation
from crosswind.studies.init.files import Material


def read_material(store: Store, limit: int) -> Material:
    """What the newest sessions began with, each text once, and the tools that they declared."""
    tasks: dict[str, dict[str, Any]] = {}
    tools: dict[str, ToolClass] = {}
    stored = store.counts()["sessions"]
    newest = min(stored, limit)
    repeated = 0
    for recorded in read_stored_conversations(store, limit):
        schemas = recorded.conversation.tools
        for schema in schemas:
            tools.setdefault(schema.name, classify(schema.name, recorded.tool_classes, schemas))
        prompt = read_prompt(recorded)
        if prompt in tasks:
            repeated += 1
        elif prompt:
            # Sessions are named, so that a person finds what came of them.
            tasks[prompt] = {"id": recorded.name, "prompt": prompt}
    left_out = {
        f"older than the newest {limit} (--limit)": stored - newest,
        "with the first words of a newer one": repeated,
        "whose first words weren't kept": newest - repeated - len(tasks),
    }
    return Material(
        list(tasks.values()), tools, {reason: count for reason, count in left_out.items() if count > 0}
    )


def read_prompt(recorded: RecordedConversation) -> str:
    """The user's texts before the first answer."""
    texts: list[Item] = [
        one for one in recorded.first_request.conversation.items if isinstance(one, UserText)
    ]
    return "\n".join(one.text for one in texts).strip()
