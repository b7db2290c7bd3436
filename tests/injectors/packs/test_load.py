"""Loading the packs that are shipped, and what they lack."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from crosswind.injectors import registry
from crosswind.injectors.cli.examples import sample_for
from crosswind.injectors.conversation import ToolList, ToolSchema
from crosswind.injectors.operators.phrases import list_about
from crosswind.injectors.packs.draw import make_setting
from crosswind.injectors.packs.editions import _list_versions, list_versions
from crosswind.injectors.packs.load import (
    OWN,
    PackError,
    load,
    load_all,
    load_shipped,
    shipped_files,
    use_folder,
)
from crosswind.injectors.packs.parts import BORROWED, OPERATORS, PARTS, Domain, count_wanted
from crosswind.injectors.packs.shortfall import find_shortfalls
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Half
from crosswind.injectors.text.languages import Language


def test_a_pack_is_read_once_and_hashed() -> None:
    pack = load(Language.EN, Domain.GENERAL)
    assert pack is not None and pack is load(Language.EN, Domain.GENERAL)
    file = next(file for file in shipped_files() if str(file).endswith("en/general.jsonl"))
    assert pack.digest == hashlib.sha256(file.read_bytes()).hexdigest()


def test_an_absent_pack_is_none() -> None:
    assert load(Language.AR, Domain.CODE) is None


def test_entries_are_selected_by_operator_part_and_half() -> None:
    for pack in load_all():
        selected = [pack.select(*named, half) for named in PARTS for half in Half]
        assert sum(map(len, selected)) == len(pack.entries)
        for entry in pack.select("user.topic_drift", "return", Half.TEST):
            assert (entry.operator, entry.part, entry.half) == ("user.topic_drift", "return", Half.TEST)


def test_what_is_missing_is_counted_for_each_part_domain_and_language() -> None:
    every = find_shortfalls([])
    assert {(row.language, row.domain) for row in every} >= {("en", domain) for domain in Domain}
    assert all(row.count == row.wanted == count_wanted(row.part, row.language, row.domain) for row in every)
    pack = load(Language.EN, Domain.GENERAL)
    assert pack is not None
    fewer = replace(pack, entries=pack.entries[1:], lines=pack.lines[1:])
    assert sum(row.count for row in find_shortfalls([fewer])) - sum(
        row.count for row in find_shortfalls([pack])
    ) in (0, 1)
    assert sum(row.has for row in find_shortfalls([])) == 0


@pytest.mark.parametrize("name", sorted(registry.operators()))
def test_a_draw_names_no_pack_that_a_plan_does_not_list(name: str) -> None:
    entry = registry.operators()[name]
    target = sample_for(entry)
    listed = {edition.partition(":")[0] for edition in list_versions(frozenset((name,)))}
    draws = [entry.draw({}, target, SeededRandom(f"packs|{seed}"), 0.9) for seed in range(20)]
    named = {phrase.partition("#")[0] for draw in draws if draw for phrase in draw.get("phrases", ())}
    assert named <= listed
    assert bool(listed) == (name in OPERATORS or name in BORROWED)


def test_editions_are_listed_without_a_pack_being_loaded() -> None:
    operators = frozenset(OPERATORS)
    _list_versions.cache_clear()
    load_shipped.cache_clear()
    listed = list_versions(operators)
    assert load_shipped.cache_info().currsize == 0
    assert set(listed) <= {pack.edition for pack in load_all()}
    assert {one.partition("@")[0] for one in listed} == {
        pack.name for pack in load_all() if any(entry.operator in OPERATORS for entry in pack.entries)
    }


def test_an_interaction_pattern_lists_the_pack_that_it_draws_from() -> None:
    assert [one.partition("@")[0] for one in list_versions(frozenset(("user.interaction_pattern",)))] == [
        "en/general"
    ]
    assert len(list_versions(frozenset(("user.interaction_pattern", "user.redundant")))) > 1


@pytest.mark.parametrize(
    ("place", "raw", "words"),
    [
        ("fr/search", b'{"pack": "en/search", "version": 1, "licence": "x"}\n', "is read as fr/search"),
        ("fr/search", b'{"pack": "fr/search", "version": 1, "licence": "\xe9"}\n', "save it as UTF-8"),
        ("fr/search", b"no pack\n", "line 1"),
        ("fr/library", b"", "'library' is no domain"),
    ],
    ids=["another pack's place", "Latin-1", "no pack", "no domain"],
)
def test_an_own_pack_that_cannot_be_used_is_named_and_nothing_changes(
    place: str, raw: bytes, words: str, tmp_path: Path
) -> None:
    file, before = tmp_path / f"{place}.jsonl", OWN.turn
    file.parent.mkdir()
    file.write_bytes(raw)
    with pytest.raises(PackError) as refused:
        use_folder(tmp_path)
    assert str(file) in str(refused.value) and words in str(refused.value)
    assert OWN.turn == before and not OWN.packs


def test_nothing_is_remembered_of_packs_that_a_folder_replaces(tmp_path: Path) -> None:
    operator, tools = "tool.misleading", ToolList((ToolSchema("get_order", "Get an order.", {}),))

    def list_names() -> set[str]:
        setting = make_setting(tools, "status", Language.EN, Half.TRAIN)
        return {name for name, _ in list_about(setting, operator, "remark")}

    shipped, own = list_names(), tmp_path / "en" / "general.jsonl"
    header = {"pack": "en/general", "version": 900, "licence": "CC0-1.0"}
    entry = {"id": "a", "for": operator, "part": "remark", "half": "train", "text": "So.", "about": ["order"]}
    own.parent.mkdir()
    own.write_text(f"{json.dumps(header)}\n{json.dumps(entry)}\n")
    use_folder(tmp_path)
    try:
        assert "en/general@900#a" in list_names()
    finally:
        use_folder(None)
    assert list_names() == shipped
