"""Which system stands behind a tool: tools of one backend share its format of errors, and its outages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from crosswind.injectors.conversation import ToolList, ToolSchema
from crosswind.injectors.guard.tool_evidence import words_of
from crosswind.injectors.guard.tool_words import ACTING, READING, TELLING, WRITING

_NAMESPACE = re.compile(r"__|[./:]")
_OF_EVERY_TOOL = frozenset({"mcp", "functions", "function", "tools", "tool", "default_api", "api", ""})
"""First parts of names that name no backend."""
_URL = re.compile(r"https?:\\?/\\?/([\w.-]+)", re.IGNORECASE)
_VERBS = READING | ACTING | TELLING | WRITING


def find_backend(tool: str, arguments: str, tools: Iterable[ToolSchema]) -> str:
    """The host of the URL that a call names, the namespace of the tool's name (`mcp__github__get_issue`,
    `shop.get_order`), or the noun with which the names of several declared tools begin (`github_get_issue`);
    "": the one backend of all other tools.
    """
    if "://" in arguments or ":\\/\\/" in arguments:
        url = _URL.search(arguments)
        if url is not None:
            return url[1].lower()
    return _find_by_name(tool, ToolList.of(tools).names)


@lru_cache(4096)
def _find_by_name(tool: str, declared: tuple[str, ...]) -> str:
    spaces = [part for part in _NAMESPACE.split(tool)[:-1] if part.lower() not in _OF_EVERY_TOOL]
    if spaces:
        return ".".join(spaces)
    words = words_of(tool)
    if len(words) < 2 or words[0] in _VERBS:
        return ""
    shared = sum(words_of(name)[:1] == words[:1] for name in declared if name != tool)
    return words[0] if shared else ""
