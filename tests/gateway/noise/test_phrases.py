"""Which half of the phrase packs a session's noise draws from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gateway.servers import gateway, upstream

PROFILE = "name: talk\nphrases: test\nrules: [{operator: user.redundant, severity: 1.0}]\n"


@pytest.mark.parametrize(("asked", "half"), [(None, "test"), ("train", "train")])
async def test_the_profile_or_whoever_opens_the_session_chooses_the_half(
    tmp_path: Path, asked: str | None, half: str
) -> None:
    async with upstream() as app, gateway(tmp_path, app, noise=PROFILE) as running:
        opened = await running.api("POST", "/api/sessions", {"phrases": asked} if asked else {})
        assert opened.json()["plan"]["phrases"] == half
        refused = await running.api("POST", "/api/sessions", {"phrases": "dev"})
        assert refused.status_code == 400 and "phrases" in refused.text
