"""The environment protocol over HTTP: each call is a POST of a JSON object, and so is its answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Mapping[str, Any]
Calls = Mapping[str, Callable[..., Answer]]
"""By the call's name, what answers it; the members of the request's object are its arguments."""


class Server(ThreadingHTTPServer):
    """Serves the calls on a loopback port; each request has a thread."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, calls: Calls, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.calls = calls

    def answer(self, name: str, body: bytes) -> tuple[int, Answer]:
        """The status and the object that a request gets."""
        call = self.calls.get(name)
        if call is None:
            return 404, {"error": f"there is no call {name!r}; use one of {', '.join(self.calls)}"}
        try:
            return 200, call(**json.loads(body or b"{}"))
        except LookupError as error:
            return 404, {"error": str(error.args[0] if error.args else error)}
        except (ValueError, TypeError) as error:
            return 400, {"error": str(error)}


class _Handler(BaseHTTPRequestHandler):
    server: Server
    # Else the answer's body waits for the client to acknowledge its head.
    disable_nagle_algorithm = True
    wbufsize = 1 << 16

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        status, answer = self.server.answer(self.path.strip("/"), body)
        said = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: a line for each call would be of no use."""
