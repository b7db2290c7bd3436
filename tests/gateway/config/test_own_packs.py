"""A gateway with packs of one's own, and profiles that weigh their entries."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import yaml

from crosswind.gateway.config.loading import load
from crosswind.gateway.config.settings import Settings
from crosswind.injectors.packs.load import load as load_pack
from crosswind.injectors.packs.load import use_folder
from crosswind.injectors.packs.parts import Domain
from crosswind.injectors.text.languages import Language
from tests.gateway.dialogue import body, user
from tests.gateway.servers import Running, gateway, upstream
from tests.loop.children import Children

ASK = body(user("Bitte buche den Tisch für vier Personen am Freitag um 19 Uhr."))
WORDS = "Im Foyer riecht es nach Kulissenfarbe."
OTHER_WORDS = "Nachher ist wieder Beleuchtungsprobe."


@pytest.fixture(autouse=True)
def _without_own_packs_later() -> Iterator[None]:
    yield
    use_folder(None)


def write_pack(packs: Path, *texts: str) -> None:
    header = {"pack": "de/general", "version": 7, "licence": "CC0-1.0"}
    entry = {"for": "user.redundant", "part": "chat", "half": "train"}
    rows = [{"id": f"th-{number}", **entry, "text": text} for number, text in enumerate(texts)]
    (packs / "de").mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(row, ensure_ascii=False) for row in (header, *rows)]
    (packs / "de" / "general.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


def write_profile(file: Path, entries: dict[str, float]) -> None:
    rule = {"operator": "user.redundant", "severity": 1.0, "entries": entries}
    file.write_text(yaml.safe_dump({"name": file.stem, "version": 1, "rules": [rule]}))


async def test_serve_starts_with_a_profile_that_weighs_entries_of_own_packs(
    tmp_path: Path, children: Children
) -> None:
    write_pack(tmp_path / "packs", WORDS)
    write_profile(tmp_path / "mine.yaml", {"de/general#th-*": 5})
    async with upstream() as app, httpx.AsyncClient(trust_env=False) as http:
        config = {"upstream": f"{app.url}/v1", "profile": "mine.yaml", "packs": "packs", "control_port": 0}
        (tmp_path / "gw.yaml").write_text(yaml.safe_dump({**config, "port": 0}))
        serve = children.start("serve", "--config", "gw.yaml", cwd=tmp_path)
        answer = await http.post(f"{serve.address('data plane')}/chat/completions", json=ASK)
        assert answer.is_success
        assert any(WORDS in text for text in app.requests[0].texts())
    assert serve.stop() == 0, serve.said


async def test_a_stored_profile_weighs_entries_of_own_packs_after_a_restart(tmp_path: Path) -> None:
    packs = tmp_path / "packs"
    write_pack(packs, WORDS)
    write_profile(tmp_path / "mine.yaml", {"de/general#th-0": 5})
    text = (tmp_path / "mine.yaml").read_text()
    async with upstream() as app:
        async with gateway(tmp_path, app, packs=packs) as running:
            put = await running.api("PUT", "/api/profiles/mine", {"yaml": text})
            assert put.is_success, put.text
        use_folder(None)  # as in a process that starts
        async with gateway(tmp_path, app, packs=packs) as running:
            opened = await running.api("POST", "/api/sessions", {"profile": "mine"})
            assert opened.is_success, opened.text


async def test_a_reload_reads_packs_before_profiles_and_changes_nothing_if_it_fails(tmp_path: Path) -> None:
    packs, profile, file = tmp_path / "packs", tmp_path / "mine.yaml", tmp_path / "crosswind.yaml"
    write_pack(packs, WORDS)
    write_profile(profile, {"de/general#th-0": 5})

    def has_words(words: str) -> bool:
        pack = load_pack(Language.DE, Domain.GENERAL)
        return pack is not None and words in {entry.text for entry in pack.entries}

    async with upstream() as app:
        file.write_text(yaml.safe_dump({"upstream": f"{app.url}/v1"}))
        given = {"profile": str(profile), "packs": packs}
        fixed = ("port", "control_port", "store", "seed", "durability_wait", "acknowledge_wait", *given)

        def read() -> Settings:
            return load(file, {name: getattr(running.gateway.settings, name) for name in fixed})

        running: Running
        async with gateway(tmp_path, app, source=read, **given) as running:
            write_pack(packs, WORDS, OTHER_WORDS)
            write_profile(profile, {"de/general#th-1": 5})
            assert (await running.api("POST", "/api/reload")).is_success
            assert has_words(OTHER_WORDS)
            write_pack(packs, WORDS)
            refused = await running.api("POST", "/api/reload")
            assert refused.status_code == 400 and "de/general#th-1" in refused.text
            assert has_words(OTHER_WORDS), "the packs of before are used"
