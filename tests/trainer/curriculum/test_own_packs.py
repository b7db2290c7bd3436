"""`crosswind train run` with a profile that weighs entries of packs of one's own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from crosswind.injectors.packs.load import use_folder
from tests.gateway.servers import gateway, upstream
from tests.own_packs import PROFILE, WORDS, conversation, write_packs
from tests.trainer.processes import run_trainer

LEVELS = PROFILE.replace("rules:", "levels: [0.0, 0.4, 0.7, 1.0]\nrules:").replace("severity: 1.0, ", "")


@pytest.fixture(autouse=True)
def _without_own_packs_later() -> Iterator[None]:
    yield
    use_folder(None)


def given(folder: Path, policy: Path, *more: object) -> list[object]:
    file = folder / "levels.yaml"
    file.write_text(LEVELS)
    places = ["--policy", policy, "--out", folder / "out", "--store", f"sqlite:///{folder / 'train.db'}"]
    return ["run", *places, "--set", f"curriculum.profile={file}", "--wait", 0.1, *more]


async def test_a_run_gives_the_gateway_a_profile_that_draws_the_phrase(
    first_policy: Path, tmp_path: Path
) -> None:
    packs = write_packs(tmp_path)
    async with upstream() as provider, gateway(tmp_path, provider, packs=packs) as running:
        more = "--packs", packs, "--control", running.control
        done = await asyncio.to_thread(run_trainer, *given(tmp_path, first_policy, *more))
        assert "no group completed for 0.1 s" in done.stderr, done.stderr
        opened = await running.api("POST", "/api/sessions", {"id": "s", "profile": "library", "level": 3})
        assert opened.is_success, opened.text
        await running.chat(conversation(), "s")
        assert WORDS in str(provider.requests[-1].texts()[-1])


def test_what_cannot_be_used_is_named_with_the_fix(first_policy: Path, tmp_path: Path) -> None:
    for flags, words in (
        ((), ("en/general#lib-*", "the shipped packs", "--packs")),
        (("--packs", tmp_path / "none"), (f"{tmp_path}/none", "is no folder", "LANGUAGE/DOMAIN.jsonl")),
    ):
        refused = run_trainer(*given(tmp_path, first_policy, *flags))
        assert refused.returncode == 2 and all(one in refused.stderr for one in words), refused.stderr
