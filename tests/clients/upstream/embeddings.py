"""Embeddings, as floats and as base64."""

from __future__ import annotations

import base64
import hashlib
import re
import struct
from typing import Any

from tests.clients.upstream import members
from tests.clients.upstream.chat import read_body
from tests.clients.upstream.dialogue import words
from tests.clients.upstream.provider import Provider, Seen
from tests.clients.upstream.refusals import known_members, refuse
from tests.clients.upstream.wire import Reply, plain

DIMENSIONS = 8


def create(provider: Provider, seen: Seen, _: re.Match[str]) -> Reply:
    body = read_body(seen.body)
    known_members(body, members.EMBEDDINGS, "Unrecognized request argument supplied: {}")
    refuse(not isinstance(body.get("model"), str), "you must provide a model parameter")
    given = body.get("input")
    texts = [given] if isinstance(given, str) else given
    refuse(not isinstance(texts, list) or not texts or "" in texts, "'$.input' is invalid.")
    in_base64 = body.get("encoding_format") == "base64"
    data = []
    for index, text in enumerate(texts):
        vector = embedding(
            text if isinstance(text, str) else repr(text), body.get("dimensions") or DIMENSIONS
        )
        shown: Any = vector
        if in_base64:
            shown = base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
        data.append({"object": "embedding", "index": index, "embedding": shown})
    count = sum(len(words(text)) if isinstance(text, str) else len(text) for text in texts)
    usage = {"prompt_tokens": count, "total_tokens": count}
    return plain({"object": "list", "data": data, "model": body["model"], "usage": usage})


def embedding(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """A text's vector: other texts have others. Each number is exact in 32 bits."""
    digest = hashlib.shake_128(text.encode()).digest(dimensions)
    return [(byte - 128) / 128 for byte in digest]
