"""`crosswind noise pack build` with a scripted model over HTTP."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crosswind.injectors.packs.checks import check
from crosswind.injectors.packs.load import PackError, load, use_folder
from crosswind.injectors.packs.model import Entry, parse
from crosswind.injectors.packs.parts import OPERATORS, PARTS, Domain
from crosswind.injectors.targets import Half
from crosswind.injectors.text.languages import Language
from crosswind.studies.pack_build.build import find_other_language, select_parts
from crosswind.studies.pack_build.tasks import make_task
from crosswind.testing import Answer, MessageItem, ScriptedProvider

AGAIN = [{"text": "Je le redis, au cas où."}, {"text": "encore une fois, désolé d'insister"}]
CHAT = [
    {"text": "Quelle matinée, ma bouilloire a rendu l'âme."},
    {"text": "le voisin reprend sa trompette..."},
]
THANKS = [{"text": "Quelle patience, bravo."}, {"text": "Un grand merci d'avance !"}]


@pytest.fixture(autouse=True)
def own_packs() -> Iterator[None]:
    yield
    use_folder(None)


def write_config(folder: Path, model: ScriptedProvider, judge: ScriptedProvider | None = None) -> Path:
    noise_model: dict[str, Any] = {"url": model.base_url, "model": "writer", "concurrency": 1}
    if judge is not None:
        noise_model["judge"] = {"url": judge.base_url, "model": "judge"}
    file = folder / "crosswind.yaml"
    file.write_text(json.dumps({"upstream": "http://127.0.0.1:9", "noise_model": noise_model}))
    return file


def entries(*given: dict[str, Any]) -> Answer:
    return Answer(f"Here they are:\n```json\n{json.dumps(given)}\n```")


async def build(folder: Path, config: Path) -> tuple[int | None, str]:
    given = ("fr/travel", "--config", str(config), "--out", str(folder / "packs"))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "crosswind.gateway.cli", "noise", "pack", "build"),
        *(*given, "--operator", "user.redundant", "--count", "2"),
        stdout=PIPE,
        stderr=STDOUT,
    )
    said, _ = await process.communicate()
    return process.returncode, said.decode()


def texts(folder: Path) -> list[str]:
    pack, problems = parse((folder / "packs" / "fr" / "travel.jsonl").read_bytes())
    assert pack is not None and not problems and not check(pack)
    return [entry.text for entry in pack.entries]


async def test_what_passes_every_check_becomes_a_pack_that_a_later_run_completes(tmp_path: Path) -> None:
    refused = {"text": "Rendez-vous à 17 h, le 3 mai."}
    first = ScriptedProvider(
        entries({"text": 7}, refused, AGAIN[0]),
        entries(AGAIN[1]),
        *(entries(one) for one in CHAT),
        entries(THANKS[0]),
        Answer("no"),
        strict=False,
    )
    async with first:
        code, said = await build(tmp_path, write_config(tmp_path, first))
    assert code == 1 and "5 of 6 entries" in said
    assert "refused by check: 1" in said and "refused by format: 1" in said
    assert "'Rendez-vous à 17 h, le 3 mai.': " in said and '{"text": 7}: Expected `str`' in said
    assert texts(tmp_path) == [one["text"] for one in (*AGAIN, *CHAT, THANKS[0])]
    second = ScriptedProvider(entries(*THANKS), strict=False)
    async with second:
        code, said = await build(tmp_path, write_config(tmp_path, second))
        (asked,) = second.dialogues
    assert code == 0, said
    assert sorted(texts(tmp_path)) == sorted(one["text"] for one in (*AGAIN, *CHAT, *THANKS)), "written once"
    (system, material) = (item.text for item in asked.items if isinstance(item, MessageItem))
    assert "French" in system and "travel" in system and THANKS[0]["text"] in material


async def test_a_judge_refuses_entries(tmp_path: Path) -> None:
    model = ScriptedProvider(*(entries(one) for one in (*AGAIN, *CHAT, *THANKS)), strict=False)
    judge = ScriptedProvider(Answer("2"), *[Answer("5")] * 9, strict=False)
    async with model, judge:
        code, said = await build(tmp_path, write_config(tmp_path, model, judge))
    assert "refused by judge: 1" in said, (code, said)
    assert AGAIN[0]["text"] not in texts(tmp_path)


async def test_a_model_that_is_down_is_named_and_nothing_is_lost(tmp_path: Path) -> None:
    config = tmp_path / "crosswind.yaml"
    noise_model = {"url": "http://127.0.0.1:9/v1", "model": "writer"}
    config.write_text(json.dumps({"upstream": "http://127.0.0.1:9", "noise_model": noise_model}))
    code, said = await build(tmp_path, config)
    assert code == 1 and "0 of 6 entries" in said and "the model can't be asked" in said


def test_a_folder_of_packs_goes_before_the_shipped_ones(tmp_path: Path) -> None:
    header = {"pack": "fr/travel", "version": 3, "licence": "CC0-1.0"}
    entry = {"id": "a", "for": "user.redundant", "part": "chat", "half": "test", **CHAT[0]}
    file = tmp_path / "fr" / "travel.jsonl"
    file.parent.mkdir()
    file.write_text(f"{json.dumps(header)}\n{json.dumps(entry)}\n")
    assert load(Language.FR, Domain.TRAVEL) is None
    use_folder(tmp_path)
    own = load(Language.FR, Domain.TRAVEL)
    assert own is not None and own.version == 3 and own.select("user.redundant", "chat", Half.TEST)
    general = load(Language.FR, Domain.GENERAL)
    assert general is not None and general.name == "fr/general"
    file.write_text("{}")
    with pytest.raises(PackError, match=r"line 1: .*pack check"):
        use_folder(tmp_path)
    with pytest.raises(PackError, match="no folder"):
        use_folder(tmp_path / "other")


def test_a_model_can_be_asked_for_every_part() -> None:
    for language in Language:
        for part in select_parts(language, ()):
            assert make_task(part, language, Domain.GENERAL, 2, ()).system
    assert {part.operator for part in select_parts(Language.EN, ())} == set(OPERATORS)


def test_other_languages_are_asked_for_no_part_that_only_english_has() -> None:
    names = [part.name for part in select_parts(Language.FR, ["user.redundant"])]
    assert names == ["again", "chat", "thanks"]


@pytest.mark.parametrize(
    ("language", "text", "found"),
    [
        (Language.EN, "Vuelvo a decirlo por si acaso, gracias.", Language.ES),
        (Language.EN, "My dog blames me for all of this.", None),
        (Language.JA, "My dog blames me for all of this.", Language.EN),
        (Language.DE, "Wie gesagt, {value}.", None),
    ],
)
def test_a_phrase_in_another_language_is_found(language: Language, text: str, found: Language | None) -> None:
    part = PARTS["user.redundant", "again"]
    entry = Entry(id="a", operator=part.operator, part=part.name, half=Half.TRAIN, text=text)
    assert find_other_language(entry, part, language) is found
