"""What German, Spanish and French tools are trusted to do."""

from __future__ import annotations

import pytest

from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.guard.tool_classes import classify

READ = [
    ("buchung_anzeigen", "Zeigt eine Buchung."),
    ("freie_plaetze", "Listet die freien Plätze einer Vorstellung."),
    ("spielplan_suchen", "Sucht im Spielplan nach Vorstellungen."),
    ("zeigeBuchung", ""),
    ("gutschein_pruefen", ""),
    ("gutschein_prüfen", ""),
    ("saalplan", "Gibt den Saalplan zurück."),
    ("kundendaten", "Ruft die Daten einer Kundin ab."),
    ("umbuchung_anzeigen", ""),
    ("consultar_reserva", "Muestra una reserva."),
    ("buscarVuelos", ""),
    ("saldo", "Devuelve el saldo de la cuenta."),
    ("listaClientes", ""),
    ("afficher_reservation", ""),
    ("recherche_vols", "Recherche des vols."),
    ("solde", "Renvoie le solde du compte."),
]
WRITES = [
    ("buchung_stornieren", "Storniert eine Buchung."),
    ("storniereBuchung", ""),
    ("platz_aendern", ""),
    ("plaetzeÄndern", ""),
    ("gutschein", "Löst einen Gutschein ein. Trägt die Einlösung ein."),
    ("sperre", "Gibt Plätze frei."),
    ("rueckruf", "Ruft eine Kundin an."),
    ("karten_suchen_und_reservieren", ""),
    ("preise", "Berechnet den Preis und reserviert die Karten."),
    ("cancelar_reserva", ""),
    ("mesa", "Reserva una mesa."),
    ("añadirNota", ""),
    ("annuler_commande", ""),
    ("adresse", "Met à jour l'adresse."),
    ("vols", "Recherche des vols et réserve une place."),
]
UNKNOWN = [
    ("buchung", "Zeigt eine Buchung, die man stornieren kann."),
    ("umbuchung", "Gibt die neue Buchung zurück."),
    ("stornierung", "Liefert den Betrag."),
    ("reserva_mesa", "Devuelve la mesa."),
    ("buchung", ""),
]


@pytest.mark.parametrize(
    ("name", "description", "kind"),
    [
        *[(*one, "read_only") for one in READ],
        *[(*one, "destructive") for one in WRITES],
        *[(*one, "unknown") for one in UNKNOWN],
    ],
)
def test_the_class_of_a_foreign_tool(name: str, description: str, kind: str) -> None:
    assert classify(name, None, [ToolSchema(name, description, {})]) == kind


@pytest.mark.parametrize("name", ["lost_items", "llama_search", "payer_info", "get_agenda", "note_search"])
def test_english_words_keep_their_meaning(name: str) -> None:
    assert classify(name, None, [ToolSchema(name, "Gets what is asked for.", {})]) == "read_only"
