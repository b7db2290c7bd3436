"""What a person reads first: help, summaries, examples, completion, and one rule for naming the store."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner

from crosswind.gateway.cli import SECTIONS, root
from crosswind.gateway.help_formatter import fold_command
from crosswind.gateway.trajectory.commands.store_option import configured_store
from crosswind.gateway.trajectory.content import View
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from tests import ROOT
from tests.gateway.commands.test_bad_input import crosswind, refused
from tests.gateway.servers import gateway
from tests.gateway.trajectory import rows

NARROW = 60
OTHERS = {"serve", "noise check", "noise prove", "noise dose"}
"""Commands whose `--store` names what they write, or what they may do without."""


def every_command() -> Iterator[tuple[str, click.Command]]:
    yield "", root
    waiting = [("", root)]
    while waiting:
        path, group = waiting.pop()
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            full = f"{path} {name}".strip()
            yield full, command
            if isinstance(command, click.Group):
                waiting.append((full, command))


COMMANDS = dict(every_command())


@pytest.mark.parametrize("path", COMMANDS)
def test_every_help_has_examples_and_whole_summaries(path: str) -> None:
    result = CliRunner().invoke(root, [*path.split(), "--help"], terminal_width=NARROW)
    assert result.exit_code == 0, result.output
    head, _, examples = result.output.partition("Example")
    assert examples and f"  crosswind {path}".rstrip() in examples
    assert "..." not in head.partition("Commands:")[2], "a summary is cut"


def on_a_terminal(folder: Path, *arguments: str) -> list[str]:
    """The lines that a command prints on a narrow terminal."""
    near, far = os.openpty()
    variables = {"COLUMNS": str(NARROW), "TERM": "xterm", "NO_COLOR": "1"}
    with subprocess.Popen(
        [sys.executable, "-m", "crosswind.gateway.cli", *arguments],
        cwd=folder,
        stdout=far,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | variables,
    ):
        os.close(far)
        said = b""
        with contextlib.suppress(OSError):  # The far end is closed.
            while part := os.read(near, 65536):
                said += part
    os.close(near)
    return said.decode().splitlines()


@pytest.mark.parametrize(
    "arguments", ["chaos --help", "drill --help", "compare --help", "noise list --profiles", "sessions list"]
)
def test_lines_are_folded_for_a_narrow_terminal_and_stay_whole_in_a_pipe(
    tmp_path: Path, arguments: str
) -> None:
    store = SqliteStore(tmp_path / "crosswind.db")
    body = json.dumps({"messages": [{"role": "user", "content": "Could you book me a seat? " * 3}]})
    store.write([rows.session("s" * 30), rows.turn("s" * 30, received=View.plain(body.encode()))])
    store.close()
    lines = on_a_terminal(tmp_path, *arguments.split())
    assert lines and max(map(len, lines)) <= NARROW, max(lines, key=len)
    if arguments.endswith("--help"):
        piped = crosswind(tmp_path, *arguments.split()).stdout
        assert any(len(line) > NARROW for line in piped.splitlines())
        assert " ".join(" ".join(lines).replace("\\", "").split()) == " ".join(
            piped.replace("\\", "").split()
        )


def test_what_is_folded_is_one_command_to_a_shell() -> None:
    line = "  echo --profile 'two words' --for 10m -- \"a b\" last"
    folded = fold_command(line, 30)
    assert max(map(len, folded.splitlines())) <= 30 and "--for 10m" in folded
    said = [subprocess.check_output(["sh", "-c", one], text=True) for one in (line, folded)]
    assert said == ["--profile two words --for 10m -- a b last\n"] * 2
    assert fold_command("  setup  # in ~/.bashrc", 10) == "  setup  # in ~/.bashrc"


def test_every_command_of_ours_has_a_summary() -> None:
    listed = {name for summaries in SECTIONS.values() for name in summaries}
    assert listed == set(root.list_commands(click.Context(root)))


@pytest.mark.parametrize("group", ["", "noise", "store", "policy"])
def test_a_group_alone_shows_its_help(tmp_path: Path, group: str) -> None:
    run = crosswind(tmp_path, *group.split(), COLUMNS=str(NARROW))
    assert (run.returncode, run.stdout) == (2, "")
    lines = run.stderr.splitlines()
    assert lines[0].startswith(f"Usage: crosswind {group}".strip()) and len(lines) > 10
    assert all(len(line) <= NARROW for line in lines if not line.startswith("    crosswind "))


def test_commands_that_read_a_store_name_it_by_one_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = {
        path: option
        for path, command in COMMANDS.items()
        for option in command.params
        if "--store" in option.opts and path not in OTHERS
    }
    assert {"report", "export", "replay", "train run", "noise audit", "store verify"} <= named.keys()
    taken = {path for path, option in named.items() if option.default is not configured_store}
    assert taken == {"doctor", "config show", "chaos"}, "they read the configuration themselves"
    configuration = tmp_path / "c.yaml"
    configuration.write_text(yaml.safe_dump({"store": "sqlite:///configured.db"}))
    for given, place in (
        ((), "crosswind.db"),
        (("CROSSWIND_CONFIG", str(configuration)), "configured.db"),
        (("CROSSWIND_STORE", "sqlite:///variable.db"), "variable.db"),
    ):
        if given:
            monkeypatch.setenv(*given)
        for path in ("report", "export", "noise audit", "store verify", "replay s"):
            result = CliRunner().invoke(root, path.split())
            assert f"there is no store at {place}" in result.output, path


def test_a_store_is_named_once_and_where_it_was(tmp_path: Path) -> None:
    for command in ("export", "noise audit"):
        assert "no store at a.db" in refused(crosswind(tmp_path, *command.split(), "a.db"))
        assert "give one of them" in refused(crosswind(tmp_path, *command.split(), "a.db", "--store", "b.db"))


def complete(line: str, **environment: str) -> list[str]:
    """What bash is told to complete the line's last word with."""
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    run = subprocess.run(
        [sys.executable, "-m", "crosswind.gateway.cli"],
        env={"PYTHONPATH": ":".join(sys.path), "_CROSSWIND_COMPLETE": "bash_complete"} | words | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return [said.partition(",")[2] for said in run.stdout.split()]


async def test_rollouts_complete_the_gateways_own_profiles(tmp_path: Path) -> None:
    async with gateway(tmp_path, "http://127.0.0.1:9") as running:
        typed = f"crosswind rollout run --control {running.control} --profile chaos/fl"
        assert await asyncio.to_thread(complete, typed) == ["chaos/flaky-tools"]


def test_a_shell_completes_commands_and_profiles(tmp_path: Path) -> None:
    for shell in ("bash", "zsh", "fish"):
        assert "_CROSSWIND_COMPLETE" in crosswind(tmp_path, "completion", shell).stdout
    assert "name one of bash, zsh, fish" in refused(crosswind(tmp_path, "completion", SHELL="/bin/tcsh"))
    assert complete("crosswind com") == ["compare", "completion"]
    assert "chaos/flaky-tools" in complete("crosswind serve --profile chaos/")
    assert complete("crosswind noise show tool.timeo") == ["tool.timeout"]
    assert complete("crosswind bench --control http://127.0.0.1:9 --profile ch") == []
