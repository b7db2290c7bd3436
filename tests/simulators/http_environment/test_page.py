"""The example of docs/environments.md, as it stands there, played through a gateway."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.simulators.commands.test_through_gateway import gateway, succeed

PAGE = Path(__file__).parents[3] / "docs" / "environments.md"


def example() -> str:
    [found] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    return str(found)


@pytest.fixture
def library(tmp_path: Path, unused_tcp_port: int) -> Iterator[str]:
    script = tmp_path / "library.py"
    script.write_text(example())
    process = subprocess.Popen([sys.executable, str(script), str(unused_tcp_port)], stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{unused_tcp_port}"
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                httpx.post(f"{url}/environment", json={}, trust_env=False)
                break
            except httpx.TransportError:
                time.sleep(0.05)
        yield url
    finally:
        process.kill()
        process.wait()


def lend(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """An agent that finds the book, lends it, and believes no result that isn't whole."""
    asked = re.search(r"lend (\w+) to (\w+)", str(messages[1]["content"]))
    assert asked is not None
    title, reader = asked.groups()
    results = [str(one["content"]) for one in messages if one["role"] == "tool"]
    book = next((found[0] for one in results if (found := re.search(r"B-\d", one))), None)
    if book is None:
        return call("find_book", len(results), title=title)
    if not any(re.search(rf'"lent_to": "{reader}"', one) for one in results):
        return call("lend_book", len(results), book_id=book, reader=reader)
    return {"role": "assistant", "content": "Done."}


def call(name: str, number: int, **arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    made = {"id": f"c{number}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [made]}


def test_the_example_is_short() -> None:
    assert len(example().splitlines()) <= 80


async def test_the_example_is_played_clean_and_under_noise(library: str, tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    async with gateway(tmp_path, lend) as control:
        given = ("--environment", library, "--tasks", "3", "--under", "agentnoisebench/failure")
        await succeed("bench", "--control", control, *given, "--json", str(out), "--max-tokens", "512")
    figures = json.loads(out.read_text())
    assert figures["environment"] == "library"
    arms = figures["arms"]
    assert {name: (arm["n"], arm["success"]) for name, arm in arms.items()} == dict.fromkeys(
        ("clean", "noisy", "agentnoisebench/failure"), (3, 1.0)
    )
    assert arms["agentnoisebench/failure"]["injected"] > 0
    assert arms["clean"]["tool_calls"] == 2.0
