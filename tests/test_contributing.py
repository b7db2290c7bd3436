"""What CONTRIBUTING.md shows works as it stands there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from crosswind.injectors import faults, registry
from crosswind.injectors import operator as operator_module
from crosswind.testing import chunks
from tests import ROOT
from tests.gateway.proxy.faulty import CHAT, profile
from tests.gateway.servers import delta, event, gateway, upstream

SHOWN = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
OPERATORS = {name: code for code in SHOWN for name in re.findall(r'@operator\(\s*"([\w.]+)"', code)}


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_that_is_shown_fulfils_the_contract(tmp_path: Path, name: str) -> None:
    """As a third party's module: importing it registers it, and the one contract runs over it."""
    (tmp_path / "shown_operator.py").write_text(OPERATORS[name])
    run = f"import sys, pytest, shown_operator; sys.exit(pytest.main(['-q', '-k', '{name}', *sys.argv[1:]]))"
    contract = ("-p", "no:cacheprovider", "-p", "no:xdist", "tests/test_every_operator.py")
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
