"""The command `crosswind noise`."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from crosswind.injectors import registry
from crosswind.injectors.cli.commands import noise
from crosswind.injectors.cli.rendering import render_event
from crosswind.injectors.profiles import load as profile
from tests.injectors.dialogues import TOOLS, order_desk


def run(*arguments: object) -> Result:
    return CliRunner().invoke(noise, [str(argument) for argument in arguments], env={"COLUMNS": "200"})


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps({"messages": order_desk(), "tools": TOOLS}), encoding="utf-8")
    return path


def listed(*arguments: str, width: int = 80, terminal: bool = False) -> str:
    """What `noise list` prints, in a pipe or on a terminal of that width, without its colours."""
    environment = {"COLUMNS": str(width), "FORCE_COLOR": "1" if terminal else None}
    result = CliRunner().invoke(noise, ["list", *arguments], env=environment)
    assert result.exit_code == 0, result.output
    return re.sub(r"\x1b\[[\d;]*m", "", result.output)


NAMES = [*registry.operators(), *profile.names()]


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("width", [40, 80, 200])
def test_list_cuts_no_name(width: int, terminal: bool) -> None:
    for output in (
        listed(width=width, terminal=terminal),
        listed("--operators", width=width) + listed("--profiles"),
    ):
        assert set(NAMES) <= set(output.split())


def test_list_fits_a_screen() -> None:
    output = listed(terminal=True)
    assert len(output.splitlines()) <= 60 and max(map(len, output.splitlines())) <= 80
    shown = listed("--operators", terminal=True).splitlines()
    assert len(shown) < len(registry.operators()) + 10 and max(map(len, shown)) <= 80


def test_list_in_a_pipe_has_a_line_for_each_with_its_whole_summary() -> None:
    lines = listed().splitlines()
    for name in profile.names():
        [line] = [line for line in lines if line.split()[0] == name]
        assert line.endswith(" ".join(profile.load(name).summary.split()))


def test_list_is_filtered() -> None:
    assert [line.split()[0] for line in listed("FLAKY").splitlines()] == ["Profiles", "chaos/flaky-tools"]
    assert "noisyagent" not in listed("--operators") and "user.typos" not in listed("--profiles")
    assert {line.split()[0].partition(".")[0] for line in listed("--site", "transport").splitlines()} == {
        "Operators,",
        "transport",
    }
    for wrong in (["no-such-thing"], ["--profiles", "--site", "transport"]):
        assert run("list", *wrong).exit_code == 2


def test_list_as_json_says_what_severity_means_how_to_recover_and_whose_it_is() -> None:
    document = json.loads(listed("--json"))
    operators = {one["name"]: one for one in document["operators"]}
    assert [*operators] and {one["name"] for one in document["profiles"]} == set(profile.names())
    for name, entry in registry.operators().items():
        assert operators[name]["severity"], name
        assert operators[name]["recovery"] == entry.recovery.value and operators[name]["source"]
    typos = operators["user.typos"]
    assert typos["aliases"] == ["realistic_typos", "Typo"] and typos["site"] == "user_text"
    assert "the number of typos per message is binomial" in typos["severity"]


@pytest.mark.parametrize("name", sorted(registry.operators()))
def test_show_makes_an_example_on_the_spot(name: str) -> None:
    result = run("show", name)
    assert result.exit_code == 0
    acts = name != "tool.silent_noop"
    assert "everity" in result.output and ("after  " if acts else "no effect on the example") in result.output


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


def test_of_a_long_text_only_what_stands_around_a_change_is_shown() -> None:
    words = [f"word{number}" for number in range(200)]
    before = " ".join(words)
    console = Console(width=10_000, file=StringIO())
    console.print(render_event(before, before.replace("word100", "other"), "why"))
    assert isinstance(console.file, StringIO)
    shown = console.file.getvalue()
    assert "word99 other word101" in shown and "word99 word100 word101" in shown and "…" in shown
    assert "word50" not in shown and "word150" not in shown
    console.print(render_event("as it was", "as it is", "why"))
    assert "as it was" in console.file.getvalue() and "as it is" in console.file.getvalue()
