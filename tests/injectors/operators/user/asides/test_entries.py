"""What a user says beside the request is said once, and tells nothing of who the user is."""

from __future__ import annotations

import re

import pytest

from crosswind.injectors.packs.load import load_all
from tests.injectors.operators.acting import shown, user_target

ENTRIES = {f"{pack.name}@{pack.version}#{entry.id}": entry for pack in load_all() for entry in pack.entries}


THANKED = (
    "Could you check when the shuttle to the remote stands leaves today, and how many it holds? Thanks!",
    "Können Sie nachsehen, wann der Bus zu den Außenständen heute fährt, und was er fasst? Vielen Dank!",
    "¿Puede mirar cuándo sale hoy el autobús, y cuántas plazas tiene para nosotros? Muchas gracias.",
)


@pytest.mark.parametrize("text", THANKED)
def test_a_message_that_thanks_does_so_once(text: str) -> None:
    found = shown("user.redundant", user_target(text), seeds=200)
    assert any(one != text for one in found)
    for after in found:
        assert len(re.findall(r"(?i)\b(?:thanks|thank you|cheers|dank\w*|merci|gracias)\b", after)) == 1, (
            after
        )


@pytest.mark.parametrize("greeting", ["Morning,", "Evening all,", "Guten Tag,"])
def test_no_greeting_comes_before_a_message_that_greets(greeting: str) -> None:
    text = f"{greeting} what is on stand twelve at the moment, and when does it leave again today?"
    assert all(one.startswith(greeting) for one in shown("user.redundant", user_target(text), seeds=200))


def test_a_noun_that_greets_nobody_is_none() -> None:
    text = "Morning flights to Oslo are what I need a list of, with their gates and their times."
    assert any(not one.startswith("Morning") for one in shown("user.redundant", user_target(text), seeds=200))


ENDINGS = re.compile(
    r"(?i)that.?s (?:about )?all|all i need|das wäre (?:dann )?alles|eso (?:es|sería) todo"
    r"|ce sera tout|就这些|以上です"
)


def test_no_remark_says_that_the_conversation_ends() -> None:
    said = [one.text for one in ENTRIES.values() if one.part == "chat" and not one.about]
    assert len(said) > 150 and [one for one in said if ENDINGS.search(one)] == []


COMPANIONS = re.compile(
    r"\bmeine?[nmrs]? (?:Frau|Mann|Sohn|Tochter|Eltern|Partner|Schwester|Mutter|Familie)\b"
)


def test_no_german_probe_or_errand_tells_of_a_companion() -> None:
    asked = ("user.boundary_probing", "user.out_of_scope", "user.cost_cue", "user.speed_cue")
    german = [one for name, one in ENTRIES.items() if name.startswith("de/") and one.operator in asked]
    assert len(german) > 500 and [one.text for one in german if COMPANIONS.search(one.text)] == []


PAYS = re.compile(
    r"\bzahle ich\b|\bich (?:zahle|spare)\b|\bmeine? (?:Guthaben|Kontingent|Limit|Budget|Abo)\b", re.I
)


def test_a_german_cue_fits_a_user_who_does_not_pay_for_the_assistant() -> None:
    cues = [
        one.text
        for name, one in ENTRIES.items()
        if name.startswith("de/") and one.operator == "user.cost_cue"
    ]
    assert len(cues) > 100 and [one for one in cues if PAYS.search(one)] == []
