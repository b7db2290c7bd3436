"""state.irrelevant: the paper's volumes by kind of scene, new ids, and nothing of the observation changed."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from crosswind.injectors.operators.state.irrelevant import MOST
from crosswind.injectors.operators.state.scenes import Scene, find_end, find_gaps, recognise_scene
from crosswind.injectors.operators.words.scenes import (
    GRID_PLACES,
    HOUSEHOLD_LOOKS,
    HOUSEHOLD_OBJECTS,
    SHOP_FEATURES,
)
from crosswind.injectors.packs.load import load_all
from crosswind.injectors.targets import Half
from crosswind.injectors.text.languages import UNABLE
from tests.injectors.operators.acting import acts, repeated, result_target, shown

NAME = "state.irrelevant"
ROOM = (
    "Your task is to: put some bowl on a shelf.\n"
    "You are in the middle of a room. You see a cabinet 4, a drawer 2, and a mug 3. Nothing else is near.\n"
    "Your admissible actions of the current situation are: [go to cabinet 4, take mug 3. look]"
)
RESULTS = (
    "Instruction: [SEP] a grey hat [SEP] Page 1 (Total results: 50) [SEP] B09ABCDEFG [SEP] Hat [SEP] $10"
)
PRODUCT = "Instruction: [SEP] a grey hat [SEP] Hat [SEP] Price: $10 [SEP] Buy Now"
GRID = "The grid is 6x6.\nThe box is at (2, 3).\nThe target is at (4, 1).\nAdmissible actions: up, down"


def added(text: str, volume: int, seeds: int = 5) -> list[str]:
    """The observation with so much irrelevant state, under each seed."""
    return shown("state.irrelevant", result_target(text), volume / MOST, seeds)


@pytest.mark.parametrize(
    "text,scene",
    [
        (ROOM, Scene.HOUSEHOLD),
        (RESULTS, Scene.SHOP),
        (GRID, Scene.GRID),
        ('{"at": "(1, 2)"}', Scene.DATA),
        ("The meeting went well.", Scene.OTHER),
        ("shipped", None),
        ('"you see a mug"', None),
        ("", None),
    ],
)
def test_the_scene_decides_what_is_added(text: str, scene: Scene | None) -> None:
    assert recognise_scene(text) is scene


@pytest.mark.parametrize("volume,sentences", [(300, 25), (200, 16), (120, 10), (12, 1), (11, 0)])
def test_a_room_gets_a_twelfth_of_the_volume_in_sentences_with_new_ids(volume: int, sentences: int) -> None:
    for after in added(ROOM, volume, 10):
        things = re.findall(rf"\b({'|'.join(HOUSEHOLD_OBJECTS)}) (\d+)[ ,]", after.replace("mug 3", ""))
        assert len(things) == sentences
        assert len(set(things)) == sentences
        assert {name for name, _ in things}.isdisjoint({"bowl", "mug"})  # The goal's and the scene's own.
        assert sum(after.count(look) for look in HOUSEHOLD_LOOKS) >= sentences
        assert after.split("\n")[:: len(after.split("\n")) - 1] == ROOM.split("\n")[::2]


def test_sentences_come_at_random_places() -> None:
    seen = added(ROOM, 12, 60)
    for gap in find_gaps(ROOM):
        assert any(after.startswith(ROOM[:gap] + " ") and after.endswith(ROOM[gap:]) for after in seen)
    assert len(find_gaps(ROOM)) == 3


@pytest.mark.parametrize("volume,entries", [(100, 5), (40, 2), (30, 1), (19, 0), (400, 10)])
def test_a_result_page_gets_a_twentieth_in_entries_ten_at_most(volume: int, entries: int) -> None:
    for after in added(RESULTS, volume):
        assert after.startswith(RESULTS)
        assert after.count("[SEP]") - RESULTS.count("[SEP]") == entries
        assert all("[AD]" in one or "can't be chosen" in one for one in after.split(" [SEP] ")[6:])


@pytest.mark.parametrize("volume,features,advertisements", [(30, 1, 1), (40, 1, 1), (100, 4, 3), (1, 1, 1)])
def test_a_product_page_gets_features_and_advertisements(
    volume: int, features: int, advertisements: int
) -> None:
    for after in added(PRODUCT, volume):
        assert after.startswith(PRODUCT)
        assert after.count("[AD]") == advertisements
        assert sum(after.count(feature) for feature in SHOP_FEATURES) == features


@pytest.mark.parametrize("volume,lines", [(80, 8), (50, 5), (150, 15), (4, 1), (0, 0)])
def test_a_grid_gets_a_tenth_in_lines_outside_of_it(volume: int, lines: int) -> None:
    before, actions = GRID.rsplit("\n", 1)
    for after in added(GRID, volume):
        assert after.startswith(before) and after.endswith("\n" + actions)
        more = after[len(before) : -len(actions) - 1]
        places = [(int(row), int(column)) for row, column in re.findall(r"\((\d+), (\d+)\)", more)]
        assert len(places) == len(set(places)) == lines
        assert all(row > 6 and column > 6 for row, column in places)
        assert sum(more.count(place) for place in GRID_PLACES) == lines


def test_data_gets_fields_of_a_fifth_of_the_volume_on_average() -> None:
    text = '{"ui_theme": "own", "rows": [1, 2]}'
    known = set(by_key())
    lengths = []
    for one in added(text, 400, 300):
        after = json.loads(one)
        assert (after.pop("ui_theme"), after.pop("rows")) == ("own", [1, 2])
        held = next((one for one in after.values() if isinstance(one, dict)), after)
        assert held and set(held) <= known
        lengths.append(len(one) - len(text))
    assert 70 < sum(lengths) / len(lengths) < 90


BOOKING, EXCHANGE = '{"cancel_status": true}', '{"exchanged_value": 1423.5}'
BY_TOOL = {
    "cancel_booking": (BOOKING, "booking", {"insurance", "exchange", "flight"}),
    "compute_exchange_rate": (EXCHANGE, "exchange", {"message", "booking", "stock"}),
    "purchase_insurance": ('{"insurance_id": "49"}', "insurance", {"message", "login", "exchange"}),
    "get_zipcode_based_on_city": ('{"zipcode": "10292"}', "zipcode", {"weather", "hotel"}),
    "startEngine": ('{"engineState": "running"}', "engine", {"weather", "login"}),
    "get_thing": ('{"ok": true}', "", {"booking", "message", "file"}),
}
"""By tool: a result, a stem of what it is about, and of what it isn't."""


