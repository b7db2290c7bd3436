"""Requests to a gateway's control plane, by the standard library: httpx takes long to import."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote


class Unreachable(Exception):
    """The control plane gave no answer, or one that asks to come again."""


class Refused(ValueError):
    """The control plane refused a request; to send it again would not help."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect is an error: another server may not get the key."""

    def redirect_request(self, *_: Any) -> None:
        return None


class ControlPlane:
    """The control plane of one gateway."""

    def __init__(self, url: str, key: str | None) -> None:
        self.url = url.rstrip("/")
        self._headers = {"content-type": "application/json"}
        if key:
            self._headers["authorization"] = f"Bearer {key}"
        # A proxy for the world outside has no business with the gateway.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirects)

    def attach(self, session: str, body: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        return self.post(f"/api/sessions/{quote(session, safe='')}/tool-leg", body, timeout_s)

    def deliver(
        self, session: str, events: list[Any], timeout_s: float, *, ended: str | None = None
    ) -> dict[str, Any]:
        """`ended` names the leg whose last events these are."""
        path = f"/api/sessions/{quote(session, safe='')}/tool-events"
        return self.post(path, {"events": events, **({"ended": ended} if ended else {})}, timeout_s)

    def post(self, path: str, body: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        """Raises Unreachable or Refused."""
        data = json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, self._headers, method="POST")
        try:
            with self._opener.open(request, timeout=timeout_s) as answer:
                said = json.load(answer)
        except urllib.error.HTTPError as error:
            said = _read_message(error)
            if error.code >= 500 or error.code == 429:
                raise Unreachable(f"{self.url} answered {error.code}: {said}") from error
            raise Refused(f"{self.url} refused {path}: {said}") from error
        except (OSError, http.client.HTTPException, ValueError, RecursionError) as error:
            raise Unreachable(f"{self.url}: {error}") from error
        if not isinstance(said, dict):
            raise Unreachable(f"{self.url} answered {path} with no JSON object; give the control plane's URL")
        return said


def _read_message(error: urllib.error.HTTPError) -> str:
    try:
        body = error.read()
    except (OSError, http.client.HTTPException):
        return "its answer broke off"
    try:
        return str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return body[:200].decode("utf-8", "replace")
