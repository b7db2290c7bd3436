"""`crosswind http` with packs of one's own: its option names them, or a gateway's session brings them."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crosswind.injectors.packs.load import use_folder
from tests.gateway.forward.conftest import Served
from tests.gateway.servers import gateway, upstream
from tests.own_packs import ENTRY, PROFILE, WORDS, write_packs, write_profile

Run = Callable[..., subprocess.CompletedProcess[str]]
SEARCH = "import sys, httpx; print(httpx.get(sys.argv[1] + '/catalogue/items').text)"


@pytest.fixture(autouse=True)
def _without_own_packs_later() -> Iterator[None]:
    yield
    use_folder(None)


def test_the_phrase_shows_up(run_command: Run, api: Served, tmp_path: Path) -> None:
    write_packs(tmp_path)
    given = ("--no-canary", "--profile", write_profile(tmp_path), "--packs", "packs", "--events", "e.jsonl")
    ended = run_command(*given, "--", sys.executable, "-c", SEARCH, api.secure_url)
    assert WORDS in ended.stdout, ended.stderr
    [event] = [json.loads(line) for line in (tmp_path / "e.jsonl").read_text().splitlines() if WORDS in line]
    assert ENTRY in event["draw"]["phrases"]


def test_what_cannot_be_used_is_named_with_the_fix(run_command: Run, tmp_path: Path) -> None:
    profile = write_profile(tmp_path)
    for flags, words in (
        ((), ("en/general#lib-*", "the shipped packs", "--packs")),
        (("--packs", "none"), ("none", "is no folder", "LANGUAGE/DOMAIN.jsonl")),
    ):
        ended = run_command("--profile", profile, *flags, "--", "true")
        assert ended.returncode and all(one in ended.stderr for one in words), ended.stderr


async def test_a_gateways_session_brings_the_gateways_packs(
    run_command: Run, api: Served, tmp_path: Path
) -> None:
    packs = write_packs(tmp_path)
    async with upstream() as provider, gateway(tmp_path, provider, noise=PROFILE, packs=packs) as running:
        flags = ("--no-canary", "--control", running.control)
        command = (*flags, "--", sys.executable, "-c", SEARCH, api.secure_url)
        ended = await asyncio.to_thread(run_command, *command, XDG_STATE_HOME=str(tmp_path))
        assert WORDS in ended.stdout, ended.stderr
