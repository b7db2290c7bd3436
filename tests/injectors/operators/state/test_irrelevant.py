"""state.irrelevant: the paper's volumes by kind of scene, new ids, and nothing of the observation changed."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.injectors import registry
from crosswind.injectors.cli.documents import conversation
from crosswind.injectors.engine.decide import perturb
from crosswind.injectors.engine.plan import Seed, make_plan
from crosswind.injectors.guard import solvability
from crosswind.injectors.operators.state.irrelevant import MOST
from crosswind.injectors.operators.state.scenes import Scene, find_end, find_gaps, recognise_scene
from crosswind.injectors.operators.words.scenes import (
    DATA_FIELDS,
    GRID_PLACES,
    HOUSEHOLD_LOOKS,
    HOUSEHOLD_OBJECTS,
    SHOP_FEATURES,
)
from crosswind.injectors.profiles.load import load
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import ToolClass, ToolResultTarget
from tests.injectors.dialogues import call

ENTRY = registry.resolve("state.irrelevant")
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


def shown(text: str, volume: int, seed: int = 0) -> str:
    """The observation with so much irrelevant state, under the guard."""
    target = ToolResultTarget(text, 0, "look", "{}", ToolClass.READ_ONLY)
    draw = ENTRY.implementation.draw(target, Stream(f"state|{seed}"), volume / MOST)
    if draw is None:
        return text
    stored = json.loads(json.dumps(draw))
    after = str(ENTRY.implementation.apply(target, stored).payload)
    assert solvability.after_tool(ENTRY, target, after, clean=text) is None
    return after


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


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("volume,sentences", [(300, 25), (200, 16), (120, 10), (12, 1), (11, 0)])
def test_a_room_gets_a_twelfth_of_the_volume_in_sentences_with_new_ids(
    volume: int, sentences: int, seed: int
) -> None:
    after = shown(ROOM, volume, seed)
    things = re.findall(rf"\b({'|'.join(HOUSEHOLD_OBJECTS)}) (\d+)[ ,]", after.replace("mug 3", ""))
    assert len(things) == sentences
    assert len({number for _, number in things} - {"2", "3", "4"}) == sentences
    assert {name for name, _ in things}.isdisjoint({"bowl", "mug"})  # The goal's and the scene's own.
    assert sum(after.count(look) for look in HOUSEHOLD_LOOKS) >= sentences
    lines = after.split("\n")
    assert (lines[0], lines[-1]) == (ROOM.split("\n", maxsplit=1)[0], ROOM.rsplit("\n", maxsplit=1)[-1])


def test_sentences_come_at_random_places() -> None:
    seen = [shown(ROOM, 12, seed) for seed in range(60)]
    for gap in find_gaps(ROOM):
        assert any(after.startswith(ROOM[:gap] + " ") and after.endswith(ROOM[gap:]) for after in seen)
    assert len(find_gaps(ROOM)) == 3


@pytest.mark.parametrize("volume,entries", [(100, 5), (40, 2), (30, 1), (19, 0), (400, 10)])
def test_a_result_page_gets_a_twentieth_in_entries_ten_at_most(volume: int, entries: int) -> None:
    after = shown(RESULTS, volume)
    assert after.startswith(RESULTS)
    assert after.count("[SEP]") - RESULTS.count("[SEP]") == entries
    assert all("[AD]" in one or "can't be chosen" in one for one in after.split(" [SEP] ")[6:])


@pytest.mark.parametrize("volume,features,advertisements", [(30, 1, 1), (40, 1, 1), (100, 4, 3), (1, 1, 1)])
def test_a_product_page_gets_features_and_advertisements(
    volume: int, features: int, advertisements: int
) -> None:
    after = shown(PRODUCT, volume)
    assert after.startswith(PRODUCT)
    assert after.count("[AD]") == advertisements
    assert sum(after.count(feature) for feature in SHOP_FEATURES) == features


@pytest.mark.parametrize("volume,lines", [(80, 8), (50, 5), (150, 15), (4, 1), (0, 0)])
def test_a_grid_gets_a_tenth_in_lines_outside_of_it(volume: int, lines: int) -> None:
    after = shown(GRID, volume)
    before, actions = GRID.rsplit("\n", 1)
    assert after.startswith(before) and after.endswith("\n" + actions)
    added = after[len(before) : -len(actions) - 1]
    places = [(int(row), int(column)) for row, column in re.findall(r"\((\d+), (\d+)\)", added)]
    assert len(places) == len(set(places)) == lines
    assert all(row > 6 and column > 6 for row, column in places)
    assert sum(added.count(place) for place in GRID_PLACES) == lines


def test_data_gets_fields_of_the_volume_on_average() -> None:
    text = '{"ui_theme": "own", "rows": [1, 2]}'
    added = []
    for seed in range(300):
        after = json.loads(shown(text, 100, seed))
        assert (after.pop("ui_theme"), after.pop("rows")) == ("own", [1, 2])
        assert set(after) < set(DATA_FIELDS)
        added.append(sum(len(json.dumps({key: value})) for key, value in after.items()))
    assert 90 < sum(added) / len(added) < 110


def test_other_text_gets_a_piece_of_a_foreign_observation_behind_it() -> None:
    text = "The meeting went well."
    after = shown(text, 200)
    assert after.startswith(text + "\n") and "monitor shows a shopping page" in after
    mean = sum(len(shown(text, 200, seed)) - len(text) for seed in range(200)) / 200
    assert 180 < mean < 220


@settings(max_examples=60, deadline=None)
@given(
    text=st.sampled_from([ROOM, RESULTS, PRODUCT, GRID, "Some text.", '{"a": 1}']), seed=st.integers(0, 99)
)
def test_no_volume_adds_nothing(text: str, seed: int) -> None:
    assert shown(text, 0, seed) == text


def test_a_list_of_actions_ends_the_state() -> None:
    assert ROOM[: find_end(ROOM)].endswith("Nothing else is near.")
    assert find_end("No list here.\n") == len("No list here.")


OBSERVATIONS = {ROOM: 25, RESULTS: 1, GRID: 8}
MARKS = {
    ROOM: r"\b(?:{}) \d+[ ,]".format("|".join(HOUSEHOLD_OBJECTS)),
    RESULTS: r"\[AD\]|chosen",
    GRID: "unreachable",
}


@pytest.mark.parametrize("text", OBSERVATIONS, ids=["room", "shop", "grid"])
def test_v1_has_the_papers_volumes_in_every_session(text: str) -> None:
    for seed in range(10):
        plan = make_plan(load("state-augmentation/v1"), Seed(seed, "s"))
        found = perturb(plan, conversation(call("look", {}, text, 0)), {})
        (after,) = found.replacements.values()
        count = len(re.findall(MARKS[text], after)) - len(re.findall(MARKS[text], text))
        assert count == OBSERVATIONS[text]


def test_v2_leaves_half_of_the_sessions_alone_and_the_others_never() -> None:
    chat = [message for number in range(4) for message in call("look", {}, ROOM, number)]
    counts = []
    for seed in range(200):
        plan = make_plan(load("state-augmentation/v2"), Seed(seed, "s"))
        counts.append(len(perturb(plan, conversation(chat), {}).replacements))
    assert set(counts) == {0, 4}
    assert 75 < counts.count(4) < 125
