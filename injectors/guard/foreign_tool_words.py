"""German, Spanish and French words by which tools say that they read or write, without accents.

A German umlaut is written as its vowel and with an e behind it: `andern`, `aendern`. Left out is what is a
word of English, too, and what reads and writes: French `payer`, Spanish `revisar`, German `plant`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable


def fold(text: str) -> str:
    """A text without accents."""
    if text.isascii():
        return text
    return "".join(
        sign
        for sign in unicodedata.normalize("NFKD", text.replace("ß", "ss"))
        if not unicodedata.combining(sign)
    )


def _words(text: str) -> frozenset[str]:
    """Words, folded; of one with an umlaut its other spelling, too."""
    return frozenset(form for word in text.split() for form in (fold(word), fold(word.translate(_SPELT_OUT))))


_SPELT_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})

READ_VERBS = _words(
    """anzeigen zeigen suchen finden abrufen abfragen auflisten lesen auslesen prüfen überprüfen nachschlagen
    ermitteln berechnen vergleichen einsehen ansehen durchsuchen nachsehen übersetzen
    mostrar buscar encontrar consultar listar leer comprobar calcular comparar obtener ver estimar contar
    traducir
    afficher chercher rechercher trouver consulter lister lire calculer comparer obtenir voir récupérer
    estimer compter traduire"""
)
"""Infinitives: a name says that it reads by its first word or its last one, a description by the same."""

READ_FORMS = _words(
    """zeige suche finde prüfe überprüfe berechne vergleiche ermittle durchsuche
    muestra busca encuentra consulta lista lee comprueba calcula compara obtiene traduce búsqueda
    affiche cherche recherche trouve consulte liste calcule récupère traduit consultation abfrage"""
)
"""Orders and nouns: a name says so by its first word."""

READ_HEADS = READ_VERBS | _words(
    """zeigt sucht findet listet liest prüft überprüft ermittelt berechnet vergleicht durchsucht übersetzt
    muestra busca encuentra consulta lista lee comprueba calcula compara obtiene estima traduce
    affiche cherche recherche trouve consulte liste calcule récupère estime traduit obtient lit"""
)
"""First words of descriptions that read."""

TELLING_HEADS = _words("liefert devuelve proporciona indica retourne renvoie donne indique fournit")
"""First words of descriptions that say what a call gives, and not what it does."""

AFTER_A_CHANGE = re.compile(
    r"\b(?:neu|aktualisiert|erstellt|angelegt|geandert|geaendert|bestatig|bestaetig|quittung|nuev|actualizad"
    r"|cread|confirmaci|modificad|recibo|nouve|cree|modifi|confirm|recu\b|mis a jour)"
)
"""What is given where something was changed."""

WRITE_VERBS = _words(
    """buchen umbuchen einbuchen reservieren stornieren kündigen löschen entfernen ändern abändern
    aktualisieren bearbeiten anpassen setzen festlegen zurücksetzen speichern senden absenden versenden
    schicken verschicken abschicken schreiben notieren melden anmelden abmelden registrieren sperren
    entsperren freischalten freigeben aktivieren deaktivieren starten stoppen beenden öffnen schließen
    einschalten ausschalten schalten erstellen anlegen erzeugen eröffnen einstellen zuweisen zuordnen
    übertragen hochladen importieren veröffentlichen genehmigen bestätigen ablehnen annehmen vereinbaren
    verwalten kaufen verkaufen bestellen nachbestellen bezahlen überweisen erstatten rückerstatten einlösen
    vormerken eintragen austragen hinzufügen einfügen absagen aufgeben zurückgeben umtauschen tauschen
    verschieben verlängern ersetzen überschreiben anrufen benachrichtigen mailen drucken ausführen auslösen
    hinterlegen teilen abbuchen abholen verlegen umbenennen kopieren verschrotten zahlen
    crear borrar eliminar cancelar anular modificar cambiar actualizar editar enviar mandar reservar comprar
    vender pagar pedir añadir agregar guardar escribir registrar abrir cerrar activar desactivar bloquear
    desbloquear confirmar rechazar aceptar transferir devolver reembolsar subir mover renombrar programar
    agendar asignar quitar poner insertar reemplazar notificar llamar publicar imprimir encender apagar
    iniciar detener ejecutar renovar prolongar ampliar canjear solicitar inscribir
    créer supprimer effacer annuler modifier changer mettre envoyer réserver acheter vendre ajouter
    enregistrer écrire ouvrir fermer activer désactiver bloquer débloquer confirmer refuser accepter
    transférer rembourser déplacer renommer planifier attribuer retirer insérer remplacer notifier appeler
    publier imprimer allumer éteindre démarrer arrêter exécuter renouveler prolonger échanger inscrire
    signaler déclarer déposer"""
)
"""Infinitives: a name with one of them writes, wherever it stands."""

_ENGLISH = _words(
    """active andere cancel change confirm edit export import insert lost mete modifie note place plant
    prolong publish refuse replace reserve accept start sube teilt transfer use vende"""
)
_GERMAN = {"en": ("t", "e", "et"), "ern": ("ert", "ere"), "eln": ("elt", "ele")}
_ROMANCE = {"ar": ("a",), "er": ("e",), "ir": ("e", "it"), "re": ("",)}


def _conjugate(verbs: Iterable[str]) -> frozenset[str]:
    """What an infinitive becomes at the head of a description or a name: `bucht`, `crea`, `annule`."""
    forms: set[str] = set()
    for verb in verbs:
        endings = next((_GERMAN[one] for one in ("ern", "eln", "en") if verb.endswith(one)), None)
        cut = 3 if verb.endswith(("ern", "eln")) else 2
        forms.update(f"{verb[:-cut]}{one}" for one in endings or _ROMANCE.get(verb[-2:], ()))
    return frozenset(form for form in forms if len(form) > _SHORTEST)


_SHORTEST = 3

_CONJUGATED = _conjugate(WRITE_VERBS)
NOUN_FORMS = _words("reserva compra agenda programa publica llama activa manda registra") | (
    _CONJUGATED & _ENGLISH
)
"""Forms that are nouns, or English words, too: they order where an article follows."""
WRITE_FORMS = (
    _CONJUGATED
    | _words(
        """legt trägt fügt nimmt macht sagt öffnet schließt aendere
        envía envoie paie pide met mets achète cierra detiene enciende mueve renueva éteint écrit inscrit
        exécute déplace"""
    )
) - NOUN_FORMS
"""Forms of these at the head of a description or of a name."""

DEEDS = _words(
    """buchungsänderung stornierung umbuchung löschung änderung kündigung überweisung bestätigung rückgabe
    rückerstattung erstattung verlängerung sperrung freigabe
    cancelación modificación eliminación anulación creación actualización reembolso devolución
    annulation suppression création remboursement"""
)
"""Nouns for what is done: a name with one of them reads only if it has a reading verb, too."""

ARTICLES = _words("un une una uno le la les los las el des su tu l d al")
JOINING = _words("und oder sowie y o e et ou")

WRITING_BEHIND = {
    "gibt": _words("frei auf ein weiter ab"),
    "ruft": _words("an"),
    "stellt": _words("aus ein um ab an"),
}
"""German verbs that write with one of these words behind them."""
READING_BEHIND = {
    "gibt": _words("zurück aus wieder"),
    "ruft": _words("ab"),
    "stellt": _words("dar"),
    "schlägt": _words("nach"),
    "sieht": _words("nach ein"),
    "fragt": _words("ab"),
}
"""Those that read with one."""
