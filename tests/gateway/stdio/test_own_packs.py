"""`crosswind mcp` with packs of one's own: its option names them, or a gateway's session brings them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from crosswind.injectors.packs.load import load, use_folder
from crosswind.injectors.packs.parts import Domain
from crosswind.injectors.text.languages import Language
from tests.gateway.servers import gateway, upstream
from tests.gateway.stdio.play import PATIENCE_S, call, read_events, relayed
from tests.gateway.stdio.test_gateway import relay, stored
from tests.own_packs import ENTRY, PROFILE, SERVER, TOOL, WORDS, write_packs, write_profile

SEARCH = call(1, TOOL, title="The Stranger")


@pytest.fixture(autouse=True)
def _without_own_packs_later() -> Iterator[None]:
    yield
    use_folder(None)


def search(*flags: object, **variables: str) -> subprocess.CompletedProcess[bytes]:
    line = json.dumps(SEARCH).encode() + b"\n"
    command = relayed(SERVER, *map(str, flags))
    environment = os.environ | variables
    return subprocess.run(
        command, input=line, capture_output=True, timeout=PATIENCE_S, env=environment, check=False
    )


def test_the_phrase_shows_up(tmp_path: Path) -> None:
    packs, events = write_packs(tmp_path), tmp_path / "events.jsonl"
    profile = "--profile", write_profile(tmp_path)
    said = search(*profile, "--packs", packs, "--events", events)
    assert WORDS in said.stdout.decode(), said.stderr
    assert ENTRY in read_events(events)[0]["draw"]["phrases"]
    assert WORDS in search(*profile, CROSSWIND_PACKS=str(packs)).stdout.decode()


def test_what_cannot_be_used_is_named_with_the_fix(tmp_path: Path) -> None:
    profile = write_profile(tmp_path)
    for flags, words in (
        ((), ("en/general#lib-*", "the shipped packs", "--packs")),
        (("--packs", tmp_path / "none"), (f"{tmp_path}/none", "is no folder", "LANGUAGE/DOMAIN.jsonl")),
    ):
        refused = search("--profile", profile, *flags)
        assert refused.returncode and all(one in refused.stderr.decode() for one in words), refused.stderr


async def test_a_gateways_session_brings_the_gateways_packs(tmp_path: Path) -> None:
    packs = write_packs(tmp_path)
    async with upstream() as provider, gateway(tmp_path, provider, noise=PROFILE, packs=packs) as running:
        said = await relay(tmp_path, running.control, SEARCH, flags=("--session", "mine"), server=SERVER)
        assert WORDS in said.decode()
        [event] = [one for one in await stored(running, "mine") if one["operator"] == "tool.misleading"]
        assert ENTRY in event["draw"]["phrases"]
        pack = load(Language.EN, Domain.GENERAL)
        plan = (await running.api("GET", "/api/sessions/mine")).json()["plan"]
        assert pack is not None and pack.edition in plan["packs"], "the version and hash of the phrase's pack"
