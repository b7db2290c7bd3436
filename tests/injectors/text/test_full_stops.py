"""Full stops that end a sentence, and those that don't."""

from __future__ import annotations

import pytest

from crosswind.injectors.text.sentences import split_sentences


@pytest.mark.parametrize(
    "text",
    [
        "Dann reservieren Sie mir bitte drei Karten im 1. Rang auf den Namen Hollenstein.",
        "Gibt es im 2. Stock noch einen Tisch am Fenster?",
        "Ich komme am 3. Mai mit dem Zug.",
        "Wir suchen ein Buch über den 2. Weltkrieg.",
        "1. Rang Mitte wäre uns am liebsten.",
        "Buchung Nr. 5, z. B. für Dr. Meier in der Goethestr. 5, ca. 20 Leute.",
        "Zwei Karten usw. und ein Programm, d. h. nur eines.",
        "Busco la reserva del Sr. López, núm. 3, n.° 2, en la av. Colón.",
        "Réserve une table pour M. Dupont, av. Foch 12.",
    ],
)
def test_an_ordinal_and_an_abbreviation_end_no_sentence(text: str) -> None:
    assert split_sentences(text) == ((0, len(text)),)


@pytest.mark.parametrize(
    "text",
    [
        "Ich nehme Reihe 5. Bitte reservieren Sie.",
        "Ich komme am 14. Danke!",
        "Ich komme am 14. Passt das?",
        "Legen Sie sie auf Platz 7. Teilen Sie es mir mit.",
        "Es dauert 90 Min. Danke.",
        "I am 42. My name is Jo.",
        "No. Book the other one.",
        "Necesito la talla M. Gracias.",
        "Super. Leg die Karten an die Abendkasse.",
    ],
)
def test_a_number_and_an_abbreviation_may_end_one(text: str) -> None:
    assert len(split_sentences(text)) == 2
