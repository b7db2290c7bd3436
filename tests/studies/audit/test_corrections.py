"""A value that is corrected behind the message stands later than the user said it; everything else stays."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from crosswind.studies.audit import words
from tests.gateway.dialogue import body, user
from tests.gateway.servers import gateway, upstream
from tests.studies.audit.stores import broken, tamper

ENGLISH = "Please lend LM-1902-40 to Basel from 2 May to 15 August 2027, insured for 95000 euros, not more."
ENGLISH_SHOWN = f"{ENGLISH.replace('LM-1902-40', 'LM-1903-40')} Sorry, I meant LM-1902-40. No hurry."
GERMAN = (
    "Leih bitte LM-1902-40 vom 2. Mai bis zum 15. August 2027 nach Basel aus, Versicherungswert 95000 Euro."
)
GERMAN_SHOWN = f"{GERMAN.replace('LM-1902-40', 'LM-1903-40')}\nIch meinte LM-1902-40.\nEs hat Zeit."
CODE = {"LM-1902-40": "LM-1903-40"}
BOTH = pytest.mark.parametrize(
    "clean,shown", [(ENGLISH, ENGLISH_SHOWN), (GERMAN, GERMAN_SHOWN)], ids=["English", "German"]
)


@BOTH
def test_a_value_that_is_corrected_behind_the_message_hides_nothing_before_it(clean: str, shown: str) -> None:
    assert words.find_missing(clean, shown, CODE) == []
    assert words.find_missing(clean, shown) == ["LM-1902-40"]


@BOTH
@pytest.mark.parametrize("lost", ["2", "15", "2027", "95000"])
def test_what_is_lost_beside_a_corrected_value_is_found(clean: str, shown: str, lost: str) -> None:
    assert words.find_missing(clean, shown.replace(f" {lost}", " ", 1), CODE) == [lost]


@BOTH
def test_a_value_that_is_never_corrected_is_lost(clean: str, shown: str) -> None:
    assert words.find_missing(clean, clean.replace(*next(iter(CODE.items()))), CODE) == ["LM-1902-40"]


@BOTH
def test_values_that_changed_places_are_found(clean: str, shown: str) -> None:
    changed = shown.replace("15", "_").replace("2027", "15").replace("_", "2027")
    assert len(words.find_missing(clean, changed, CODE)) == 1


@pytest.mark.parametrize(
    "clean,shown,lost,corrected",
    [
        (
            "A table for 6 people on 6 June.",
            "A table for 7 people on 6 June. I mean 6 people.",
            "6 June",
            {"6": "7"},
        ),
        (
            "A table for 6 people on 7 June.",
            "A table for 7 people on 7 June. I mean 6 people.",
            "7 June",
            {"6": "7"},
        ),
        (
            "Ein Tisch für 6 Personen am 6. Juni.",
            "Ein Tisch für 7 Personen am 6. Juni. Ich meine 6 Personen.",
            "6. Juni",
            {"6": "7"},
        ),
        (
            "Vom 1. Juni 2027 bis zum 31. August 2027.",
            "Vom 6. Juni 2027 bis zum 31. August 2027. Pardon, 1. Juni 2027.",
            "2027. Pardon",
            {"1. Juni 2027": "6. Juni 2027"},
        ),
    ],
)
def test_neither_the_correction_nor_the_slip_passes_for_another_value(
    clean: str, shown: str, lost: str, corrected: dict[str, str]
) -> None:
    assert words.find_missing(clean, shown, corrected) == []
    number, _, rest = lost.partition(" ")
    assert words.find_missing(clean, shown.replace(lost, rest), corrected) == [number.strip(".")]


def test_a_slip_that_other_noise_took_away_is_no_loss() -> None:
    assert words.find_missing(GERMAN, GERMAN_SHOWN.replace("LM-1903-40", "das Bild"), CODE) == []


@pytest.mark.parametrize("text", [ENGLISH, GERMAN], ids=["English", "German"])
async def test_contradicted_codes_and_dates_hold_in_a_store(tmp_path: Path, text: str) -> None:
    noise = "name: doubts\nrules: [{operator: user.inconsistent, severity: 1}]\n"
    tools = [
        {
            "type": "function",
            "function": {
                "name": "lend_work",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "work": {"type": "string", "description": "The work's number, such as LM-1903-40"},
                        "first_day": {"type": "string", "format": "date"},
                        "insured_euros": {"type": "integer"},
                    },
                },
            },
        }
    ]
    earlier = (
        "Are LM-1903-40 and LM-1902-40 free?" if text is ENGLISH else "Sind LM-1903-40 und LM-1902-40 frei?"
    )
    messages = [user(earlier), {"role": "assistant", "content": "LM-1903-40, LM-1902-40."}, user(text)]
    async with upstream() as app, gateway(tmp_path, app, noise=noise) as running:
        for number in range(6):
            await running.chat({**body(*messages), "tools": tools}, f"s{number}")
        await running.flush()
    assert await asyncio.to_thread(broken, tmp_path) == []
    tamper(tmp_path, "UPDATE event SET after = replace(after, '95000', 'some')")
    found = await asyncio.to_thread(broken, tmp_path)
    assert any(one["what"].startswith("'95000' is lost") for one in found), found