def by_key() -> dict[str, tuple[str, ...]]:
    """What the fields of the packs are about."""
    parts = ("field", "record")
    found = [one for pack in load_all() for part in parts for one in pack.select(NAME, part, Half.TRAIN)]
    return {one.key: one.about for one in found}


@pytest.mark.parametrize("tool", BY_TOOL)
def test_fields_belong_to_what_the_tools_name_speaks_of(tool: str) -> None:
    text, own, foreign = BY_TOOL[tool]
    known = {key.replace("_", ""): about for key, about in by_key().items()}
    target = replace(result_target(text), tool=tool)
    about = []
    for after in shown(NAME, target, 1.0, 60):
        added = {key: value for key, value in json.loads(after).items() if key not in json.loads(text)}
        held = next((one for one in added.values() if isinstance(one, dict)), added)
        about += [known[key.replace("_", "").lower()] for key in held]
    assert all(not one or own in one for one in about)
    assert not foreign & {stem for one in about for stem in one}
    assert not own or sum(map(bool, about)) > len(about) / 2


def test_only_a_record_with_an_id_gets_fields_of_a_record() -> None:
    of_record = {one.key for pack in load_all() for one in pack.select(NAME, "record", Half.TRAIN)}

    def count(text: str) -> int:
        target = replace(result_target(text), tool="get_thing")
        return sum(key in of_record for one in shown(NAME, target, 1.0, 60) for key in json.loads(one))

    assert count('{"ok": true}') == 0 < count('{"thing_id": 4}')


