"""The policy's view of an agent's messages under a plan: what the gateway does, on messages alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from crosswind.injectors.conversation import Conversation, Ref, ToolCall, ToolResult, ToolSchema, UserText
from crosswind.injectors.engine.decision import KnownText
from crosswind.injectors.engine.faults import decide_faults
from crosswind.injectors.engine.messages import perturb_messages
from crosswind.injectors.engine.plan import Plan
from crosswind.injectors.engine.tools import perturb_tools
from crosswind.injectors.identity import call_anchor, logical_call, text_anchor
from crosswind.simulators.environment import Message, Oracle, Task, load
from crosswind.simulators.episodes.demonstrations import play

RETAIL = load("retail")


class NoisyView:
    """Shows one session's messages under its plan, and remembers what was shown."""

    def __init__(self, plan: Plan, tools: Sequence[Mapping[str, Any]]) -> None:
        self._plan = plan
        functions = [tool["function"] for tool in tools]
        self._tools = tuple(ToolSchema(f["name"], f["description"], f["parameters"]) for f in functions)
        self._known: dict[str, KnownText] = {}
        self._shown = perturb_tools(plan, self._tools)
        self._turns = 0
        self.injected = sum(one.after is not None for one in self._shown.injections)

    def of(self, messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        items: list[UserText | ToolResult] = []
        calls: dict[str, ToolCall] = {}
        users = results = 0
        for position, message in enumerate(messages):
            for call in message.get("tool_calls") or ():
                function = call["function"]
                calls[call["id"]] = ToolCall(call["id"], function["name"], function["arguments"])
                shown_as = self._shown.shown_of.get(function["name"], function["name"])
                assert shown_as not in self._shown.phantoms, "a true tool can always be called"
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
        out = perturb_messages(self._plan, Conversation(tuple(items), self._tools), self._known)
        for new in out.new:
            self._known[new.item.anchor] = KnownText(new.text, new.decisions)
            self.injected += new.text is not None
        self._count_links()
        shown = [dict(message) for message in messages]
        for ref, text in out.replacements.items():
            shown[ref.message]["content"] = text
        return shown

    def _count_links(self) -> None:
        """What this request meets on its way; it gets through when it is sent again."""
        turn, self._turns = self._turns, self._turns + 1
        for attempt in range(self._plan.bounds.faults_per_call + 1):
            at: Any = {"turn": turn, "attempt": attempt, "streaming": True}
            met = decide_faults(self._plan, **at)
            self.injected += len(met)
            if not any(decision.fault for decision, _, _ in met):
                return
        raise AssertionError(f"turn {turn} never gets through")


class Blurred:
    """The oracle as a policy behind a gateway: it sees the noisy view of the messages."""

    def __init__(self, oracle: Oracle, view: NoisyView) -> None:
        self._oracle = oracle
        self._view = view

    def decide(self, messages: Any) -> Message:
        return self._oracle.decide(self._view.of(messages))


def play_noisy(task: Task, plan: Plan, seed: int) -> NoisyView:
    """The view under which the oracle solved the task. Fails where it didn't."""
    view = NoisyView(plan, RETAIL.tools)
    messages, verdict = play(
        RETAIL.reset(task, seed), Blurred(RETAIL.oracle(verifies=True), view), RETAIL.instructions
    )
    assert verdict.reward == 1.0, (task, view.of(messages))
    return view
