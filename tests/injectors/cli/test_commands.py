"""The command `crosswind noise`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from crosswind.injectors import registry
from crosswind.injectors.cli.commands import noise
from crosswind.injectors.cli.rendering import severity_of
from crosswind.injectors.profiles import load as profile
from tests.injectors.dialogues import TOOLS, order_desk


def run(*arguments: object) -> Result:
    return CliRunner().invoke(noise, [str(argument) for argument in arguments], env={"COLUMNS": "200"})


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps({"messages": order_desk(), "tools": TOOLS}), encoding="utf-8")
    return path


def test_list_names_every_operator_and_profile() -> None:
    result = run("list")
    assert result.exit_code == 0
    assert [name for name in [*registry.operators(), *profile.names()] if name not in result.output] == []


@pytest.mark.parametrize("width", ["80", "200"])
def test_list_says_what_severity_means_how_to_recover_and_whose_it_is(width: str) -> None:
    result = CliRunner().invoke(noise, ["list"], env={"COLUMNS": width})
    said = " ".join(result.output.split())
    assert all(f"Site {site.value}" in said for site in {one.site for one in registry.operators().values()})
    assert all(entry.name in said for entry in registry.operators().values())
    for entry in registry.operators().values():
        assert severity_of(entry.documentation), entry.name
    assert "severity: the number of typos per message is binomial" in said
    assert "user.typos (realistic_typos, Typo)" in said and "recovery: ask_user" in said


@pytest.mark.parametrize("name", sorted(registry.operators()))
def test_show_makes_an_example_on_the_spot(name: str) -> None:
    result = run("show", name)
    assert result.exit_code == 0
    assert "everity" in result.output and "after" in result.output


def test_show_takes_aliases_and_profiles() -> None:
    assert "tool.timeout" in run("show", "transient_timeout").output
    assert "one_of" in run("show", "noisyagent/level-2").output
    assert "name: robustbench-tc/MisDesc\n" in run("show", "robustbench-tc/CD").output


@pytest.mark.parametrize("name", profile.names())
def test_a_profile_is_shown_as_a_file_of_ones_own(name: str, tmp_path: Path) -> None:
    """`crosswind noise show NAME > mine.yaml`, whatever the terminal's width."""
    copy = tmp_path / "mine.yaml"
    copy.write_text(run("show", name).output)
    assert profile.parse(copy.read_text(), str(copy)) == profile.load(name)


def test_check_accepts_a_sound_profile_under_any_file_name(tmp_path: Path) -> None:
    path = tmp_path / "mine.profile"
    path.write_text("name: mine\nrules: [{operator: Typo, severity: 0.5}]\n", encoding="utf-8")
    result = run("check", path)
    assert result.exit_code == 0
    assert "'mine' version 1 is sound: 1 rule" in result.output


@pytest.mark.parametrize(
    "content,words",
    [
        (b"name: mine\nrules: [{operator: Tipo, severity: 0.5}]\n", "bad.yaml:2: rules[0].operator: 'Tipo'"),
        (b"\xff\xfe", "not UTF-8 at byte 0"),
        (None, "name a file that can be read"),
    ],
)
def test_a_bad_profile_is_one_line_on_stderr_and_exit_code_2(
    tmp_path: Path, content: bytes | None, words: str
) -> None:
    path = tmp_path / "bad.yaml"
    if content is not None:
        path.write_bytes(content)
    for arguments in (["check", path], ["preview", "--profile", path, path]):
        result = run(*arguments)
        assert result.exit_code == 2
        assert len(result.stderr.splitlines()) == 1
        assert str(path) in result.stderr
    assert words in run("check", path).stderr


@pytest.mark.parametrize(
    "arguments,words",
    [
        (["show", "tool.timeot"], "did you mean 'tool.timeout'?"),
        (["preview", "--profile", "noisyagnt"], "did you mean 'noisyagent'?"),
        (["preview", "--profile", "noisyagent", "--level", "9"], "levels 0 to 5, not 9"),
        (["preview", "--profile", "noisyagent", "--type", "latency"], "no rule for noise type 'latency'"),
    ],
)
def test_a_wrong_name_names_the_nearest(arguments: list[str], words: str, chat: Path) -> None:
    result = run(*arguments, *([chat] if arguments[0] == "preview" else []))
    assert result.exit_code == 2
    assert words in result.stderr