def test_a_time_is_later_on_the_results_own_day_in_its_style() -> None:
    text = '{"thing_id": 4, "created": "2025-01-04 10:22:01"}'
    target = replace(result_target(text), tool="get_thing")
    times = {
        value
        for one in shown(NAME, target, 1.0, 300)
        for key, value in json.loads(one).items()
        if key == "updated_at"
    }
    assert times and all(re.fullmatch(r"2025-01-04 \d\d:\d\d:\d\d", one) for one in times)
    assert min(times) >= "2025-01-04 10:22"


@pytest.mark.parametrize(
    "text",
    [
        '{"thing_id": 4, "date": "2026-12-03"}',
        '{"thing_id": 4, "talk": "Friday 12 June 2026"}',
        '{"thing_id": 4, "from": "2026-12-03 10:00", "to": "2026-12-04 10:00"}',
    ],
)
def test_no_time_stands_beside_a_day_to_come_or_a_year_told_otherwise(text: str) -> None:
    timed = [
        one.key
        for pack in load_all()
        for part in ("field", "record")
        for one in pack.select(NAME, part, Half.TRAIN)
        if "{time}" in one.text
    ]
    found = shown(NAME, replace(result_target(text), tool="get_thing"), 1.0, 200)
    assert timed and not any(f'"{key}"' in one for one in found for key in timed)


def test_no_line_has_a_year_of_its_own_beside_a_page_of_another() -> None:
    target = replace(result_target("The talk is on 12 June 2026.\nEverybody is welcome."), tool="fetch_page")
    assert not any("2025" in one for one in shown(NAME, target, 1.0, 200))


@pytest.mark.parametrize(
    "tool,text",
    [
        ("get_thing", "[1, 2]"),
        ("get_thing", "{}"),
        ("get_thing", '{"error": "Not found."}'),
        ("rent_car", '{"rented": true}'),
        ("run_bash", "total 12 of them"),
        ("cat", "The meeting went well."),
    ],
)
def test_what_no_field_belongs_to_stays_clean_with_a_reason(tool: str, text: str) -> None:
    target = replace(result_target(text), tool=tool)
    for one in acts(NAME, target, 1.0, 5):
        assert one is not None and one[0][UNABLE] and one[1] == text


def test_other_text_gets_lines_of_its_own_kind_behind_it() -> None:
    text = "The meeting went well."
    page = replace(result_target(text), tool="fetch_page")
    found = shown(NAME, page, 1.0, 300)
    assert set(added(text, 400, 20)) == {text}
    assert all(after.startswith(text) for after in found)
    assert 70 < sum(len(after) - len(text) for after in found) / 300 < 90
    assert len(set(found)) > 150


@pytest.mark.parametrize("text", [ROOM, RESULTS, PRODUCT, GRID, "Some text.", '{"a": 1}'])
def test_no_volume_adds_nothing(text: str) -> None:
    assert set(added(text, 0, 20)) == {text}


def test_a_list_of_actions_ends_the_state() -> None:
    assert ROOM[: find_end(ROOM)].endswith("Nothing else is near.")
    assert find_end("No list here.\n") == len("No list here.")


MARKS = {
    ROOM: (25, rf"\b(?:{'|'.join(HOUSEHOLD_OBJECTS)}) \d+[ ,]"),
    RESULTS: (1, r"\[AD\]|chosen"),
    GRID: (8, "unreachable"),
}
"""By observation: the entries that the papers' volume makes, and what marks one."""


@pytest.mark.parametrize("text", MARKS, ids=["room", "shop", "grid"])
def test_v1_has_the_papers_volumes_in_every_session(text: str) -> None:
    count, mark = MARKS[text]
    for seed in range(10):
        (after,) = repeated("state-augmentation/v1", text, calls=1, seed=seed)
        assert len(re.findall(mark, after)) - len(re.findall(mark, text)) == count


def test_v2_leaves_half_of_the_sessions_alone_and_the_others_never() -> None:
    views = [repeated("state-augmentation/v2", ROOM, calls=4, seed=seed) for seed in range(200)]
    counts = [sum(text != ROOM for text in view) for view in views]
    assert set(counts) == {0, 4}
    assert 75 < counts.count(4) < 125
