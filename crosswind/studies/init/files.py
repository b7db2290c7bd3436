"""The files, as texts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from crosswind.injectors.targets import ToolClass


@dataclass(frozen=True, slots=True)
class Material:
    """What the files are made of."""

    tasks: Sequence[Mapping[str, Any]]
    tools: Mapping[str, ToolClass]
    left_out: Mapping[str, int] = field(default_factory=dict)
    """How many recorded sessions give no task, by the reason."""


EXAMPLE = Material(
    [
        {"id": f"order-{number}", "prompt": f"What is the status of order W{number}?", "expect": status}
        for number, status in ((17, "shipped"), (18, "cancelled"), (19, "delivered"), (20, "pending"))
    ],
    {"get_order": ToolClass.READ_ONLY},
)

_HEAD = """\
# The gateway of `crosswind chaos --config crosswind.yaml`; docs/chaos.md says more.
# The upstream's key is best in the environment: CROSSWIND_UPSTREAM_KEY.
"""
_TOOLS = """
# What the tools do: read_only, idempotent, destructive or unknown. Results are destroyed only where the call
# may be made again, which of unknown ones nobody knows.
"""

AGENT = '''\
"""An agent for a first run: replace it by your own, in any language.

The task comes on standard input; OPENAI_BASE_URL and OPENAI_API_KEY are set. What it prints is the answer.
"""

import json
import os
import sys

from openai import OpenAI

ORDERS = {"W17": "shipped", "W18": "cancelled", "W19": "delivered", "W20": "pending"}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_order",
            "description": "Read an order and its status.",
            "parameters": {
                "type": "object",
                "properties": {"order": {"type": "string"}},
                "required": ["order"],
            },
        },
    }
]


def get_order(order):
    return {"order": order, "status": ORDERS.get(order, "unknown"), "carrier": "DHL", "items": 2}


def main():
    client = OpenAI()
    messages = [{"role": "user", "content": sys.stdin.read()}]
    for _ in range(10):
        answer = client.chat.completions.create(
            model=os.environ.get("MODEL", "gpt-5-mini"), messages=messages, tools=TOOLS
        )
        message = answer.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            print(message.content)
            return
        for call in message.tool_calls:
            result = get_order(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})


main()
'''


def make_files(material: Material, upstream: str) -> dict[str, str]:
    """The files by name."""
    tools = {name: kind.value for name, kind in sorted(material.tools.items())}
    config = _HEAD + yaml.safe_dump({"upstream": upstream})
    if tools:
        config += _TOOLS + yaml.safe_dump({"tool_classes": tools}, allow_unicode=True)
    lines = [json.dumps(task, ensure_ascii=False) for task in material.tasks]
    return {"crosswind.yaml": config, "tasks.jsonl": "\n".join(lines) + "\n", "agent.py": AGENT}
