"""Models, in OpenAI's shape and in Anthropic's: the `anthropic-version` header decides."""

from __future__ import annotations

import re
from typing import Any

from tests.clients.upstream.chat import CREATED
from tests.clients.upstream.provider import Provider, Seen
from tests.clients.upstream.refusals import Refused
from tests.clients.upstream.wire import Reply, plain

NAMES = ("small", "large")


def every(_: Provider, seen: Seen, __: re.Match[str]) -> Reply:
    data = [_shown(seen, name) for name in NAMES]
    if "anthropic-version" in seen.headers:
        page = {"has_more": False, "first_id": NAMES[0], "last_id": NAMES[-1]}
        return plain({"data": data, **page})
    return plain({"object": "list", "data": data})


def one(_: Provider, seen: Seen, path: re.Match[str]) -> Reply:
    if path[1] not in NAMES:
        raise Refused(404, f"The model '{path[1]}' does not exist", "model", "model_not_found")
    return plain(_shown(seen, path[1]))


def _shown(seen: Seen, name: str) -> dict[str, Any]:
    if "anthropic-version" in seen.headers:
        return {
            "type": "model",
            "id": name,
            "display_name": name.title(),
            "created_at": "2025-10-09T08:53:20Z",
            "lifecycle": "active",
        }
    return {"id": name, "object": "model", "created": CREATED, "owned_by": "crosswind"}
