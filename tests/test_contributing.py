"""What CONTRIBUTING.md shows works as it stands there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

import pytest

from crosswind.gateway.protocols import codec
from crosswind.gateway.protocols.embeddings.codec import EmbeddingsAnswer
from crosswind.gateway.proxy import routes
from crosswind.injectors import faults, registry
from crosswind.injectors import operator as operator_module
from crosswind.testing import chunks, plain
from tests import ROOT
from tests.gateway.protocols.codec_laws import assert_written_back_the_same
from tests.gateway.proxy.faulty import CHAT, profile
from tests.gateway.servers import delta, event, gateway, upstream

SHOWN = [
    dedent(code)
    for code in re.findall(
        r"^ *```python\n(.*?)^ *```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL | re.MULTILINE
    )
]
QUESTION = "What did ACME order last week?"
OPERATORS = {name: code for code in SHOWN for name in re.findall(r'@operator\(\s*"([\w.]+)"', code)}


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_that_is_shown_fulfils_the_contract(tmp_path: Path, name: str) -> None:
    """As a third party's module: importing it registers it, and the one contract runs over it."""
    (tmp_path / "shown_operator.py").write_text(OPERATORS[name])
    run = f"import sys, pytest, shown_operator; sys.exit(pytest.main(['-q', '-k', '{name}', *sys.argv[1:]]))"
    # Their module is imported before pytest could rewrite the assertions of ours.
    quiet = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
    contract = (*quiet, "-p", "no:cacheprovider", "-p", "no:xdist", "tests/test_every_operator.py")
    done = subprocess.run(
        [sys.executable, "-c", run, *contract],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert re.search(r"^[1-9]\d* passed", done.stdout.splitlines()[-1]), done.stdout


async def test_the_fault_that_is_shown_acts_on_a_live_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a file among our operators, with no edit elsewhere."""
    registry.operators()
    monkeypatch.setattr(operator_module, "_registered", dict(operator_module._registered))
    monkeypatch.setattr(faults, "_kinds", dict(faults._kinds))
    name = "transport.repeated_event"
    file = tmp_path / "repeated_event.py"
    file.write_text(OPERATORS[name])
    spec = spec_from_file_location("crosswind.injectors.operators.transport.repeated_event", file)
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(module_from_spec(spec))
    sent = [event([delta(f"word {number} ")]) for number in range(9)] + [event([delta(finish="stop")])]
    async with (
        upstream(chunks(*sent, b"data: [DONE]\n\n")) as app,
        gateway(tmp_path, app, profile=profile(name, tmp_path)) as running,
    ):
        stream = await running.http.post(**CHAT.request(running, stream=True))
        [injected] = (await running.trajectory("one"))["events"]
        [turn] = (await running.trajectory("one"))["turns"]
    number = injected["draw"]["number"]
    came = [raw + b"\n\n" for raw in stream.content.split(b"\n\n")[:-1]]
    assert came == [*sent[: number + 1], *sent[number:], b"data: [DONE]\n\n"]
    stored = {"kind": "repeated_event", "where": "stream", "number": number}
    assert json.loads(injected["after"]) == stored and injected["note"].startswith(f"Event {number} of the")
    assert turn["error"] is None and "word 8" in turn["produced"]


async def test_the_protocol_that_is_shown_takes_a_request_through_noise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a folder among our protocols, with no edit elsewhere. Its answers are kept as they come."""
    answers = ModuleType("crosswind.gateway.protocols.gemini.answer")
    answers.__dict__["GeminiAnswer"] = EmbeddingsAnswer
    monkeypatch.setitem(sys.modules, answers.__name__, answers)
    shown: dict[str, Any] = {}
    exec(next(code for code in SHOWN if "GeminiCodec" in code), shown)
    known = {**codec.codecs(), "gemini": shown["CODEC"]}
    monkeypatch.setattr(codec, "codecs", lambda: known)
    monkeypatch.setattr(codec, "api_roots", codec.api_roots.__wrapped__)
    monkeypatch.setattr("crosswind.gateway.config.upstream.PROTOCOLS", (*codec.codecs(), "gemini"))
    monkeypatch.setattr(routes, "api_roots", codec.api_roots)
    body = {"contents": [{"role": "user", "parts": [{"text": QUESTION}, {"inlineData": {"data": "AA=="}}]}]}
    assert_written_back_the_same(shown["CODEC"], json.dumps(body).encode())
    noise = "name: shown\nrules: [{operator: user.redundant, severity: 0.9, when: {probability: 1.0}}]\n"
    to = {"name": "google", "models": ["flash"], "protocols": ["gemini"]}
    async with (
        upstream(plain({"candidates": []})) as app,
        gateway(
            tmp_path, app, upstream=None, upstreams=[to | {"base": f"{app.url}/v1beta"}], noise=noise
        ) as running,
    ):
        path = "/v1beta/models/flash:streamGenerateContent?alt=sse"
        told = await running.http.post(f"{running.data}/s/s{path}", json=body)
        turn = (await running.trajectory("s"))["turns"][0]
    [sent] = app.requests
    assert told.json() == {"candidates": []} and sent.path == path
    text, image = sent.json["contents"][0]["parts"]
    assert QUESTION in text["text"] != QUESTION and image == body["contents"][0]["parts"][1]
    assert (turn["protocol"], turn["model"], turn["stream"]) == ("gemini", "flash", True)
