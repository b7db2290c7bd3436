"""`crosswind serve` as a process: without torch and other heavy packages, and drained by SIGTERM."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx

from crosswind.testing.replies import DONE, chunks
from tests import ROOT
from tests.gateway.dialogue import body, user
from tests.gateway.servers import delta, event, upstream

HEAVY = (
    "torch",
    "transformers",
    "tokenizers",
    "safetensors",
    "openai",
    "numpy",
    "matplotlib",
    "jinja2",
    "httpx",
)

BLOCK = f"""\
import atexit, json, os, sys
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {HEAVY!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
atexit.register(lambda: open(os.environ["LOADED"], "w").write(json.dumps(sorted(sys.modules))))
"""


async def test_it_runs_where_nothing_heavy_is_installed(tmp_path: Path) -> None:
    import asyncio

    (tmp_path / "sitecustomize.py").write_text(BLOCK)
    environment = os.environ | {
        "PYTHONPATH": f"{tmp_path}:{ROOT}",
        "LOADED": str(tmp_path / "modules.json"),
        "CROSSWIND_UPSTREAM_KEY": "sk-hidden-from-the-log",
    }
    reply = chunks(event([delta("hello")]), event([delta(finish="stop")]), DONE)
    async with upstream(reply) as app:
        arguments = [
            "serve",
            "--upstream",
            f"{app.url}/v1",
            "--profile",
            "noisyagent",
            "--port",
            "0",
            "--control-port",
            "0",
        ]
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "crosswind.gateway.cli",
            *arguments,
            cwd=tmp_path,
            env=environment,
            stderr=subprocess.PIPE,
        )
        assert process.stderr is not None
        try:
            said = ""
            while "secrets in texts" not in said:
                line = await asyncio.wait_for(process.stderr.readline(), 60)
                assert line, said
                said += line.decode()
            data, control = (
                re.findall(r"(http://127.0.0.1:\d+)", said)[0],
                re.findall(r"control plane  (\S+)", said)[0],
            )
            assert "profile noisyagent" in said and "sqlite:///crosswind.db" in said
            async with httpx.AsyncClient(trust_env=False) as http:
                opened = (await http.post(f"{control}/api/sessions", json={})).json()
                asked = body(user("Where is my order W12?"), stream=True)
                given = await http.post(f"{opened['base_url']}/chat/completions", json=asked)
                assert given.content.endswith(DONE) and opened["base_url"].startswith(data)
                assert (await http.get(f"{control}/openapi.json")).status_code == 200
        finally:
            process.send_signal(signal.SIGTERM)
            said += (await asyncio.wait_for(process.stderr.read(), 60)).decode()
        assert await process.wait() == 0, said
        assert "sk-hidden" not in said and "Traceback" not in said
        assert (tmp_path / "crosswind.db").stat().st_mode & 0o777 == 0o600
    loaded = {name.partition(".")[0] for name in json.loads((tmp_path / "modules.json").read_text())}
    assert not loaded & {*HEAVY, "crosswind.trainer", "crosswind.policies", "crosswind.simulators"}
