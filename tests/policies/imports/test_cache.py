"""A model is good wherever a policy is asked for: it is imported once, kept by its content, and said once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner, Result

from crosswind.policies.commands.policy import policy
from crosswind.policies.versions.version import PRETRAINED
from crosswind.trainer.commands.train import train
from tests.policies.imports.models import logits, write_model

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of ours."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "crosswind" / "policies"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(policy, list(arguments))


def test_a_model_is_imported_once_whoever_asks(tmp_path: Path, cache: Path) -> None:
    source = write_model(tmp_path / "my model")
    first = run("verify", str(source))
    kept = next(cache.iterdir())
    assert first.exit_code == 0 and kept.name.startswith("my-model-"), first.output
    said = (
        f"{source} isn't a version: imported as {kept.name} (Qwen2ForCausalLM, 0.111 M parameters, float32)"
    )
    assert said in first.output
    copy = shutil.copytree(source, tmp_path / "elsewhere" / "my model")
    again = run("compare", str(copy), str(source))
    assert again.exit_code == 0 and "imported" not in again.output, again.output
    assert "0 of 27 tensors differ" in again.output
    trained = ["run", "--policy", str(source), "--out", str(tmp_path / "out"), "--from", "gone.db"]
    done = CliRunner().invoke(train, trained)
    assert "there is no store at" in done.output and "imported" not in done.output, done.output
    assert list(cache.iterdir()) == [kept]
    chat = source / "chat_template.jinja"
    chat.write_text(chat.read_text() + "{# another #}")
    assert "imported as my-model-" in run("verify", str(source)).output
    assert len(list(cache.iterdir())) == 2


def test_versions_are_taken_as_they_are_and_failures_leave_nothing(tmp_path: Path, cache: Path) -> None:
    assert run("verify", str(PRETRAINED / "retail")).exit_code == 0
    assert run("verify", "retail").exit_code == 0
    source = write_model(tmp_path / "mine")
    (source / "chat_template.jinja").unlink()
    for done in (
        run("serve", str(source), "--embedded"),
        CliRunner().invoke(train, ["run", "--policy", str(source), "--out", str(tmp_path / "out")]),
    ):
        assert done.exit_code == 2 and done.output.count("\n") == 1, done.output
        assert "no chat template" in done.output and "crosswind policy import" in done.output
    assert not list(cache.glob("*"))


@contextmanager
def hub(model: Path, repo: str) -> Iterator[str]:
    """A hub of one model, over HTTP, as far as its client asks."""
    files = {path.name: path.read_bytes() for path in model.iterdir()}

    class Hub(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.split("?")[0]
            if path.startswith(f"/api/models/{repo}/tree/"):
                tree = [
                    {"type": "file", "path": name, "size": len(body), "oid": name}
                    for name, body in files.items()
                ]
                self._answer(json.dumps(tree).encode())
            elif path.startswith(f"/api/models/{repo}"):
                siblings = [{"rfilename": name} for name in files]
                about = {"id": repo, "modelId": repo, "sha": COMMIT, "siblings": siblings}
                self._answer(json.dumps(about).encode())
            elif path.startswith(f"/{repo}/resolve/{COMMIT}/"):
                self._answer(files[path.rsplit("/", 1)[1]])
            else:
                self.send_response(404)
                self.send_header("X-Error-Code", "RepoNotFound")
                self.send_header("Content-Length", "0")
                self.end_headers()

        do_HEAD = do_GET

        def _answer(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("ETag", f'"{hash(body)}"')
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


_EACH = """
import json, sys
from click.testing import CliRunner
from crosswind.policies.commands.policy import policy
for arguments in json.loads(sys.argv[1]):
    done = CliRunner().invoke(policy, arguments)
    print(json.dumps([done.exit_code, done.output]))
"""


def run_with_hub(url: str, folder: Path, *commands: list[str]) -> list[tuple[int, str]]:
    """Commands in a process of their own: the hub's client reads its environment when it is loaded."""
    given = os.environ | {"HF_ENDPOINT": url, "HF_HOME": str(folder / "hub")}
    done = subprocess.run(
        [sys.executable, "-c", _EACH, json.dumps(commands)],
        env=given,
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return [(code, said) for code, said in map(json.loads, done.stdout.splitlines())]


def test_a_hubs_id_is_downloaded_kept_and_found_again(tmp_path: Path) -> None:
    source = write_model(tmp_path / "source", max_shard_size="100KB")
    (source / "modeling_own.py").write_text("raise SystemExit")
    imported, resolved = ["import", "org/model", "--name", "base"], ["verify", "org/model"]
    with hub(source, "org/model") as url:
        unknown = ["import", "org/other", "--name", "other"]
        first, second, third = run_with_hub(url, tmp_path, imported, resolved, unknown)
    assert first[0] == 0 and "base: Qwen2ForCausalLM" in first[1], first
    about = json.loads((tmp_path / "versions/base/crosswind.json").read_text())["metrics"]
    assert about == {"imported_from": "org/model", "revision": COMMIT, "architecture": "Qwen2ForCausalLM"}
    assert torch.equal(logits(tmp_path / "versions/base"), logits(source))
    assert not list((tmp_path / "hub").rglob("*.py"))
    assert second[0] == 0 and f"imported as org-model-{COMMIT[:12]}" in second[1], second
    assert third[0] == 2 and "no such model or revision on the hub" in third[1], third
    nowhere = ["import", "org/nowhere", "--name", "nowhere"]
    kept, gone = run_with_hub("http://127.0.0.1:9", tmp_path, resolved, nowhere)
    assert kept[0] == 0 and "imported" not in kept[1], kept
    assert gone[0] == 2 and gone[1].count("\n") == 1, gone
    assert "org/nowhere: no such directory, and the hub can't be reached (" in gone[1]
    assert "give a directory, or set HF_ENDPOINT" in gone[1]
