"""A client that insists on the type of an answer: SDKs read a body of any type, stricter clients don't."""

from __future__ import annotations

import httpx

_TYPES = ("application/json", "text/event-stream")


async def refuse_other_types(response: httpx.Response) -> None:
    """A hook of httpx. RemoteProtocolError for a successful answer of another type."""
    kind = response.headers.get("content-type", "").partition(";")[0]
    if response.is_success and kind not in _TYPES:
        raise httpx.RemoteProtocolError(f"the answer's type is {kind!r}")
