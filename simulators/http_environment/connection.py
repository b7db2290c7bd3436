"""One call to an environment over HTTP: bounded in time and size, its answer checked, each failure named."""

from __future__ import annotations

import http.client
import json
import os
import socket
import threading
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from crosswind.simulators.errors import EnvironmentFailedError

TIMEOUT_S = 60.0
"""For a call, from its sending to the whole answer; CROSSWIND_ENVIRONMENT_TIMEOUT has other seconds."""
LARGEST_ANSWER = 16 << 20

T = TypeVar("T")


class RefusedError(ValueError):
    """The environment refused a call with a status of 4xx and said why."""


class Connection:
    """Where an environment is. Each call has a connection of its own: so none is sent twice."""

    def __init__(self, url: str, timeout_s: float | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"environment: {url!r} is no URL; write it like http://127.0.0.1:9200")
        self.url = url.rstrip("/")
        self._scheme, self._host, self._port = parts.scheme, parts.hostname, parts.port
        self._path = parts.path.rstrip("/")
        self._timeout_s = timeout_s or float(os.environ.get("CROSSWIND_ENVIRONMENT_TIMEOUT") or TIMEOUT_S)

    def ask(self, name: str, answer: type[T], /, **given: Any) -> T:
        """The answer to a call. Raises EnvironmentFailedError, or RefusedError."""
        status, body = self._post(name, json.dumps(given).encode())
        if 400 <= status < 500:
            raise RefusedError(_read_refusal(body) or f"`{name}` was refused with status {status}")
        if status != 200:
            said = _read_refusal(body)
            raise self._failed(name, f"status {status}" + (f": {said}" if said else ""))
        try:
            return msgspec.json.decode(body, type=answer)
        except (msgspec.DecodeError, RecursionError) as error:
            raise self._failed(name, f"its answer can't be used: {error}") from None

    def _post(self, name: str, body: bytes) -> tuple[int, bytes]:
        kind = http.client.HTTPSConnection if self._scheme == "https" else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=self._timeout_s)
        # The socket's own timeout is for each piece of the answer: this one is for all of it.
        over = threading.Event()
        alarm = threading.Timer(self._timeout_s, _cut, (connection, over))
        alarm.daemon = True
        alarm.start()
        try:
            headers = {"content-type": "application/json", "connection": "close"}
            connection.request("POST", f"{self._path}/{name}", body, headers)
            with connection.getresponse() as answer:
                read = answer.read(LARGEST_ANSWER + 1)
            if over.is_set():
                raise TimeoutError
        except TimeoutError:
            raise self._failed(name, f"no answer within {self._timeout_s:g} s") from None
        except (OSError, http.client.HTTPException) as error:
            if over.is_set():
                raise self._failed(name, f"no answer within {self._timeout_s:g} s") from None
            raise self._failed(name, f"{type(error).__name__}: {error}") from None
        finally:
            alarm.cancel()
            connection.close()
        if len(read) > LARGEST_ANSWER:
            raise self._failed(name, f"its answer is above {LARGEST_ANSWER >> 20} MiB")
        return answer.status, read

    def _failed(self, name: str, why: str) -> EnvironmentFailedError:
        return EnvironmentFailedError(f"{name}: {why}")


def _cut(connection: http.client.HTTPConnection, over: threading.Event) -> None:
    """End a call that takes too long."""
    over.set()
    if connection.sock is not None:
        with suppress(OSError):
            connection.sock.shutdown(socket.SHUT_RDWR)


def _read_refusal(body: bytes) -> str | None:
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return str(said["error"]) if isinstance(said, dict) and "error" in said else None
