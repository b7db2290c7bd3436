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
    for recorded in read_stored_conversations(store, limit):
        schemas = recorded.conversation.tools
        for schema in schemas:
            tools.setdefault(schema.name, classify(schema.name, recorded.tool_classes, schemas))
        prompt = read_prompt(recorded)
        if prompt and prompt not in tasks:
            # Sessions are named, so that a person finds what came of them.
            tasks[prompt] = {"id": recorded.name, "prompt": prompt}
    return Material(list(tasks.values()), tools)


def read_prompt(recorded: RecordedConversation) -> str:
    """The user's texts before the first answer."""
    texts: list[Item] = [
        one for one in recorded.first_request.conversation.items if isinstance(one, UserText)
    ]
    return "\n".join(one.text for one in texts).strip()
