"""The policy's view of an agent's messages under a plan: what the gateway does, on messages alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from injectors.conversation import Conversation, Ref, ToolCall, ToolResult, ToolSchema, UserText
from injectors.decide import Known, perturb
from injectors.identity import call_anchor, logical_call, text_anchor
from injectors.plan import Plan


class NoisyView:
    """Shows one session's messages under its plan, and remembers what was shown."""

    def __init__(self, plan: Plan, tools: Sequence[Mapping[str, Any]]) -> None:
        self._plan = plan
        functions = [tool["function"] for tool in tools]
        self._tools = tuple(ToolSchema(f["name"], f["description"], f["parameters"]) for f in functions)
        self._known: dict[str, Known] = {}
        self.injected = 0

    def of(self, messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        items: list[UserText | ToolResult] = []
        calls: dict[str, ToolCall] = {}
        users = results = 0
        for position, message in enumerate(messages):
            for call in message.get("tool_calls") or ():
                function = call["function"]
                calls[call["id"]] = ToolCall(call["id"], function["name"], function["arguments"])
            text = message["content"]
            if message["role"] == "user":
                items.append(UserText(Ref(position), text, text_anchor("user_text", text, users), users))
                users += 1
            elif message["role"] == "tool":
                made = calls[message["tool_call_id"]]
                logical = logical_call(made.name, made.arguments)
                anchor = call_anchor(made.call_id, 0)
                items.append(ToolResult(Ref(position), text, anchor, results, made, logical))
                results += 1
        out = perturb(self._plan, Conversation(tuple(items), self._tools), self._known)
        for new in out.new:
            self._known[new.item.anchor] = Known(new.text, new.decisions)
            self.injected += new.text is not None
        shown = [dict(message) for message in messages]
        for ref, text in out.replacements.items():
            shown[ref.message]["content"] = text
        return shown
