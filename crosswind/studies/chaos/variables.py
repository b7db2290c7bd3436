"""What an agent is told of its attempt: environment variables, and the placeholders of its command."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from crosswind.gateway.client import OpenedSession
from crosswind.studies.chaos.guard import VARIABLE
from crosswind.studies.chaos.tasks import Task

_OURS = "CROSSWIND_"
_LONGEST = 100_000
"""Linux takes no variable above 128 KiB."""
_LOOPBACK = "127.0.0.1,localhost,::1"


def make_variables(
    task: Task,
    session: OpenedSession,
    sample: int,
    legs: Sequence[Mapping[str, Any]],
    run: str,
    key: str | None = None,
) -> dict[str, str]:
    """The environment of an agent's process: this one's, without our settings and without `key`, the
    provider's, whatever the variables are called that hold it.

    OpenAI's SDKs, LangChain, openai-agents and the Vercel AI SDK read OPENAI_BASE_URL (older ones
    OPENAI_API_BASE) and OPENAI_API_KEY; Anthropic's SDKs and Claude Code read ANTHROPIC_BASE_URL with
    ANTHROPIC_AUTH_TOKEN or ANTHROPIC_API_KEY; `codex exec` reads CODEX_API_KEY, and its base URL from its
    command line only, for which there is `{base_url}`.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.upper().startswith(_OURS) and (not key or value != key)
    }
    root = session.anthropic_base_url
    urls = {one["name"]: (one["kind"], root + one["path"].removeprefix("/s/SESSION")) for one in legs}
    mcp = {name: url for name, (kind, url) in urls.items() if kind == "mcp"}
    apis = {name: url for name, (kind, url) in urls.items() if kind != "mcp"}
    document = task.for_agent
    given = {
        "OPENAI_BASE_URL": session.base_url,
        "OPENAI_API_BASE": session.base_url,
        "OPENAI_API_KEY": session.api_key,
        "CODEX_API_KEY": session.api_key,
        "ANTHROPIC_BASE_URL": root,
        "ANTHROPIC_API_KEY": session.api_key,
        "ANTHROPIC_AUTH_TOKEN": session.api_key,
        "CROSSWIND_BASE_URL": session.base_url,
        "CROSSWIND_API_KEY": session.api_key,
        "CROSSWIND_SESSION": session.id,
        "CROSSWIND_SAMPLE": str(sample),
        "CROSSWIND_TASK_ID": task.id,
        # A longer one is on the standard input only.
        **({"CROSSWIND_TASK": document} if len(document) <= _LONGEST else {}),
        **({"CROSSWIND_MCP_URL": next(iter(mcp.values()))} if len(mcp) == 1 else {}),
        **({"CROSSWIND_MCP_URLS": json.dumps(mcp)} if mcp else {}),
        **({"CROSSWIND_API_URLS": json.dumps(apis)} if apis else {}),
        VARIABLE: run,
        # The gateway isn't behind a proxy, whatever else is.
        **{name: _join(kept.get(name), _LOOPBACK) for name in ("NO_PROXY", "no_proxy")},
        "PYTHONUNBUFFERED": kept.get("PYTHONUNBUFFERED", "1"),
    }
    return {**kept, **given}


def _join(before: str | None, more: str) -> str:
    return f"{before},{more}" if before else more


def fill_command(command: Sequence[str], task: Task, session: OpenedSession) -> tuple[list[str], bool]:
    """The command with its placeholders filled, and whether `{task}` was among them."""
    filled = [
        part.replace("{base_url}", session.base_url)
        .replace("{anthropic_base_url}", session.anthropic_base_url)
        .replace("{api_key}", session.api_key)
        .replace("{id}", task.id)
        .replace("{task}", task.prompt)
        for part in command
    ]
    return filled, any("{task}" in part for part in command)
