"""A third party's operators, really installed: what they do wrong stays with them."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from crosswind.gateway.cli import root
from crosswind.injectors import operator, registry
from crosswind.injectors.profiles.load import load
from crosswind.testing import chunks
from tests.gateway.dialogue import TURNS, body, history, lead, user
from tests.gateway.servers import delta, event, gateway, upstream

PACKAGE = Path(__file__).with_name("package")
NAMES = ("behaves", "raises", "stalls", "ends", "draws_no_json", "gives_no_text", "lies")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pip installed the package."""
    target = tmp_path_factory.mktemp("site")
    source = tmp_path_factory.mktemp("source") / "package"
    shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("__pycache__"))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--no-build-isolation", "--target", target, source], check=True)
    return target


@pytest.fixture
def third_party(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package as a process that starts now finds it."""
    before = dict(registry.operators())
    monkeypatch.syspath_prepend(str(installed))
    registry._import_all.cache_clear()
    load.cache_clear()
    yield
    # Before anything is forgotten: whoever asks next must not find it again.
    monkeypatch.undo()
    for name in [name for name in sys.modules if name.startswith("crosswind_unruly")]:
        del sys.modules[name]
    operator._registered.clear()
    operator._registered.update(before)
    registry._import_all.cache_clear()
    # Profiles that name all operators were read with the package's among them.
    load.cache_clear()


def profile(tmp_path: Path, *operators: str, more: str = "") -> str:
    rules = "".join(f"  - {{operator: {name}, severity: 1}}\n" for name in operators)
    file = tmp_path / f"{'-'.join(operators)}.yaml"
    file.write_text(f"name: theirs\nrules:\n{rules}{more}")
    return str(file)


async def metrics(running: Any) -> dict[str, float]:
    text = (await running.api("GET", "/metrics")).text
    lines = [line.rpartition(" ") for line in text.splitlines() if line.startswith("crosswind_operator")]
    return {name: float(value) for name, _, value in lines if "_created" not in name}


@pytest.mark.usefixtures("third_party")
async def test_one_that_behaves_acts_and_says_where_it_is_from(tmp_path: Path) -> None:
    assert registry.resolve("user.behaves").origin == "crosswind_unruly"
    async with (
        upstream() as app,
        gateway(tmp_path, app, profile=profile(tmp_path, "user.behaves"), **patient()) as running,
    ):
        await lead(running, "s", range(len(TURNS)))
        assert [text for text in app.requests[-1].texts() if text and text.endswith(" Greetings.")]
        events = (await running.trajectory("s"))["events"]
        assert {one["operator"] for one in events if one["after"] is not None} == {"user.behaves"}
        assert await metrics(running) == {}
    replayed = await asyncio.to_thread(
        CliRunner().invoke, root, ["replay", "s", "--store", str(tmp_path / "store.db")]
    )
    assert replayed.exit_code == 0, replayed.output


@pytest.mark.usefixtures("third_party")
async def test_a_fault_of_its_own_kind_comes_over_the_process_boundary(tmp_path: Path) -> None:
    named = profile(tmp_path, "transport.echoes")
    sent = [event([delta("W17 ")]), event([delta(finish="stop")]), b"data: [DONE]\n\n"]
    async with upstream(chunks(*sent)) as app, gateway(tmp_path, app, profile=named, **patient()) as running:
        answer = await running.chat(body(*history(1), stream=True), "s")
        assert answer.content == b"".join(one * 2 for one in sent)
        [injected] = (await running.trajectory("s"))["events"]
        assert json.loads(injected["after"]) == {"kind": "echo", "where": "stream", "times": 2}


def patient() -> dict[str, Any]:
    """Settings under which nothing is late, on however slow a machine."""
    return {"third_party": {"deadline": 20.0, "start": 60.0}}


@pytest.mark.usefixtures("third_party")
@pytest.mark.parametrize(
    "name,kind,note",
    [
        ("user.raises", "raised", "the operator failed (KeyError)"),
        ("user.ends", "ended", "the operator ended its process"),
        ("user.allocates", "raised", "the operator failed (MemoryError)"),
        ("user.draws_no_json", "contract", "user.draws_no_json drew what is no JSON data"),
        ("user.gives_no_text", "contract", "user.gives_no_text gave int in place of a text"),
        ("transport.for_ever", "contract", "'delay_ms': 'for ever'}: Expected `int | float`"),
    ],
)
async def test_one_that_breaks_the_contract_is_isolated_counted_and_switched_off(
    tmp_path: Path, name: str, kind: str, note: str
) -> None:
    given = {"third_party": {"deadline": 20.0, "start": 60.0, "failures": 2, "window": 10}}
    named = profile(tmp_path, name, "user.cost_cue")
    async with upstream() as app, gateway(tmp_path, app, profile=named, **given) as running:
        for number in range(3):
            answer = await running.chat(body(user(f"Where is order W{number}, please?")), f"s{number}")
            assert answer.status_code == 200
            [text] = app.requests[-1].texts()
            assert f"Where is order W{number}, please?" in text and "W99" not in text
        found = [(await running.trajectory(f"s{number}"))["events"] for number in range(3)]
        theirs = [next(one for one in events if one["operator"] == name) for events in found]
        assert [one["after"] for one in theirs] == [None] * 3
        assert note in theirs[0]["note"] and note in theirs[1]["note"]
        assert "switched off, since it failed too often" in theirs[2]["note"]
        ours = [one for events in found for one in events if one["operator"] == "user.cost_cue"]
        assert all(one["after"] for one in ours) and len(ours) == 3
        assert await metrics(running) == {
            f'crosswind_operator_failures_total{{kind="{kind}",operator="{name}"}}': 2.0,
            f'crosswind_operators_off{{operator="{name}"}}': 1.0,
        }


@pytest.mark.usefixtures("third_party")
async def test_one_that_stalls_holds_up_nobody_else(tmp_path: Path) -> None:
    given = {"third_party": {"deadline": 2.0, "failures": 1, "start": 60.0}}
    named = profile(tmp_path, "user.stalls")
    async with upstream() as app, gateway(tmp_path, app, profile=named, **given) as running:
        stalled = asyncio.create_task(running.chat(body(*history(1)), "s"))
        answered = 0
        while not stalled.done():
            assert (await running.http.get(f"{running.data}/healthz")).status_code == 200
            answered += running.gateway.sessions.live() > 0 and not stalled.done()
        assert answered > 0, "the loop went on while the operator stalled"
        assert (await stalled).status_code == 200
        assert app.requests[0].texts() == [history(1)[0]["content"]]
        [event] = (await running.trajectory("s"))["events"]
        assert event["note"] == "Withheld: the operator gave no answer within 2 s."
        # Its process was killed and started again; the operator itself is off.
        assert (await running.chat(body(*history(1)), "t")).status_code == 200
        [event] = (await running.trajectory("t"))["events"]
        assert "switched off" in event["note"]


@pytest.mark.usefixtures("third_party")
async def test_one_that_changes_what_it_is_given_changes_nothing(tmp_path: Path) -> None:
    named = profile(tmp_path, "user.changes_its_target", "schema.reorder")
    async with upstream() as app, gateway(tmp_path, app, profile=named, **patient()) as running:
        await running.chat(body(*history(1)), "s")
        assert app.requests[0].texts() == [f"{history(1)[0]['content']} Greetings."]
        sent = {tool["function"]["name"]: tool for tool in app.requests[0].json["tools"]}
        assert sent == {tool["function"]["name"]: tool for tool in body()["tools"]}


@pytest.mark.usefixtures("third_party")
async def test_the_guard_holds_for_them_too(tmp_path: Path) -> None:
    named = profile(tmp_path, "user.lies")
    async with upstream() as app, gateway(tmp_path, app, profile=named, **patient()) as running:
        await running.chat(body(*history(1)), "s")
        assert app.requests[0].texts() == [history(1)[0]["content"]]
        [event] = (await running.trajectory("s"))["events"]
        assert "it would have added 'W99'" in event["note"]


@pytest.mark.usefixtures("third_party")
def test_the_commands_know_them() -> None:
    listed = CliRunner().invoke(root, ["noise", "list"], env={"COLUMNS": "200"})
    assert listed.exit_code == 0 and all(f"user.{name}" in listed.output for name in NAMES)
    shown = CliRunner().invoke(root, ["noise", "show", "user.behaves"])
    assert shown.exit_code == 0 and "Greetings." in shown.output
