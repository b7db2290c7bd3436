"""A server that says what it is told to, for what no engine of ours says."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson


@contextmanager
def answering(answers: Mapping[str, Any], status: int = 200) -> Iterator[str]:
    """A server that gives these answers by path, and 404 else; gives its root URL."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            found = self.path in answers
            raw = orjson.dumps(answers.get(self.path))
            self.send_response(status if found else 404)
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self._answer()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
