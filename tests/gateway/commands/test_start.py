"""`crosswind serve` as a process: without torch and other heavy packages, and drained by SIGTERM."""

from __future__ import annotations

import json
from pathlib import Path

import httpx

from crosswind.testing.replies import DONE, chunks
from tests import ROOT
from tests.gateway.dialogue import body, user
from tests.gateway.servers import delta, event, upstream
from tests.loop.children import Children

HEAVY = (
    *(
        "torch",
        "transformers",
        "tokenizers",
        "safetensors",
        "openai",
        "numpy",
        "matplotlib",
        "jinja2",
        "httpx",
    ),
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


async def test_it_runs_where_nothing_heavy_is_installed(tmp_path: Path, children: Children) -> None:
    (tmp_path / "sitecustomize.py").write_text(BLOCK)
    environment = {
        "PYTHONPATH": f"{tmp_path}:{ROOT}",
        "LOADED": str(tmp_path / "modules.json"),
        "CROSSWIND_UPSTREAM_KEY": "sk-hidden-from-the-log",
    }
    reply = chunks(event([delta("hello")]), event([delta(finish="stop")]), DONE)
    async with upstream(reply) as app, httpx.AsyncClient(trust_env=False) as http:
        arguments = ("--upstream", f"{app.url}/v1", "--profile", "noisyagent")
        ports = ("--port", "0", "--control-port", "0")
        serve = children.start("serve", *arguments, *ports, cwd=tmp_path, environment=environment)
        control = serve.address("control plane")
        opened = (await http.post(f"{control}/api/sessions", json={})).json()
        asked = body(user("Where is my order W12?"), stream=True)
        given = await http.post(f"{opened['base_url']}/chat/completions", json=asked)
        assert given.content.endswith(DONE)
        assert opened["base_url"].startswith(serve.address("data plane").removesuffix("/v1"))
        assert (await http.get(f"{control}/openapi.json")).status_code == 200
    assert serve.stop() == 0, serve.said
    assert "profile noisyagent" in serve.said and "sqlite:///crosswind.db" in serve.said
    assert "sk-hidden" not in serve.said and "Traceback" not in serve.said
    assert (tmp_path / "crosswind.db").stat().st_mode & 0o777 == 0o600
    loaded = {name.partition(".")[0] for name in json.loads((tmp_path / "modules.json").read_text())}
    assert not loaded & {*HEAVY, "crosswind.trainer", "crosswind.policies", "crosswind.simulators"}
