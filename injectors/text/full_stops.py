"""Full stops that end no sentence: those of abbreviations and of German ordinals."""

from __future__ import annotations

import re

from crosswind.injectors.text.languages import Language, detect_language

_LONGEST = 24
"""Characters before a stop that are looked at."""

_TITLES = r"""Dr|Mr|Mrs|Ms|St|Jr|Sr|Prof|Sra|Srta|Dra|Dña|Lic|Ste|Sto|Sta|Mlle|MM|Hr|Hrn|Dipl|Ing"""
_MONSIEUR = r"(?:\A|\b(?:de|à|pour|par|avec|et|chez|que|ou|cher|bonjour)\ )M"
"""Elsewhere it is a size, or a gate."""
_JOINED = r"""z\.\s?B|d\.\s?h|u\.\s?a|o\.\s?ä|i\.\s?d\.\s?R|v\.\s?Chr|n\.\s?Chr|e\.\s?g|i\.\s?e|p\.\s?ej
    |par\ ex|ca|bzw|vgl|bspw|inkl|exkl|zzgl|abzgl|einschl|ggf|evtl|sog|mind|max|vs|aprox|approx|env"""
_STREETS = r"""\w*[Ss]tr|[Aa]v|[Aa]vda|[Bb]d|[Bb]oul"""
_NEVER_LAST = re.compile(rf"(?:\b(?:{_JOINED}|{_STREETS})|(?<!\w)(?:{_TITLES})|{_MONSIEUR})\Z", re.VERBOSE)
"""What needs a word behind it: titles, streets, `for example`."""

_NUMBERED = re.compile(
    r"""(?:\b(?:No|Nr|Nro|Núm|núm|Num|num|Pos|Kap|Abs|Art|art|Abb|Bd|Pág|pág|págs|Tel|tel|Tél|tél|Réf|réf|Ref
    |Ext|ext|Dpto|dpto|Apt|apt|App|app|Jan|Feb|Apr|Jun|Jul|Aug|Sep|Sept|Okt|Oct|Nov|Dez|Dec|Std|Min|Uhrz
    |Mo|Di|Mi|Do|Fr|Sa|So)|[nN]\.?[°ºo])\Z""",
    re.VERBOSE,
)
"""What stands before the number that it announces."""
_CODE = re.compile(r"[#\d]|[A-Z]{1,3}-?\d")

_GOES_ON = re.compile(r"\b(?:usw|etc|Mio|Mrd|Std|Min|min|Sek|geb|Jh|EE|UU|EE\.\s?UU|Uds?|Vds?)\Z")
"""What may end a sentence, and doesn't where a small letter follows."""

_LETTER = re.compile(r"(?:\A|[^\w.]|\.\s?)(?P<one>[zduoispevnE]E?)\Z")
_NEXT_LETTER = re.compile(r"(?:B|h|a|ä|d|R|Chr|g|e|ej|ex|UU)\.")
"""The first letter of `z. B.`, and what stands behind it."""

_ORDINAL = re.compile(r"(?:(?P<before>[^\W\d_]+)\s)?\d{1,4}\Z")
_DETERMINERS = frozenset(
    """
    am im zum vom beim ins ans der die das den dem des dieser diese dieses diesen diesem jeder jede
    jedes jeden jedem mein meine meinen meinem meiner unser unsere unserem unseren unserer ihr ihre
    ihren ihrem ihrer sein seine seinen seinem seiner
    """.split()
)
_MONTHS = re.compile(
    r"(?:Januar|Jänner|Februar|Feber|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember"
    r"|Jan|Feb|Mär|Apr|Jun|Jul|Aug|Sept?|Okt|Nov|Dez)\b",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"""(?:Rang|Stock|Stockwerk|Etage|Obergeschoss|Untergeschoss|OG|UG|Reihe|Weltkrieg|Klasse|Platz|Quartal|Halbjahr
    |Woche|Tag|Liga|Bezirk|Akt|Kapitel|Vorstellung|Mahnung|Rate|Semester|Advent|Teil|Spalte|Zeile|Seite|Spieltag
    |Runde|Versuch|Termin|Geburtstag|Jahrhundert|Jahrestag|Auflage|Stufe|Schicht|Satz|Kategorie|Gang|Monat
    |Parkett|Hälfte|Mal|Person|Bestellung|Lieferung|Instanz|Staffel|Folge|Feiertag|Weihnachtstag)\b""",
    re.VERBOSE,
)
_WORD = re.compile(r"\w+")
_OPENERS = frozenset(
    """
    danke vielen besten bitte dann können kannst könnten könntest würden würdest und aber oder ich wir
    sie es das die der den dem ein eine was wann wie wo wer welche welcher welches gibt ist sind haben
    hast hat habe kann darf muss passt geht gerne gern ja nein auch noch außerdem falls wenn ob mein
    meine unser unsere nehmen buchen reservieren schicken legen stellen prüfen zeigen zeig schick leg
    stell buch reservier setz ändern ändere für am im um mit ab bis von zu nur alles super perfekt
    passen wäre hätte bräuchte brauche
    """.split()
)
"""Words that begin a German sentence, and name nothing that is counted."""


_KNOWN = frozenset(
    re.findall(r"\w{2,}", " ".join((_TITLES, _JOINED, _NUMBERED.pattern, _GOES_ON.pattern)))
) | {
    *("av", "Av", "avda", "Avda", "bd", "Bd", "boul", "Boul"),
}
_LONGEST_KNOWN = 7
"""Letters of the longest of them. Single letters may be parts of others."""


def _may_go_on(word: str) -> bool:
    """Whether a word may be an abbreviation: of most words that is told at once."""
    if word.endswith("tr"):
        return True
    if len(word) > _LONGEST_KNOWN:
        return "." in word
    return len(word) < 2 or word.strip("(„\"'¿¡[") in _KNOWN or not word.isalpha()


def ends_sentence(text: str, at: int, behind: int) -> bool:
    """Whether the full stop at `at` ends a sentence; the next one would begin at `behind`."""
    last = text[at - 1 : at]
    if last.isalpha() and not _may_go_on(text[text.rfind(" ", 0, at) + 1 : at]):
        return True
    before = text[max(0, at - _LONGEST) : at]
    if last.isdigit():
        return not _is_ordinal(text, before, behind)
    if not last.isalpha() and last not in "°º":
        return True
    numbers = _NUMBERED.search(before) and _CODE.match(text, behind)
    begins = _LETTER.search(before) and _NEXT_LETTER.match(text, behind)
    if numbers or begins or _NEVER_LAST.search(before):
        return False
    return not (text[behind : behind + 1].islower() and _GOES_ON.search(before))


def _is_ordinal(text: str, before: str, behind: int) -> bool:
    """Whether the number is a German ordinal: `am 3. Mai`, `im 1. Rang`."""
    match = _ORDINAL.search(before)
    if match is None:
        return False
    if _MONTHS.match(text, behind) or _COUNTED.match(text, behind):
        return True
    determined = (match["before"] or "").lower() in _DETERMINERS
    if not determined or detect_language(text) not in (Language.DE, None):
        return False
    word = _WORD.match(text, behind)
    return word is not None and word[0].lower() not in _OPENERS
