"""Entries chosen as bits are those that would be chosen one by one."""

from __future__ import annotations

from operator import attrgetter

import pytest

from crosswind.injectors.packs.load import load
from crosswind.injectors.packs.model import Entry
from crosswind.injectors.packs.parts import Domain
from crosswind.injectors.packs.shelf import Shelf
from crosswind.injectors.packs.stems import JOINED, StemIndex, read_said
from crosswind.injectors.targets import Half
from crosswind.injectors.text.languages import Language

TEXTS = {
    Language.EN: "Could you deliver the parcels to my hotel, and cancel flight LH-12?",
    Language.DE: "Bitte storniere den Flug nach Köln und schicke mir die Rechnung.",
    Language.ZH: "请取消我的订单，然后把快递寄到酒店。",
    Language.AR: "أريد إلغاء الطلب وإرسال الفاتورة بالبريد.",
}


def shelf_of(language: Language, operator: str = "user.out_of_scope", part: str = "errand") -> Shelf:
    packs = [pack for one in (Domain.TRAVEL, Domain.GENERAL) if (pack := load(language, one)) is not None]
    found = [list(pack.select_named(operator, part, Half.TRAIN)) for pack in packs]
    return Shelf([one for some in found for one in some], len(found[0]))


def test_the_domains_own_entries_come_first() -> None:
    shelf = shelf_of(Language.EN)
    assert all(name.startswith("en/travel@") for name, _ in shelf.list(shelf.own))
    everything = shelf.list(sum(shelf.bits.values()))
    assert len(everything) == len(shelf.bits) > shelf.own.bit_count() > 0
    assert [name for name, _ in everything] == list(shelf.bits)
    assert shelf.list(0) == ()


@pytest.mark.parametrize("language", TEXTS)
def test_a_stem_is_found_where_the_entry_by_itself_would_be(language: Language) -> None:
    text, shelf = TEXTS[language], shelf_of(language)
    said = read_said(text, language)

    def has(stem: str) -> bool:
        joined = language in JOINED and not stem.isascii() and stem in text
        return joined or stem.lower() in said.stems

    found = {name for name, _ in shelf.list(shelf.about.find(said))}
    assert found and found == {name for name in shelf.bits if any(map(has, shelf_entry(shelf, name).about))}


def shelf_entry(shelf: Shelf, name: str) -> Entry:
    return shelf.list(shelf.bits[name])[0][1]


def test_groups_and_words_of_entries_are_indexed() -> None:
    shelf = shelf_of(Language.EN)
    groups = shelf.group(attrgetter("asks"))
    assert sum(groups.values()) == sum(shelf.bits.values()), "each entry is in one"
    for asks, bits in groups.items():
        assert all(entry.asks is asks for _, entry in shelf.list(bits))
    asking = shelf.select(_asks)
    assert [name for name, entry in shelf.list(asking) if not entry.text.endswith("?")] == []
    wanted = frozenset({"please", "book"})
    found = {name for name, _ in shelf.list(shelf.find(_words, wanted))}
    assert found == {name for name in shelf.bits if wanted & _words(shelf_entry(shelf, name))}


def _asks(entry: Entry) -> bool:
    return entry.text.endswith("?")


def _words(entry: Entry) -> frozenset[str]:
    return frozenset(entry.text.lower().split())


def test_an_index_tells_who_has_no_stem() -> None:
    index = StemIndex([("order",), (), ("Parcel", "order"), ()])
    assert index.without == 0b1010
    assert index.find(read_said("Two orders", Language.EN)) == 0b101
    assert index.find(read_said("A parcel", Language.EN)) == 0b100
    assert index.find(read_said("Nothing", Language.EN)) == 0
