"""A conversation in the shape of Claude Code's, over raw HTTP: reminders that change each turn, cache markers
that move, strings that become blocks, calls beside the conversation, and a history that is compacted.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import httpx

from crosswind.testing import Call
from tests.clients import coding
from tests.clients.drivers.curl import blocks_of
from tests.clients.job import STREAM, Job, Outcome, Row
from tests.clients.patience import asking_again, usable

HEADERS = {
    "anthropic-version": "2023-06-01",
    "anthropic-beta": "claude-code-20250219,interleaved-thinking-2025-05-14",
    "anthropic-dangerous-direct-browser-access": "true",
    "user-agent": "claude-cli/2.0.14 (external, cli)",
    "x-app": "cli",
    "x-stainless-lang": "js",
    "x-stainless-retry-count": "0",
    "x-stainless-timeout": "600",
}
MARKER = {"type": "ephemeral"}
IDENTITY = "You are Claude Code, Anthropic's official CLI for Claude."
PROMPT = "You are an interactive CLI tool that helps users with software engineering tasks. Be concise."
CONTINUED = (
    "This session is being continued from a previous conversation that ran out of context. The conversation "
    "is summarized below:\n"
)


def tool(name: str, description: str, required: str, *optional: str) -> dict[str, Any]:
    properties = {one: {"type": "string", "description": f"The {one}."} for one in (required, *optional)}
    schema = {"type": "object", "properties": properties, "required": [required]}
    return {"name": name, "description": description, "input_schema": schema}


TOOLS = [
    tool("Bash", "Executes a given bash command in a persistent shell session.", "command", "description"),
    tool("Grep", "A powerful search tool built on ripgrep.", "pattern", "path"),
    tool("Read", "Reads a file from the local filesystem.", "file_path", "limit"),
    tool("TodoWrite", "Use this tool to create and manage a structured task list.", "todos"),
]
POLICY = coding.CodingPolicy(
    (
        (
            (Call("Read", {"file_path": "/srv/app/settings.py"}),),
            (
                Call("Grep", {"pattern": "PORT", "path": "/srv/app"}),
                Call("Bash", {"command": "ls", "description": "List the files"}),
            ),
        ),
        ((Call("Read", {"file_path": "/srv/app/limits.py"}),),),
    ),
    {one["name"]: (one["description"], one["input_schema"]) for one in TOOLS},
)


@dataclass(slots=True)
class Agent:
    """The agent: its own messages, kept clean, and what it makes of them for each request."""

    job: Job
    http: httpx.AsyncClient
    messages: list[dict[str, Any]] = field(default_factory=list)
    outcome: Outcome = field(default_factory=Outcome)
    requests: int = 0

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        """A JSON document, or a stream's events; asked for again where none comes whole."""
        return await asking_again(self.job, lambda: self._post(path, body))

    async def _post(self, path: str, body: dict[str, Any]) -> Any:
        headers = {**HEADERS, "authorization": f"Bearer {self.job.api_key}"}
        url = f"{self.job.anthropic_base_url}/v1/messages{path}?beta=true"
        answer = await self.http.post(url, json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        if not body.get("stream"):
            return answer.json()
        events = [json.loads(line[6:]) for line in answer.text.split("\n") if line.startswith("data: ")]
        assert events[-1]["type"] == "message_stop", f"the stream ended with {events[-1]}"
        return events

    def body(self, messages: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
        system = [{"type": "text", "text": text, "cache_control": MARKER} for text in (IDENTITY, PROMPT)]
        return {
            "model": "large",
            "messages": messages,
            "system": system,
            "tools": TOOLS,
            "metadata": {"user_id": "user_4f1c_account__session_0c2b"},
            "max_tokens": 32000,
            "thinking": {"type": "enabled", "budget_tokens": 31999},
            "temperature": 1,
            "stream": True,
            **more,
        }

    def shown(self) -> list[dict[str, Any]]:
        """The messages as this request has them: the last one in blocks, with the marker and a reminder."""
        self.requests += 1
        *before, last = self.messages
        content = last["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        if self.requests % 2 == 0:
            blocks.append(
                {"type": "text", "text": reminder(f"{self.requests} of your turns had no todo list.")}
            )
        return [*before, {**last, "content": [*blocks[:-1], {**blocks[-1], "cache_control": MARKER}]}]

    async def aside(self) -> None:
        """The calls that the agent makes before the first answer: a quota check, and the topic's title."""
        small = {"model": "small", "metadata": {"user_id": "user_4f1c_account__session_0c2b"}}
        quota = {**small, "max_tokens": 1, "messages": [{"role": "user", "content": "quota"}]}
        await self.post("", quota)
        ask = (
            "Analyze if this message indicates a new conversation topic. Answer with a title of 2 or 3 words."
        )
        title = {**small, "max_tokens": 512, "system": [{"type": "text", "text": ask}], "stream": True}
        said = await self.post("", {**title, "messages": [{"role": "user", "content": coding.QUESTIONS[0]}]})
        self.outcome.history = [blocks_of(said)]

    async def answer(self) -> str:
        """Calls and results until there is a text alone."""
        while True:
            messages = self.shown()
            counted = self.body(messages)
            for name in ("max_tokens", "stream", "metadata", "temperature"):
                del counted[name]
            count = await self.post("/count_tokens", counted)
            content = await asking_again(self.job, partial(self._content, self.body(messages)))
            self.messages.append({"role": "assistant", "content": content})
            self.outcome.history.append([count, content])
            calls = [block for block in content if block["type"] == "tool_use"]
            if not calls:
                return "".join(block["text"] for block in content if block["type"] == "text")
            self.messages.append({"role": "user", "content": [self._result(call) for call in calls]})

    async def _content(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        """An answer's blocks."""
        events = await self._post("", body)
        content = blocks_of(events)
        calls = [(one["id"], one["name"], one["input"]) for one in content if one["type"] == "tool_use"]
        text = "".join(block["text"] for block in content if block["type"] == "text")
        ended = events[-2]["delta"]["stop_reason"] in ("end_turn", "tool_use")
        usable(text, calls, ended=ended, tools=[tool["name"] for tool in TOOLS])
        return content

    def _result(self, call: dict[str, Any]) -> dict[str, Any]:
        self.outcome.calls.append([call["name"], call["input"]])
        text = coding.output(call["input"])
        # Some results come as a string, others as blocks.
        content: Any = [{"type": "text", "text": text}] if call["name"] == "Grep" else text
        return {"type": "tool_result", "tool_use_id": call["id"], "content": content, "is_error": False}

    async def compact(self) -> None:
        """Have the history summarised, and begin again from the summary."""
        asking = {
            "role": "user",
            "content": "Your task is the compaction of this conversation: summarise it.",
        }
        body = self.body([*self.messages, asking])
        del body["tools"]
        summary = blocks_of(await self.post("", body))
        text = "".join(block["text"] for block in summary if block["type"] == "text")
        self.messages = [{"role": "user", "content": [{"type": "text", "text": CONTINUED + text}]}]


def reminder(text: str) -> str:
    return f"<system-reminder>\n{text}\n</system-reminder>"


async def converse(job: Job) -> Outcome:
    async with httpx.AsyncClient(trust_env=False, timeout=60) as http:
        agent = Agent(job, http)
        await agent.aside()
        context = reminder("# claudeMd\nUse the project's own words.\n# currentDate\n2026-11-21")
        opening = [{"type": "text", "text": text} for text in (context, coding.QUESTIONS[0])]
        agent.messages.append({"role": "user", "content": opening})
        agent.outcome.answers.append(await agent.answer())
        await agent.compact()
        agent.messages[0]["content"].append({"type": "text", "text": coding.QUESTIONS[1]})
        agent.outcome.answers.append(await agent.answer())
    return agent.outcome


ROWS = (
    Row(
        "Claude Code's traffic",
        "Messages",
        converse,
        "after 2.0.14",
        (STREAM,),
        spared=("state",),
        policy=POLICY,
        answers=coding.ANSWERS,
        rewrites=True,
    ),
)
