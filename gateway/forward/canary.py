"""Canaries: whether the HTTP stacks that the client's command may use go through the proxy at all.

A stack that doesn't read the proxy's variables bypasses it silently. So each stack that there is sends one
request to a host that only the proxy knows, in the command's environment.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from crosswind.gateway.forward.proxy import MitmProxy
from crosswind.gateway.forward.settings import CANARY_HOST

WITHIN_S = 20.0
"""How long a canary may take."""
_SEEN_S = 1.0
"""How long its news may take, after it."""

_PYTHON = f"""
import asyncio, contextlib, importlib, sys
url = "http://{CANARY_HOST}/"
def urllib(name):
    import urllib.request
    urllib.request.urlopen(url + name, timeout=5).read()
def requests(name):
    importlib.import_module(name).get(url + name, timeout=5)
httpx = requests
def aiohttp(name):
    module = importlib.import_module(name)
    async def ask():
        async with module.ClientSession() as session:
            await session.get(url + name, timeout=module.ClientTimeout(5))
    asyncio.run(ask())
for name, ask in list(dict(urllib=urllib, requests=requests, httpx=httpx, aiohttp=aiohttp).items()):
    if name != "urllib" and importlib.util.find_spec(name) is None:
        continue
    print(name, flush=True)
    with contextlib.suppress(Exception):
        ask(name)
"""
_NODE = f"""
console.log("fetch");
fetch("http://{CANARY_HOST}/fetch").catch(() => {{}}).finally(() => process.exit());
"""
_FIXES = {
    "aiohttp": "make its sessions with ClientSession(trust_env=True)",
    "fetch": "run it on Node 22.21 or 24, or keep NODE_OPTIONS as it is given",
}


class Canaries:
    """Sends them beside the client's command."""

    def __init__(
        self, proxy: MitmProxy, command: str, environment: Mapping[str, str], say: Callable[[str], None]
    ) -> None:
        self._proxy = proxy
        self._environment = environment
        self._say = say
        self._threads = [
            threading.Thread(target=self._send, args=(sending,), daemon=True)
            for sending in _commands(command, environment)
        ]
        self._processes: list[subprocess.Popen[str]] = []
        self._stopped = False
        self.through: list[str] = []
        self.past: list[str] = []
        """The stacks that bypass the proxy."""

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End those that are still on their way."""
        self._stopped = True
        for process in self._processes:
            process.kill()
        self.join()

    def join(self) -> None:
        """Wait for all of them."""
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()

    def _send(self, command: Sequence[str]) -> None:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=dict(self._environment),
                text=True,
            )
        except OSError:
            return
        self._processes.append(process)
        if self._stopped:
            process.kill()
        try:
            names, _ = process.communicate(timeout=WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            names, _ = process.communicate()
        for name in names.split():
            if self._proxy.await_canary(name, 0.0 if self._stopped else _SEEN_S):
                self.through.append(name)
            elif not self._stopped:
                self.past.append(name)
                fix = _FIXES.get(name, "let it use the environment's proxy")
                self._say(f"{name} bypasses the proxy: {fix}")


def _commands(command: str, environment: Mapping[str, str]) -> list[list[str]]:
    path = environment.get("PATH")
    out: list[list[str]] = []
    if curl := shutil.which("curl", path=path):
        asked = ["--silent", "--max-time", "5", "--output", os.devnull, "--write-out", "curl"]
        out.append([curl, *asked, f"http://{CANARY_HOST}/curl"])
    if python := _find_python(command, path):
        out.append([python, "-c", _PYTHON])
    if node := shutil.which("node", path=path):
        out.append([node, "-e", _NODE])
    return out


def _find_python(command: str, path: str | None) -> str | None:
    """The Python that the command runs on, if it does; else the first one."""
    found = shutil.which(command, path=path)
    if found is not None:
        if Path(found).name.startswith("python"):
            return found
        try:
            with Path(found).open("rb") as script:
                first = script.readline(4096)
        except OSError:
            first = b""
        interpreter = first[2:].strip().decode("utf-8", "replace") if first.startswith(b"#!") else ""
        if "python" in interpreter and " " not in interpreter:
            return interpreter
    return shutil.which("python3", path=path) or shutil.which("python", path=path)
