"""A library's own pack of one phrase, a profile that weighs it, and a search whose results it fits; those of
the tests' flights and orders, too."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

WORDS = "Shelf marks are brought up to date once a day."
ENTRY = "en/general@70#lib-1"
"""As events name it."""
TOOL = "search_catalogue"
RESULT = {"item": "B-204", "title": "The Stranger", "copies": 3, "state": "on the shelf"}
PROFILE = """\
name: library
version: 1
rules: [{operator: tool.misleading, severity: 1.0, entries: {"en/general#lib-*": 5}}]
"""
SERVER = [
    sys.executable,
    "-c",
    f"""
import json, sys
for line in sys.stdin:
    one = json.loads(line)
    text = json.dumps({RESULT!r})
    result = {{"content": [{{"type": "text", "text": text}}]}}
    print(json.dumps({{"jsonrpc": "2.0", "id": one["id"], "result": result}}), flush=True)
""",
]
"""An MCP server over stdio that answers everything with the result."""


def write_packs(folder: Path, *, version: int = 70, words: str = WORDS) -> Path:
    """A folder with the pack."""
    header = {"pack": "en/general", "version": version, "licence": "CC0-1.0"}
    entry = {"id": "lib-1", "for": "tool.misleading", "part": "remark", "half": "train", "text": words}
    rows: list[dict[str, Any]] = [header, {**entry, "about": ["item", "catalogue", "flight", "order"]}]
    file = folder / "packs" / "en" / "general.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return folder / "packs"


def write_profile(folder: Path) -> Path:
    file = folder / "library.yaml"
    file.write_text(PROFILE)
    return file


def conversation() -> dict[str, Any]:
    """A search, as a request's body."""
    called = {"name": TOOL, "arguments": '{"title": "The Stranger"}'}
    return {
        "model": "tiny",
        "tools": [{"type": "function", "function": {"name": TOOL, "parameters": {"type": "object"}}}],
        "messages": [
            {"role": "user", "content": "Do you have The Stranger by Camus?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c1", "type": "function", "function": called}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": json.dumps(RESULT)},
        ],
    }
