"""Requests beside the task that a model thinks of for these tools."""

from __future__ import annotations

import json

from crosswind.injectors.operators.model_text import check_general, read_lines
from crosswind.injectors.operators.user.errands import LEAVES_FREE
from crosswind.injectors.operators.user.sentences import appended
from crosswind.injectors.targets import Draw, Result, UserTarget
from crosswind.injectors.wording import written


@written("user.out_of_scope")
class OutOfScope:
    """As many as the rule would make; the rule's last sentence leaves them undone where there is no means."""

    ahead = True

    def ask(self, target: UserTarget, draw: Draw, severity: float) -> tuple[str, str] | None:
        task = (
            "The material says what an assistant's tools can do, and what a user first asked. Write "
            f"{len(draw['requests'])} further requests of the user's, each one sentence on a line of its "
            "own, that none of these tools can serve and that change nothing about the first. Name nothing "
            f"in particular. They come in the user's message number {target.ordinal + 1}."
        )
        tools = {tool.name: tool.description for tool in target.tools}
        return task, json.dumps({"tools": tools, "asked": target.opening}, ensure_ascii=False)

    def apply(self, target: UserTarget, draw: Draw, text: str) -> Result:
        requests = [check_general(line) for line in read_lines(text, len(draw["requests"]), like=target.text)]
        note = "A request that no tool provides came with the user's message."
        return Result(appended(target.text, (*requests, LEAVES_FREE)), note)
