"""Bad input to `crosswind serve`: one line on stderr that names the mend, and exit code 2."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from crosswind.gateway.cli import main
from tests import ROOT

UPSTREAM = ["--upstream", "http://127.0.0.1:1/v1"]
FREE = ["--port", "0", "--control-port", "0"]


def crosswind(cwd: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CROSSWIND_")}
    return subprocess.run(
        [sys.executable, "-m", "crosswind.gateway.cli", *arguments],
        cwd=cwd,
        env=clean | {"PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def refused(run: subprocess.CompletedProcess[str]) -> str:
    assert (run.returncode, run.stdout) == (2, ""), run
    (line,) = run.stderr.splitlines()
    assert "Traceback" not in line
    return line


CASES = {
    "no upstream": ([], "upstream is missing: give --upstream URL"),
    "unknown profile": ([*UPSTREAM, "--profile", "noisyagnet"], "did you mean 'noisyagent'?"),
    "missing profile file": ([*UPSTREAM, "--profile", "none.yaml"], "none.yaml: can't be read"),
    "bad upstream": (["--upstream", "localhost"], "'localhost'"),
    "bad choice": ([*UPSTREAM, "--sessions", "shut"], "'shut' is not one of 'open', 'strict'"),
    "no keys": ([*UPSTREAM, "--auth", "keys"], "needs at least one entry under `keys`"),
    "unknown store": ([*UPSTREAM, "--store", "mysql://x"], "store 'mysql://x' can't be opened"),
    "store nowhere": ([*UPSTREAM, "--store", "sqlite:////none/at/all.db"], "can't be opened"),
    "no such option": ([*UPSTREAM, "--profil", "off"], "--profile"),
    "missing file": (["--config", "none.yaml"], "configuration file none.yaml: can't be read"),
}


@pytest.mark.parametrize("case", CASES)
def test_one_line_and_exit_code_2(tmp_path: Path, case: str) -> None:
    arguments, named = CASES[case]
    assert named in refused(crosswind(tmp_path, "serve", "--port", "0", "--control-port", "0", *arguments))


FILES = {
    "upstream: http://a/v1\nprofile: [off\nseed: 1\n": "line 3, column 5: malformed YAML",
    "upstreem: http://a/v1\n": "unknown key 'upstreem': did you mean 'upstream'?",
    "upstream: http://a/v1\nprofil: off\n": "unknown key 'profil': did you mean 'profile'?",
    "upstream: http://a/v1\ntimeouts: {conect: 1}\n": "key 'timeouts.conect': did you mean 'connect'?",
    "upstream: http://a/v1\nport: many\n": "'port', value 'many'",
    "- a list\n": "expected `key: value` lines",
}


@pytest.mark.parametrize("text", FILES)
def test_a_bad_configuration_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "crosswind.yaml").write_text(text)
    assert FILES[text] in refused(crosswind(tmp_path, "serve", "--config", "crosswind.yaml"))


def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        line = refused(crosswind(tmp_path, "serve", *UPSTREAM, "--port", port))
        assert f"port {port} on 127.0.0.1 can't be used" in line and "--port" in line
        line = refused(crosswind(tmp_path, "serve", *UPSTREAM, "--port", "0", "--control-port", port))
        assert "--control-port" in line
        line = refused(crosswind(tmp_path, "serve", *UPSTREAM, "--host", "192.0.2.7", "--port", port))
        assert "host '192.0.2.7' is no address of this machine" in line and "give --host" in line
        line = refused(
            crosswind(tmp_path, "serve", *UPSTREAM, "--port", "0", "--control-host", "no.such.invalid")
        )
        assert "control_host 'no.such.invalid' is no address" in line and "give --control-host" in line


def test_an_upstream_that_is_the_gateway_itself_and_two_equal_ports(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    itself = ("--upstream", f"http://localhost:{port}/v1", "--port", port, "--control-port", "0")
    assert "is this gateway's own data plane" in refused(crosswind(tmp_path, "serve", *itself))
    config = tmp_path / "own-writer.yaml"
    config.write_text(f"noise_model: {{url: 'http://127.0.0.1:{port}/v1', model: m}}\n")
    writer = ("--config", str(config), *UPSTREAM, *itself[2:])
    assert "noise_model.url: http" in refused(crosswind(tmp_path, "serve", *writer))
    line = refused(crosswind(tmp_path, "serve", *UPSTREAM, "--port", port, "--control-port", port))
    assert f"port and control_port are both {port}" in line


def test_an_unknown_command(tmp_path: Path) -> None:
    assert "unknown command 'serv': did you mean 'serve'?" in refused(crosswind(tmp_path, "serv"))


SECTIONS = {
    "LOG": ("warning", "value 'warning': `log` is a section: set one of its keys (CROSSWIND_LOG__FORMAT"),
    "KEYS": ("sk-hidden", "`keys` is a list: give it as JSON"),
    "UPSTREAMS": ("sk-hidden", "`upstreams` is a list: give it as JSON"),
    "NOISE_MODEL": ("sk-hidden", "`noise_model` is a section: set one of its keys"),
    "LOG__LEVEL": ("loud", "'log.level', value 'loud'"),
}


@pytest.mark.parametrize("name", SECTIONS)
def test_a_variable_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    value, said = SECTIONS[name]
    run = crosswind(tmp_path, "serve", *UPSTREAM, **{f"CROSSWIND_{name}": value})
    assert run.returncode == 2 and "Traceback" not in run.stderr
    assert said in run.stderr and "sk-hidden" not in run.stderr


def test_all_problems_are_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("upstreem: http://a/v1\nport: many\nlog: {level: loud}\n")
    wrong = ("'upstreem': did you mean 'upstream'?", "'port', value 'many'", "'log.level', value 'loud'")
    run = crosswind(tmp_path, "serve", "--config", "c.yaml", CROSSWIND_PROT="1")
    assert run.returncode == 2 and all(said in run.stderr for said in (*wrong, "CROSSWIND_PROT"))
    assert all(line.startswith("crosswind: ") for line in run.stderr.splitlines())
    run = crosswind(tmp_path, "doctor", "--config", "c.yaml", CROSSWIND_PROT="1")
    lines = run.stdout.splitlines()
    assert (run.returncode, run.stderr) == (1, "") and all(line.startswith("✗ ") for line in lines)
    assert all(said in run.stdout for said in (*wrong, "CROSSWIND_PROT"))


def test_the_doctor_prints_findings_only(tmp_path: Path) -> None:
    run = crosswind(tmp_path, "doctor", *FREE, *UPSTREAM, "--profile", "noisyagent")
    assert run.returncode == 0 and all(line.startswith("✓ ") for line in run.stdout.splitlines()), run
    assert not (tmp_path / "crosswind.db").exists()
    run = crosswind(
        tmp_path, "doctor", *FREE, *UPSTREAM, "--profile", "noisyagnet", "--store", "sqlite:////none/a.db"
    )
    assert run.returncode == 1
    assert "✗ unknown profile 'noisyagnet'; did you mean" in run.stdout
    assert "✗ store sqlite:////none/a.db" in run.stdout
    run = crosswind(tmp_path, "doctor", *FREE, *UPSTREAM, "--check")
    assert (
        run.returncode == 1 and "✗ upstream default: http://127.0.0.1:1/v1: it can't be reached" in run.stdout
    )
    assert '"good": false' in crosswind(tmp_path, "doctor", *FREE, *UPSTREAM, "--check", "--json").stdout


def test_only_changes_are_shown(tmp_path: Path) -> None:
    query = '[{"name": "a", "base": "http://a/v1", "query": {"sig": "sk-hidden"}}]'
    given = {"CROSSWIND_LOG__LEVEL": "error", "CROSSWIND_UPSTREAMS": query}
    run = crosswind(tmp_path, "config", "show", "--changed", "--port", "9", **given)
    assert run.returncode == 0 and "sk-hidden" not in run.stdout, run
    shown = yaml.safe_load(run.stdout)
    assert (shown["port"], shown["log"]) == (9, {"level": "error"})
    assert list(shown) == ["upstreams", "port", "log"] and list(shown["upstreams"][0]["query"]) == ["sig"]
    run = crosswind(tmp_path, "config", "show", "--changed")
    assert (run.returncode, run.stdout) == (0, "")


def test_the_configuration_is_shown_without_secrets(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(
        "upstream: http://a/v1\nport: 1\nseed: 1\nkeys: [{key: sk-hidden-1}]\ntimeouts: {connect: 1}\n"
    )
    given = {"SEED": "2", "PORT": "2", "UPSTREAM_KEY": "sk-hidden-2", "TIMEOUTS__TOTAL": "9"}
    environment = {f"CROSSWIND_{name}": value for name, value in given.items()}
    run = crosswind(tmp_path, "config", "show", "--config", "c.yaml", "--port", "3", **environment)
    assert run.returncode == 0, run.stderr
    assert "port: 3" in run.stdout and "seed: 2" in run.stdout, (
        "flags go before variables, those before the file"
    )
    assert "connect: 1.0" in run.stdout and "total: 9.0" in run.stdout
    assert "sk-hidden" not in run.stdout and "**" in run.stdout


@pytest.mark.parametrize(
    "command",
    [
        "export",
        "report",
        "replay s",
        "store verify",
        "store backup --out copy.db",
        "store migrate --dry-run",
        "noise audit",
        "noise check off",
    ],
)
def test_each_command_says_in_the_same_words_that_there_is_no_store(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "nowhere.db"
    with pytest.raises(SystemExit) as ended:
        main([*command.split(), "--store", str(place)])
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"crosswind: there is no store at {place}; name an existing one\n"


@pytest.mark.parametrize(
    "command, told",
    [
        ("serve --control-prot 1", "No such option '--control-prot': did you mean '--control-port'?"),
        ("noise show flaky", "unknown operator or profile 'flaky'; did you mean 'chaos/flaky-tools'?"),
        ("policy serve nope", "nope: no config.json; name a policy directory"),
        ("train run --policy nope --out x", "--policy: nope/crosswind.json: can't be read"),
    ],
)
def test_a_refusal_begins_with_the_program_and_names_what_is_closest_first(
    command: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(command.split())
    assert capsys.readouterr().err.startswith(f"crosswind: {told}")
