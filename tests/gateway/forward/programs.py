"""Small programs on known HTTP stacks: each requests a URL twice and prints the statuses."""

from __future__ import annotations

import shutil
import sys

import pytest

_PYTHON = {
    "urllib": """
import sys, urllib.error, urllib.request
for _ in range(2):
    try:
        print(urllib.request.urlopen(sys.argv[1]).status)
    except urllib.error.HTTPError as error:
        print(error.code)
""",
    "requests": """
import sys, requests
for _ in range(2):
    print(requests.get(sys.argv[1]).status_code)
""",
    "httpx": """
import sys, httpx
for _ in range(2):
    print(httpx.get(sys.argv[1]).status_code)
""",
    "aiohttp": """
import asyncio, sys, aiohttp
async def main():
    async with aiohttp.ClientSession(trust_env=True) as session:
        for _ in range(2):
            print((await session.get(sys.argv[1])).status)
asyncio.run(main())
""",
}
_NODE = """
for (let n = 0; n < 2; n++) console.log((await fetch(process.argv[1])).status);
"""
CLIENTS = (*_PYTHON, "curl", "fetch")


def find_client(name: str) -> list[str]:
    """The command of a client, which gets the URL as its last argument."""
    if name in _PYTHON:
        if name != "urllib":
            pytest.importorskip(name)
        return [sys.executable, "-c", _PYTHON[name]]
    program = shutil.which("node" if name == "fetch" else name)
    if program is None:
        pytest.skip(f"there is no {name}")
    if name == "fetch":
        return [program, "--input-type=module", "-e", _NODE]
    script = 'for n in 1 2; do curl -s -o /dev/null -w "%{http_code}\\n" "$0"; done'
    return ["/bin/sh", "-c", script]
