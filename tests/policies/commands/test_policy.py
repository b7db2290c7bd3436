"""`crosswind policy` as a user meets it: a real process, its exit codes and its one line of reason."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from openai import OpenAI

from crosswind.policies.commands.policy import policy
from crosswind.policies.engine import EngineAway
from crosswind.policies.publishers.embedded import EmbeddedEngine
from crosswind.policies.versions.version import Registry
from crosswind.testing.replies import plain
from tests.gateway.servers import upstream
from tests.policies.conftest import Served


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(policy, list(arguments))


def test_the_shipped_policy_is_served_by_its_name_until_it_is_interrupted() -> None:
    arguments = ["serve", "retail", "--embedded", "--port", "0", "--seed", "3"]
    program = f"from crosswind.policies.commands.policy import policy; policy({arguments!r})"
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            said, url = process.stdout.readline().rsplit(maxsplit=1)
            assert said == "serving retail at"
            with EmbeddedEngine(url) as engine:
                assert engine.health().version == "retail"
            with OpenAI(base_url=url, api_key="none") as client:
                answer = client.chat.completions.create(
                    model="policy",
                    messages=[{"role": "user", "content": "What is the status of order #W1234?"}],
                    max_tokens=4,
                    temperature=0,
                )
            assert answer.choices[0].finish_reason in ("length", "stop", "tool_calls")
        finally:
            process.terminate()
    assert process.returncode in (0, -15)


def test_serve_refuses_with_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for arguments, reason in [
            (["serve", "retail", "--engine", "other"], "the kinds are embedded, vllm"),
            (["serve", "retail", "--attach", "10.0.0.5:8000"], "give it as http://host:port"),
            (["serve", "retail", "--embedded", "--host", "no.invalid"], "name an address of this machine"),
            (["serve", str(tmp_path), "--embedded"], "can't be read"),
            (["serve", "retail", "--embedded", "--port", port], f"--port {port}"),
        ]:
            result = _run(*arguments)
            assert result.exit_code == 2, result.output
            assert reason in result.output and result.output.count("\n") == 1


def test_a_server_that_never_comes_is_waited_for_as_long_as_was_said() -> None:
    """The wait and the reason name the server and the seconds."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    given = ["serve", "retail", "--attach", url, "--start-within", "0.2"]
    script = f"from crosswind.policies.commands.policy import policy; policy({given!r})"
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120
    )
    assert f"waiting up to 0.2 s for {url}" in run.stdout
    assert run.returncode == 2 and f"{url}: it didn't answer within 0.2 s" in run.stderr
    assert "--start-within" in _run("serve", "retail", "--embedded", "--start-within", "1").output


def test_a_replica_that_hangs_is_given_up_after_as_long_as_was_said(served: Served) -> None:
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        url = f"http://127.0.0.1:{hanging.getsockname()[1]}"
        with pytest.raises(EngineAway, match=r"no answer to GET /policy within 0\.2 s"):
            EmbeddedEngine(url, timeout=0.2).health()
        given = ("verify", "retail", "--engine", url, "--engine-timeout", "0.2")
        result = _run(*given)
    assert result.exit_code == 1 and "no engine answers there within 0.2 s" in result.output


def test_list_and_publish(served: Served, tmp_path: Path) -> None:
    listed = _run("list", str(served.registry.root))
    assert listed.exit_code == 0
    assert [line.split("\t")[0] for line in listed.output.splitlines()] == [
        "random-0",
        "random-1",
        "random-2",
    ]
    done = _run("publish", str(served.registry.root / "random-2"), "--engine", served.url)
    assert done.exit_code == 0 and done.output.startswith("random-2 serves")
    assert served.client.health().version == "random-2"
    assert _run("publish", str(tmp_path), "--engine", served.url).exit_code == 2
    gone = _run("publish", str(served.registry.root / "random-1"), "--engine", "http://127.0.0.1:9")
    assert gone.exit_code == 1 and "is it up" in gone.output
    unnamed = _run("publish", str(served.registry.root / "random-1"), "--engine", "127.0.0.1:8000")
    assert unnamed.exit_code == 1 and "give its URL, as http://host:port" in unnamed.output
    endless = _run("publish", str(served.registry.root / "random-1"), "--tolerance", "nan")
    assert endless.exit_code == 2 and "give a finite number above 0" in endless.output
    untold = _run(
        "publish", str(served.first.path), "--engine", served.url, "--control", "http://127.0.0.1:9"
    )
    assert untold.exit_code == 0 and untold.output.count("is its control plane up?") == 1, untold.output
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "crosswind.json").write_text(json.dumps([]))
    assert _run("list", str(tmp_path)).exit_code == 1
    assert _run("list", str(Registry(tmp_path / "none").root)).exit_code == 2


async def test_a_hosted_model_is_not_rolled_back_and_says_why(served: Served) -> None:
    models = plain({"data": [{"id": "m", "owned_by": "system"}]})
    versions = str(served.registry.root)
    async with upstream(models, models, models, models) as app:
        for named in ([], ["--from", "random-2"]):
            arguments = ["rollback", versions, "--engine", app.url, *named]
            done = await asyncio.to_thread(_run, *arguments)
            assert done.exit_code == 1 and "its weights can't be set" in done.output, done.output
    status = served.registry.journal.read_statuses().get("random-2")
    assert status is None or status.bad is None


@pytest.mark.parametrize(
    "module",
    [
        "crosswind.policies",
        "crosswind.policies.commands.policy",
        "crosswind.policies.engine",
        "crosswind.policies.versions.version",
        "crosswind.policies.publishers.embedded",
    ],
)
def test_light_modules_load_no_torch(module: str) -> None:
    program = f"import sys, {module}; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
