"""The wheel with its light core alone: the gateway works without torch, and beside folders named as ours."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import httpx
import pytest

from crosswind.testing.replies import DONE
from tests.gateway.servers import upstream
from tests.loop.children import ROOT, Children
from tests.loop.clients import unique_answers

PACKAGES = ("crosswind", "gateway", "injectors", "simulators", "trainer", "policies")
FILES = ("pyproject.toml", "setup.py", "README.md", "LICENSE")
PIP_S = 400
ALONE = {"PYTHONPATH": ""}
"""Whatever the tests themselves are found by must not stand in for what is installed."""
HEAVY = ("torch", "transformers", "openai", "numpy", "matplotlib")
ASKED = """
import importlib.resources, importlib.util, json, sys
before = set(sys.modules)
import crosswind
imported = {name.partition(".")[0] for name in set(sys.modules) - before} - sys.stdlib_module_names
from crosswind import AsyncClient, Client, Environment, objective, operator
files = importlib.resources.files
print(json.dumps({
    "where": crosswind.__file__,
    "version": crosswind.__version__,
    "imported": sorted(imported),
    "heavy": [name for name in sys.argv[1:] if importlib.util.find_spec(name)],
    "migrations": [
        one.name for one in (files("crosswind.gateway.trajectory.sqlite_blocks") / "migrations").iterdir()
    ],
    "schema": files("crosswind.gateway.trajectory.sqlite").joinpath("schema.sql").is_file(),
    "page": files("crosswind.studies.report").joinpath("page.html.jinja").is_file(),
    "profiles": [one.name for one in files("crosswind.injectors").joinpath("profiles/builtin").iterdir()],
    "policy": [one.name for one in files("crosswind.policies").joinpath("pretrained", "retail").iterdir()],
    "typed": files("crosswind").joinpath("py.typed").is_file(),
}))
"""


def _pip(*arguments: str | Path, cwd: Path) -> None:
    """pip as it is configured here. The folder is not the checkout: what is tested is what is installed."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", *arguments, "--disable-pip-version-check", "--quiet"],
        capture_output=True,
        text=True,
        timeout=PIP_S,
        check=False,
        cwd=cwd,
        env={**os.environ, **ALONE},
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _source(folder: Path) -> Path:
    """What the wheel is built from, apart from the checkout, since building writes beside it."""
    source = folder / "source"
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package,
            source / package,
            symlinks=True,
            ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"),
        )
    for file in FILES:
        shutil.copy(ROOT / file, source / file)
    return source


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    """A user's folder with packages named as our folders are. Importing one of them fails."""
    for name in PACKAGES[1:]:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"raise ImportError('the {name} of the user')\n")
    return tmp_path


@pytest.fixture(scope="module")
def light(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` of a fresh environment that holds the wheel and what its core needs."""
    folder = tmp_path_factory.mktemp("light")
    _pip("wheel", "--no-deps", "--wheel-dir", folder / "wheels", _source(folder), cwd=folder)
    (wheel,) = (folder / "wheels").glob("crosswind-*.whl")
    fresh = folder / "environment"
    venv.create(fresh, with_pip=False)
    _pip(
        *("--python", fresh / "bin" / "python", "install", "--no-compile"),
        *("--constraint", ROOT / "constraints.txt", wheel),
        cwd=folder,
    )
    return fresh / "bin"


async def test_the_light_core_serves_and_answers_without_torch(
    light: Path, children: Children, beside: Path
) -> None:
    python = (str(light / "python"),)
    outside: dict[str, Any] = {"cwd": beside, "environment": ALONE}
    packed = json.loads(children.run("-c", ASKED, *HEAVY, command=python, **outside))
    assert packed["imported"] == ["crosswind"], "`import crosswind` imports a third party"
    assert packed["heavy"] == [] and Path(packed["where"]).is_relative_to(light.parent)
    assert (
        "0001_trajectories.sql" in packed["migrations"]
        and packed["schema"]
        and packed["page"]
        and packed["typed"]
    )
    assert {"noisyagent.yaml", "everything.yaml", "chaos"} <= set(packed["profiles"])
    assert {"model.safetensors", "crosswind.json", "tokenizer.json"} <= set(packed["policy"])

    # As `-m`, so that the user's folder is the first that Python looks into.
    command = (*python, "-m", "crosswind.gateway.cli")

    def said(*arguments: str) -> str:
        return children.run(*arguments, command=command, **outside)

    assert packed["version"] in said("--version")
    assert all(name in said("--help") for name in ("serve", "demo", "noise", "train"))
    assert all(name in said("noise", "list") for name in ("user.typos", "tool.timeout", "noisyagent"))
    assert "upstream: http://127.0.0.1:1/v1" in said("config", "show", "--upstream", "http://127.0.0.1:1/v1")
    checked = said("doctor", "--upstream", "http://127.0.0.1:1/v1", "--port", "0", "--control-port", "0")
    assert "default: http://127.0.0.1:1/v1" in checked

    async with upstream(unique_answers()) as app:
        gateway = children.gateway(
            app.url, beside / "store.db", "--profile", "noisyagent", command=command, **outside
        )
        async with httpx.AsyncClient(trust_env=False, timeout=30) as http:
            assert (await http.get(f"{gateway.data}/healthz")).status_code == 200
            url = f"{gateway.data}/v1/chat/completions"
            body = {"model": "tiny", "messages": [{"role": "user", "content": "Where is order #W2?"}]}
            plain = await http.post(url, json=body)
            assert plain.json()["choices"][0]["message"]["content"] == "hello"
            streamed = await http.post(url, json={**body, "stream": True})
            assert streamed.content.endswith(DONE)
    page = beside / "report.html"
    said("report", "--store", str(beside / "store.db"), "--out", str(page))
    assert "The plots are left out" in page.read_text("utf-8")
    assert gateway.child.stop() == 0 and "Traceback" not in gateway.child.said


def test_what_needs_an_extra_names_it_in_one_line(light: Path, children: Children, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'store.db'}"
    for arguments, extra in (
        (("demo", "--out", str(tmp_path / "demo")), "crosswind[train]"),
        (("policy", "serve", "retail", "--embedded"), "crosswind[train]"),
        (
            ("train", "run", "--policy", "retail", "--out", str(tmp_path / "out"), "--store", store),
            "crosswind[train]",
        ),
        (("rollout", "run"), "crosswind[simulators]"),
        (("bench", "--tasks", "2"), "crosswind[simulators]"),
    ):
        child = children.start(*arguments, command=(str(light / "crosswind"),), cwd=tmp_path)
        assert child.process.wait(60) in (1, 2), child.said
        assert extra in child.said and len(child.said.splitlines()) == 1, (arguments, child.said)
    measured = tmp_path / "measured.json"
    measured.write_text(json.dumps({"arms": {"clean": {"by_task": {"a": 1.0, "b": 0.0}}}}))
    compared = ("bench", "--compare", str(measured), str(measured))
    child = children.start(*compared, command=(str(light / "crosswind"),), cwd=tmp_path)
    assert child.process.wait(60) == 0, child.said  # Figures need no extra.


@pytest.mark.slow
@pytest.mark.parametrize("extra", ["train", "simulators", "all"])
def test_every_extra_resolves(extra: str, tmp_path: Path) -> None:
    fresh = tmp_path / "environment"
    venv.create(fresh, with_pip=False)
    _pip(
        *("--python", fresh / "bin" / "python", "install", "--dry-run"),
        *("--constraint", ROOT / "constraints.txt", f"{_source(tmp_path)}[{extra}]"),
        cwd=tmp_path,
    )
