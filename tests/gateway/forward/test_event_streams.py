"""mitmproxy's method that we replace is the one that we read."""

from __future__ import annotations

import subprocess
from hashlib import sha256

from crosswind.gateway.forward.environment import MITMPROXY

READ = "775b73b1b5601af0195ee701e0408c1344464476aea482be2f3c5e99135c0ded"
"""The digest of `HttpStream.state_stream_response_body` of mitmproxy 11.0.2."""


def test_the_method_that_event_streams_replaces_is_the_one_that_was_read() -> None:
    code = (
        "import inspect; from mitmproxy.proxy.layers.http import HttpStream;"
        "print(inspect.getsource(HttpStream.state_stream_response_body), end='')"
    )
    done = subprocess.run(
        [MITMPROXY.install(), "-I", "-c", code], capture_output=True, text=True, check=False
    )
    found = sha256(done.stdout.encode()).hexdigest()
    assert found == READ, (
        "mitmproxy has changed HttpStream.state_stream_response_body, which gateway/forward/event_streams.py "
        "replaces for streams of events. Read the new one, do the same there, and put its digest here: "
        f"{found}. mitmproxy's version is that of gateway/forward/locks/mitmproxy.lock. {done.stderr}"
    )
