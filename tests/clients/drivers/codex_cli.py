"""A conversation in the shape of Codex CLI's, over raw HTTP: items without ids, reasoning that comes back
encrypted, the environment told again when it changes, and a history that is compacted.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import httpx

from crosswind.testing import Call
from tests.clients import coding
from tests.clients.job import STREAM, Job, Outcome, Row
from tests.clients.patience import asking_again

SESSION = "019a4b6e-9f0e-7c31-8d0a-5f2f6f1f7a55"
HEADERS = {
    "accept": "text/event-stream",
    "openai-beta": "responses=experimental",
    "originator": "codex_cli_rs",
    "conversation_id": SESSION,
    "session_id": SESSION,
    "user-agent": "codex_cli_rs/0.46.0 (Debian 12.0.0; x86_64) xterm-256color",
}
INSTRUCTIONS = "You are a coding agent running in the Codex CLI, a terminal-based coding assistant."
STRINGS = {"type": "array", "items": {"type": "string"}}
TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "name": "shell",
        "description": "Runs a shell command and returns its output.",
        "strict": False,
        "parameters": {
            "type": "object",
            "properties": {
                "command": {**STRINGS, "description": "The command to execute"},
                "workdir": {"type": "string", "description": "The working directory"},
                "timeout_ms": {"type": "number", "description": "The timeout in milliseconds"},
            },
            "required": ["command"],
            "additionalProperties": False,
        },
    },
    {
        "type": "function",
        "name": "update_plan",
        "description": "Updates the task plan.",
        "strict": False,
        "parameters": {
            "type": "object",
            "properties": {"plan": {"type": "array", "items": {"type": "object"}}},
            "required": ["plan"],
            "additionalProperties": False,
        },
    },
    {"type": "web_search"},
]


def shell(*command: str) -> Call:
    return Call("shell", {"command": list(command), "workdir": "/srv/app"})


POLICY = coding.CodingPolicy(
    (
        ((shell("cat", "settings.py"),), (shell("rg", "-n", "PORT"), shell("ls"))),
        ((shell("sed", "-n", "1,40p", "limits.py"),),),
    ),
    {one["name"]: (one["description"], one["parameters"]) for one in TOOLS if one["type"] == "function"},
)


def message(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def environment(date: str) -> dict[str, Any]:
    text = f"<environment_context>\n  <cwd>/srv/app</cwd>\n  <date>{date}</date>\n</environment_context>"
    return message("user", text)


RULES = message("user", "<user_instructions>\n\nUse the project's own words.\n\n</user_instructions>")


@dataclass(slots=True)
class Agent:
    """The agent: its own items, and what it ran."""

    job: Job
    http: httpx.AsyncClient
    items: list[dict[str, Any]] = field(default_factory=list)
    outcome: Outcome = field(default_factory=lambda: Outcome(history=[]))

    async def ask(self, items: list[dict[str, Any]], tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The items of an answer, from the events that close each; asked for again where it has no end."""
        output = await asking_again(self.job, lambda: self._ask(items, tools))
        self.outcome.history.append(output)
        return output

    async def _ask(self, items: list[dict[str, Any]], tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
        body = {
            "model": "large",
            "instructions": INSTRUCTIONS,
            "input": items,
            "tools": tools,
            "tool_choice": "auto",
            "parallel_tool_calls": True,
            "reasoning": {"effort": "medium", "summary": "auto"},
            "store": False,
            "stream": True,
            "include": ["reasoning.encrypted_content"],
            "prompt_cache_key": SESSION,
        }
        headers = {**HEADERS, "authorization": f"Bearer {self.job.api_key}"}
        answer = await self.http.post(f"{self.job.base_url}/responses", json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        events = [json.loads(line[6:]) for line in answer.text.split("\n") if line.startswith("data: ")]
        assert events[-1]["type"] == "response.completed", events[-1]
        return [event["item"] for event in events if event["type"] == "response.output_item.done"]

    async def answer(self) -> str:
        """Calls and results until there is a text alone."""
        while True:
            output = await self.ask(self.items, TOOLS)
            # It sends its items back without the ids that they came with.
            self.items += [
                {name: value for name, value in item.items() if name not in ("id", "status")}
                for item in output
            ]
            calls = [item for item in output if item["type"] == "function_call"]
            if not calls:
                return "".join(item["content"][0]["text"] for item in output if item["type"] == "message")
            self.items += [self._result(call) for call in calls]

    def _result(self, call: dict[str, Any]) -> dict[str, Any]:
        arguments = json.loads(call["arguments"])
        self.outcome.calls.append([call["name"], arguments])
        told = f"Exit code: 0\nWall time: 0.1 seconds\nOutput:\n{coding.output(arguments)}"
        return {"type": "function_call_output", "call_id": call["call_id"], "output": told}

    async def compact(self) -> None:
        """Have the history summarised, and begin again from what the user said and the summary."""
        asking = message(
            "user", "You are performing a CONTEXT CHECKPOINT COMPACTION. Write a handoff summary."
        )
        output = await self.ask([*self.items, asking], [])
        summary = next(item for item in output if item["type"] == "message")["content"][0]["text"]
        told = f"Another language model started to solve this problem and produced a summary: {summary}"
        self.items = [RULES, environment("2026-11-22"), message("user", coding.QUESTIONS[0])]
        self.items.append(message("user", told))


async def converse(job: Job) -> Outcome:
    async with httpx.AsyncClient(trust_env=False, timeout=60) as http:
        agent = Agent(job, http)
        agent.items = [RULES, environment("2026-11-21"), message("user", coding.QUESTIONS[0])]
        agent.outcome.answers.append(await agent.answer())
        await agent.compact()
        agent.items.append(message("user", coding.QUESTIONS[1]))
        agent.outcome.answers.append(await agent.answer())
    return agent.outcome


ROWS = (
    Row(
        "Codex CLI's traffic",
        "Responses",
        converse,
        "after 0.46.0",
        (STREAM,),
        spared=("state",),
        policy=POLICY,
        answers=coding.ANSWERS,
        rewrites=True,
    ),
)
