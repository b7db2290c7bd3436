"""The texts that noise may touch, read from a request's body: by these two views of a turn are compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Text = tuple[str, str]
"""Where a text stands (`user`, or the id of the call that it answers), and the text."""


def texts_of(body: Any) -> list[Text]:
    """The user's texts and the tools' results, in order: one per text part."""
    if "messages" in body:
        return [text for message in body["messages"] for text in _message(message)]
    given = body.get("input", body.get("prompt"))
    if isinstance(given, str):
        return [("user", given)]
    if given and isinstance(given[0], str):
        return [("user", one) for one in given]
    return [text for item in given for text in _item(item)]


def _message(message: Any) -> Iterator[Text]:
    role, content = message["role"], message.get("content")
    if role == "tool":
        yield from _parts(message["tool_call_id"], content)
    elif role == "user" and isinstance(content, list):
        for block in content:
            if block["type"] == "tool_result":
                yield from _parts(block["tool_use_id"], block.get("content"))
            elif block["type"] == "text":
                yield "user", block["text"]
    elif role == "user":
        yield "user", content


def _item(item: Any) -> Iterator[Text]:
    if item.get("type") == "function_call_output":
        yield from _parts(item["call_id"], item["output"])
    elif item.get("role") == "user":
        yield from _parts("user", item["content"])


def _parts(where: str, content: Any) -> Iterator[Text]:
    if isinstance(content, str):
        yield where, content
    else:
        yield from ((where, part["text"]) for part in content or () if "text" in part)
