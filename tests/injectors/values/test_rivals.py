from __future__ import annotations

import pytest

from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.text.languages import Language
from crosswind.injectors.values.calendar import MONTHS
from crosswind.injectors.values.coarse import list_coarse_forms
from crosswind.injectors.values.mentions import Mention, find_mentions
from crosswind.injectors.values.parameters import ValueType
from crosswind.injectors.values.rivals import draw_known_rival, draw_rival
from tests.injectors.values.test_mentions import TRAVEL


def mention(text: str, kind: ValueType, options: tuple[str, ...] = ()) -> Mention:
    return Mention(0, len(text), text, kind, None, options)


VALUES = [
    mention("2026-11-15", ValueType.DATE),
    mention("2026-01-01", ValueType.DATE),
    mention("November 3rd", ValueType.DATE),
    mention("12. März", ValueType.DATE),
    mention("15 de noviembre", ValueType.DATE),
    mention("11月15日", ValueType.DATE),
    mention("next Friday", ValueType.DATE),
    mention("mañana", ValueType.DATE),
    mention("3:30 pm", ValueType.TIME),
    mention("14:05", ValueType.TIME),
    mention("下午3:30", ValueType.TIME),
    mention("two", ValueType.NUMBER),
    mention("17", ValueType.NUMBER),
    mention("2500", ValueType.NUMBER),
    mention("3 days", ValueType.DURATION),
    mention("$800", ValueType.MONEY),
    mention("1,250.50 dollars", ValueType.MONEY),
    mention("premium economy", ValueType.OPTION, ("economy", "premium_economy", "business")),
    mention("W1234", ValueType.ID),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda one: one.text)
def test_a_rival_is_another_value_of_the_same_form(value: Mention) -> None:
    rivals = [draw_rival(value, SeededRandom(f"rival|{seed}")) for seed in range(40)]
    assert rivals == [draw_rival(value, SeededRandom(f"rival|{seed}")) for seed in range(40)]
    made = {one for one in rivals if one is not None}
    assert made and value.text not in made
    assert len(made) >= 2 or value.type is ValueType.DATE
    for rival in made:
        (again,) = find_mentions(f"take {rival} then", TRAVEL)
        assert (again.text, again.type) == (rival, value.type), rival


def test_a_rival_is_none_of_what_is_taken() -> None:
    cabin = mention("business", ValueType.OPTION, ("economy", "business"))
    assert draw_rival(cabin, SeededRandom("a")) == "economy"
    assert draw_rival(cabin, SeededRandom("a"), taken=["Economy"]) is None


def test_places_and_names_have_rivals_of_the_conversation_only() -> None:
    rome = mention("Rome", ValueType.PLACE)
    assert draw_rival(rome, SeededRandom("a")) is None
    assert draw_rival(rome, SeededRandom("a"), ["rome", "Oslo"]) == "Oslo"


def test_a_well_known_city_or_name_has_a_rival_where_the_conversation_has_none() -> None:
    place = Mention(0, 4, "Rome", ValueType.PLACE, "destination")
    assert draw_known_rival(place, SeededRandom("a"), Language.EN) not in (None, "Rome")
    assert draw_known_rival(mention("Anna", ValueType.NAME), SeededRandom("a"), Language.EN) not in (
        None,
        "Anna",
    )
    assert draw_known_rival(mention("Acme", ValueType.NAME), SeededRandom("a"), Language.EN) is None


def test_a_year_and_a_month_have_near_rivals() -> None:
    years = {draw_rival(mention("2021", ValueType.NUMBER), SeededRandom(f"{seed}")) for seed in range(20)}
    assert years <= {"2018", "2019", "2020", "2022", "2023", "2024"}
    assert draw_rival(mention("June", ValueType.DATE), SeededRandom("a")) in MONTHS["en"]


@pytest.mark.parametrize("text", ["one", "0", "no digits"])
def test_where_nothing_fits_there_is_no_rival(text: str) -> None:
    assert draw_rival(mention(text, ValueType.NUMBER), SeededRandom("a")) is None


@pytest.mark.parametrize(
    ("text", "kind", "language", "coarse"),
    [
        ("2026-11-15", ValueType.DATE, Language.EN, "mid-November"),
        ("November 3rd", ValueType.DATE, Language.EN, "early November"),
        ("12. März", ValueType.DATE, Language.DE, "Mitte März"),
        ("28 de mayo", ValueType.DATE, Language.ES, "finales de mayo"),
        ("2 août", ValueType.DATE, Language.FR, "début août"),
        ("11月15日", ValueType.DATE, Language.ZH, "11月中旬"),
        ("15 نوفمبر", ValueType.DATE, Language.AR, "منتصف نوفمبر"),
        ("next Friday", ValueType.DATE, Language.EN, "sometime next week"),
        ("3:30 pm", ValueType.TIME, Language.EN, "the afternoon"),
        ("14:05", ValueType.TIME, Language.DE, "nachmittags"),
        ("15時", ValueType.TIME, Language.JA, "午後"),
        ("5", ValueType.NUMBER, Language.EN, None),
        ("2021", ValueType.NUMBER, Language.EN, None),
        ("$800", ValueType.MONEY, Language.EN, None),
        ("120 Euro", ValueType.MONEY, Language.DE, None),
        ("3 Tage", ValueType.DURATION, Language.DE, "ein paar Tage"),
        ("3泊", ValueType.DURATION, Language.JA, "数泊"),
        ("a week", ValueType.DURATION, Language.EN, "a week or two"),
        ("cuatro noches", ValueType.DURATION, Language.ES, "tres o cuatro noches"),
        ("W1234", ValueType.ID, Language.EN, None),
    ],
)
def test_a_coarse_form_says_less_and_nothing_untrue(
    text: str, kind: ValueType, language: Language, coarse: str | None
) -> None:
    forms = list_coarse_forms(mention(text, kind), language)
    assert coarse in forms if coarse is not None else not forms
    assert text not in forms
