"""`crosswind export`."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import BinaryIO

import pytest
from click.testing import CliRunner

from crosswind.gateway.trajectory import export_format
from crosswind.gateway.trajectory.commands.export import export
from crosswind.gateway.trajectory.content import Chain, View, pack
from crosswind.gateway.trajectory.ledger_rows import NameMap
from crosswind.gateway.trajectory.record import Completion, Reward, VersionSpan
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from tests import ROOT
from tests.gateway.trajectory import rows
from tests.test_contributing import SHOWN


@pytest.fixture
def filled(store: SqliteStore, path: Path) -> Path:
    turn = rows.turn(
        "b",
        sent=View((b"[", None, b"]"), Chain(Chain(None, "ä".encode()), b"b")),
        produced=View.plain(b"\xff"),
        prompt_ids=Chain(Chain(None, pack("i", [1, 2])), pack("i", [3])),
        completions=(Completion(0, (4, 5), (-0.5, -0.25), "stop", (VersionSpan("v1", 0, 2),)),),
        request="00ff" * 8,
        idempotency="0f" * 16,
    )
    store.write(
        [
            rows.session("a", created_us=1),
            rows.session("c", created_us=2, group_id="g", rollout_index=0),
            rows.session("b", created_us=3, group_id="g", rollout_index=1),
            turn,
            rows.event("b"),
            rows.shown("b", "call:c1#0", text="noisy"),
            NameMap("b", "declared", "shown", 0),
            Reward("b", 9, 0.5, {"task": 0.5}, "judge"),
        ]
    )
    return path


def _lines(*arguments: str) -> list[dict[str, object]]:
    result = CliRunner().invoke(export, list(arguments))
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.output.splitlines()]


def test_every_session_oldest_first(filled: Path) -> None:
    assert [line["session"]["id"] for line in _lines(str(filled))] == ["a", "c", "b"]  # type: ignore[index]
    assert _lines(f"sqlite:///{filled}") == _lines(str(filled), "--format", "jsonl")


def test_a_group_by_rollout_index(filled: Path) -> None:
    lines = _lines(str(filled), "--group", "g")
    assert [line["session"]["id"] for line in lines] == ["c", "b"]  # type: ignore[index]


def test_a_session_with_all_that_hangs_on_it(filled: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    assert _lines(str(filled), "--session", "b", "--out", str(out)) == []
    line = json.loads(out.read_text())
    (turn,) = line["turns"]
    assert (turn["sent"], turn["produced"], turn["received"]) == ("[äb]", {"base64": "/w=="}, None)
    assert turn["prompt_ids"] == [1, 2, 3]
    assert (turn["request"], turn["idempotency"]) == ("00ff" * 8, "0f" * 16)
    assert turn["completions"] == [
        {
            "index": 0,
            "token_ids": [4, 5],
            "logprobs": [-0.5, -0.25],
            "finish_reason": "stop",
            "versions": [{"version": "v1", "start": 0, "end": 2}],
            "top_logprobs": [],
        }
    ]
    assert turn["entropy"] == {"nats": 0.375, "estimate": "sampled", "tokens": 2}
    assert line["events"][0]["note"] == "the next identical call is answered"
    assert line["ledger"][0]["text"] == "noisy" and line["names"][0]["shown"] == "shown"
    assert line["rewards"][0]["components"] == {"task": 0.5} and line["session"]["reward"] == 0.5


def test_the_readme_shows_the_keys_of_a_turn(filled: Path) -> None:
    [line] = _lines(str(filled), "--session", "b")
    shown = (ROOT / "README.md").read_text().partition("['turns'][0])\"\n")[2].partition(" ...\n")[0]
    keys = shown.split()
    assert keys == list(line["turns"][0])[: len(keys)]  # type: ignore[index]


def test_a_package_brings_a_format(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry point of `crosswind.export_formats` names a module that registers it."""
    shown = next(code for code in SHOWN if '@export_format("ids")' in code)
    monkeypatch.setattr(export_format, "_registered", dict(export_format._registered))
    module = ModuleType("ids_format")
    exec(shown, module.__dict__)
    monkeypatch.setitem(sys.modules, "ids_format", module)
    named = EntryPoint("ids", "ids_format", export_format.ENTRY_POINTS)
    monkeypatch.setattr(export_format, "entry_points", lambda group: [named])
    result = CliRunner().invoke(export, [str(filled), "--format", "ids"])
    assert result.output == "a\nc\nb\n"


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--session", "x"], 1, "has no session 'x'"),
        (["--group", "x"], 1, "has no group 'x'"),
        (["--session", "a", "--group", "g"], 2, "exclude each other"),
        (["--format", "csv"], 2, "no format 'csv': give one of jsonl, openai"),
        (["--out", "/missing/folder/x.jsonl"], 1, "/missing/folder/x.jsonl"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    filled: Path, arguments: list[str], code: int, says: str
) -> None:
    result = CliRunner().invoke(export, [str(filled), *arguments])
    assert result.exit_code == code
    assert says in result.stderr and "Traceback" not in result.output


def test_a_file_keeps_what_it_holds_until_the_export_is_whole(
    filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_half(selection: export_format.Selection, out: BinaryIO) -> None:
        out.write(b"half\n")
        if len(selection.ids) > 1:
            raise export_format.ExportRefused("this needs what isn't installed")

    monkeypatch.setattr(export_format, "_registered", {**export_format.export_formats(), "half": write_half})
    kept = tmp_path / "kept"
    kept.write_text("precious\n")
    kept.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(kept)
    before = sorted(tmp_path.iterdir())
    for out in (kept, link):
        result = CliRunner().invoke(export, [str(filled), "--format", "half", "--out", str(out)])
        assert result.exit_code == 1 and "isn't installed" in result.stderr
        assert kept.read_text() == "precious\n" and sorted(tmp_path.iterdir()) == before
    one = CliRunner().invoke(export, [str(filled), "--format", "half", "--session", "a", "--out", str(link)])
    assert one.exit_code == 0 and link.is_symlink()
    assert kept.read_text() == "half\n" and kept.stat().st_mode & 0o777 == 0o640


def test_a_pipe_is_written_to(filled: Path) -> None:
    command = [sys.executable, "-m", "crosswind.gateway.cli", "export", str(filled), "--session", "a"]
    piped = subprocess.run([*command, "--out", "/dev/stdout"], capture_output=True, text=True, check=True)
    assert json.loads(piped.stdout)["session"]["id"] == "a"


def test_a_store_that_does_not_exist_is_not_created(tmp_path: Path) -> None:
    result = CliRunner().invoke(export, [str(tmp_path / "missing.db")])
    assert result.exit_code == 2 and "there is no store at" in result.stderr
    assert list(tmp_path.iterdir()) == []
