"""`noise preview` and `noise check` with a gateway's configuration: they show the noise that it serves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from crosswind.gateway.cli import root
from crosswind.injectors.packs.load import OWN, use_folder
from tests.own_packs import TOOL, WORDS, conversation, write_packs, write_profile

FAULTS = """\
name: faults
version: 1
assume_tools: replayable
rules: [{operator: tool.timeout, severity: 1.0}]
"""
"""They act on a tool of which nothing is known only where every call may be repeated."""


@pytest.fixture(autouse=True)
def _without_own_packs_later() -> Iterator[None]:
    yield
    use_folder(None)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the files lie that the configuration names."""
    monkeypatch.chdir(tmp_path)
    write_packs(tmp_path)
    write_profile(tmp_path)
    (tmp_path / "faults.yaml").write_text(FAULTS)
    body = json.dumps(conversation())
    (tmp_path / "chat.json").write_text(body)
    (tmp_path / "unclear.json").write_text(body.replace(TOOL, "frob"))
    return tmp_path


def noise(*arguments: object, **variables: str) -> Result:
    environment = {"COLUMNS": "300"} | variables
    return CliRunner().invoke(root, ["noise", *map(str, arguments)], env=environment)


def configure(**settings: object) -> None:
    Path("gw.yaml").write_text(yaml.safe_dump(settings))


COMMANDS = (
    ("preview", "--profile", "library.yaml", "chat.json"),
    ("check", "library.yaml", "chat.json", "--seeds", 5),
)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", COMMANDS, ids=["preview", "check"])
def test_its_packs_are_read_before_the_profile(command: tuple[str, ...]) -> None:
    configure(packs="packs")
    shown = noise(*command, "--config", "gw.yaml")
    assert shown.exit_code == 0, shown.output
    assert WORDS in shown.output or "1.00 injections a session" in shown.output
    assert not OWN.packs, "they are in use while the command runs"
    configure(packs="none")
    refused = noise(*command, "--config", "gw.yaml")
    assert refused.exit_code == 2 and "packs 'none' is no folder" in refused.output
    assert noise(*command, "--config", "gw.yaml", CROSSWIND_PACKS="packs").exit_code == 0
    assert noise(*command, "--config", "gw.yaml", "--packs", "packs").exit_code == 0
    configure()
    refused = noise(*command, "--config", "gw.yaml")
    assert refused.exit_code == 2 and "en/general#lib-*" in refused.output and "--packs" in refused.output


@pytest.mark.usefixtures("folder")
def test_what_it_says_of_calls_and_tools_counts() -> None:
    def injected(*options: str) -> float:
        shown = noise("check", "faults.yaml", "unclear.json", "--config", "gw.yaml", "--json", *options)
        assert shown.exit_code == 0, shown.output
        return float(json.loads(shown.output)["injected"])

    configure()
    assert injected() == 0
    configure(assume_replayable=True)
    assert injected() > 0 and injected("--no-assume-replayable") == 0
    configure(tools_read_only=["frob"])
    assert injected() > 0
    configure(tools_read_only=["other"])
    assert injected() == 0 and injected("--tools-read-only", "fr*") > 0
    for given in (["--config", "gw.yaml"], []):
        shown = noise(
            "preview", "--profile", "faults.yaml", "unclear.json", *given, "--tools-read-only", "frob"
        )
        assert "frob (read_only)" in shown.output, shown.output
    configure(tools_read_only=["frob"])
    shown = noise("preview", "--profile", "faults.yaml", "unclear.json", "--config", "gw.yaml")
    assert "frob (read_only)" in shown.output, shown.output
