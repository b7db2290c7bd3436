"""Which of a session's tools a tool leg serves: what it perturbs, the model leg leaves alone.

It is kept in the session's labels, one for each link, so that every worker and every later run knows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

LABEL = "crosswind.tools."
"""Begins the label of a link: the names of its tools, with commas."""
_PREFIX = re.compile(r".*(?:__|\.|/|:)")
"""What frameworks put before the name that a server gave its tool; some put the server's name before it."""
_APART = re.compile(r"[\W_]+")


def label_tools(link: str, tools: Iterable[str]) -> dict[str, str]:
    """The label that says which tools a link serves."""
    return {f"{LABEL}{link}": ",".join(sorted(tools))}


def find_served(labels: Mapping[str, Any], names: Iterable[str]) -> frozenset[str]:
    """Those of a request's tools that a tool leg serves, by the names that the agent uses."""
    served, prefixed = set[str](), list[str]()
    for label, said in labels.items():
        if label.startswith(LABEL):
            tools = [_spell(tool) for tool in str(said).split(",") if tool]
            served.update(tools)
            prefixed += [_spell(label.removeprefix(LABEL)) + tool for tool in tools]
    if not served:
        return frozenset()
    ends = tuple(prefixed)
    return frozenset(
        name
        for name in names
        if _spell(_PREFIX.sub("", name)) in served or _spell(name) in served or _spell(name).endswith(ends)
    )


def _spell(name: str) -> str:
    """A name without its spelling: an API's `getOrder` may be the agent's `get_order`."""
    return _APART.sub("", name).lower()
