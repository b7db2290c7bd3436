"""How a text addresses its reader, in languages that have two ways."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from crosswind.injectors.packs.parts import Address
from crosswind.injectors.packs.words import fold
from crosswind.injectors.text.languages import Language

_ADDRESSES: dict[Language, dict[Address, re.Pattern[str]]] = {
    Language.AR: {
        Address.INFORMAL: re.compile(
            r"""
            \b[وف]?(?:مش|مو|مب|ليش|ليه|ايش|وش|شو|مين|وين|فين|عشان|علشان|شوي|شويه|كمان|هيك|كده|كدا|لسه|بدي|عايز
            |عاوز|ابغي|ابغا|اللي|هذي|دي|ده|احنا|خلينا|دلوقتي|هلق|راح)\b
            """,
            re.VERBOSE,
        ),
        Address.FORMAL: re.compile(r"\b(?:[بلو]?حضرتك|حضراتكم|سيادتكم?|سعادتكم?)\b"),
    },
    Language.JA: {
        Address.INFORMAL: re.compile(
            r"""
            (?<![またく])だ(?:よ|ね|ろ|わ|けど|っけ) | じゃん | [てで]くれ(?![まぐ])
            | [てで]よ(?![うりかいくそろ]) | といて | ちょうだい(?![しい]) | ごめん(?!くだ|なさ) | んの？
            """,
            re.VERBOSE,
        ),
        Address.FORMAL: re.compile(
            r"""
            です | (?<![励済冷覚悩騙])(?<!ます)ます(?!ます) | (?<!済)(?:ません|まし[たょ]) | くださ | 下さ
            | ございま | でしょう | いただ[いきくけ] | いらっしゃ | 存じ
            """,
            re.VERBOSE,
        ),
    },
    Language.ZH: {
        Address.INFORMAL: re.compile("(?<!迷)你(?!们)"),
        Address.FORMAL: re.compile("您"),
    },
    Language.DE: {
        Address.INFORMAL: re.compile(r"(?i:\b(?:du|dir|dich|dein(?:e[mnrs]?|s)?|euch|euer|eure[mnrs]?)\b)"),
        Address.FORMAL: re.compile(r"(?<=[^\W_]|[,;–]) (?:Sie|Ihnen|Ihre?[mnrs]?)\b"),
    },
    Language.FR: {
        Address.INFORMAL: re.compile(r"(?i:\b(?:tu|te|toi|ton|ta|tes|stp)\b|\bt['’](?=\w))"),
        Address.FORMAL: re.compile(
            r"(?i:(?<!rendez-)\b(?:vous|votre|vos|svp)\b|\b(?!(?:assez|chez|nez|rez|rendez-vous)\b)\w+ez\b)"
        ),
    },
    Language.ES: {
        Address.INFORMAL: re.compile(
            r"""(?ix)\b(?: tú | te | ti | contigo | tus? | tuy[oa]s? | vos | os | vosotr[oa]s | vuestr[oa]s?
            | puedes | quieres | sabes | tienes | crees | eres | has | ves | vas | haces | estás | dices
            | (?:podr|sabr|tendr|har|ser)[ií]as | (?:dij|hic|pud)iste | \w+[abdei]rás
            | [a-zñ]*[áéí][a-zñ]+[ae]te | dime | dame | hazme | ponme | (?<!no\ )perdona | (?<!se\ )oye
            | (?:avís|mánd|cuént|ayúd|explíc|éch|déj|recuérd|búsc|pás|apúnt|llám|enséñ)ame )\b"""
        ),
        Address.FORMAL: re.compile(
            r"""(?ix)\b(?: usted | ud | vd | sírvase | disculpe | perdone | permítame
            | le\ (?:agradecer[ií]a | agradezco | importar[ií]a | ruego | pido | parece)
            | (?:díg|hág|póng|tráig)ame | [a-zñ]*[áéí][a-zñ]+ese
            | (?:avís|mánd|cuént|ayúd|explíqu|éch|déj|recuérd|búsqu|pás|apúnt|llám|enséñ)eme )\b"""
        ),
    },
}
"""The words that surely address the reader. At a sentence's start "Sie" may be "they"; a French verb in "-ez"
addresses by itself: "laissez". Chinese "你们" means the firm, and goes with "您" too. Japanese addresses by
the verb's ending: "です" and "ます" are formal, plain endings informal, a fragment without a verb neither.
Spanish "ustedes" goes with "tú" too, and many a Spanish verb doesn't show whom it addresses. In Arabic, words
of the dialects are informal, titles formal."""
_START = r"(?:^|[.!?:,]\s+|\n)"
_REQUESTS: dict[Language, dict[Address, re.Pattern[str]]] = {
    Language.DE: {
        Address.INFORMAL: re.compile(
            rf"""(?ix){_START}(?:(?:bitte|und|hey|hallo),?\s+)? (?:
            (?:zeige? | suche? | buche? | gib | sage? | schicke? | finde | prüfe? | lösche? | erstelle?
            | mache? | schaue? | hilf | nenne? | öffne | schreibe? | rufe? | stelle? | storniere?
            | bestelle? | ändere? | reserviere? | setze? | füge? | starte | stoppe? | erkläre? | lies
            | vergleiche? | berechne | übersetze? | lege? | trage? | hole? | leite? | plane? | merke?
            | aktiviere? | beantrage? | bezahle? | bringe? | entferne? | ersetze? | frage? | kaufe?
            | kündige? | lade? | lass | löse? | melde? | nimm | schalte? | sende | speichere? | sperre?
            | spiele? | tausche? | teile? | überweise? | verbinde | vereinbare? | verlängere?
            | verlege? | verschiebe?)\b(?!\s+(?:ich|sie)\b)
            | (?:kannst|könntest|würdest|hast|weißt|magst|willst|sollst|musst)\b )"""
        ),
        Address.FORMAL: re.compile(rf"{_START}(?:[Bb]itte\s+)?\w+en Sie\b"),
    },
    Language.FR: {
        Address.INFORMAL: re.compile(
            rf"""(?ix){_START}(?:(?:merci|salut|bonjour),?\ )? (?:
            \w+e-(?:moi|nous|le|la|les) | dis-moi | peux-tu | vas-y
            | (?:ajoute | affiche | allume | annule | appelle | change | cherche | commande | crée | déplace
            | donne | envoie | éteins | ferme | fais | lance | lis | mets | montre | ouvre | paie | prends
            | programme
            | règle | rappelle | renomme | réserve | supprime | traduis | trouve | vérifie | verse | vire)\b)
            | \bs['’]il\ te\ pla[iî]t\b"""
        ),
    },
    Language.ES: {
        Address.INFORMAL: re.compile(
            r"""(?ix)\b[a-zñ]*[áéí][a-zñ]*(?<!g)ame(?:l[oa]s?)?\b | \bme\ (?:puedes|podr[ií]as)\b
            | (?:^|[.!?¡:]\s+|por\ favor,?\s+) (?: añade | aplica | apaga | borra | busca | calcula | cambia
            | cancela | corrige | crea | elimina | enciende | encuentra | envía | escribe | manda | muestra
            | mueve | pon | quita | reserva | resume | sube | traduce | transfiere )\b"""
        ),
        Address.FORMAL: re.compile(
            r"""(?ix)\b(?!l[eé]e)[a-zñ]*[áéí][a-zñ]*eme(?:l[oa]s?)?\b | \bme\ (?:puede|podr[ií]a)\b
            | (?:^|[.!?¡:]\s+|por\ favor,?\s+) (?: añada | aplique | apague | borre | busque | calcule
            | cambie | cancele | corrija | cree | elimine | encienda | encuentre | envíe | escriba | mande
            | muestre | mueva | ponga | quite | reserve | resuma | suba | traduzca | transfiera )\b
            | (?:^|¿|[.!?,]\s+) (?:puede | (?:podr[ií]a|pudiera)\ \w+(?:me|nos)\b) | \bsu\ ayuda\b"""
        ),
    },
    Language.JA: {
        Address.INFORMAL: re.compile(
            r"""(?mx)(?: [てで](?:ね|よ|ほしい|欲しい)? | たい(?:な|ん?だけど|よ)? | 頼む | 頼んだ
            | かな | っけ | ない | [るいた]の? )[。！？!?…〜～]*$"""
        ),
    },
}
"""What shows it in a user's text, besides those words: a request's verb."""
_THIRD_WAY = {
    Language.ES: re.compile(
        r"""(?ix)\b(?: vos | os | vosotr[oa]s | vuestr[oa]s? | pod[ée]is | quer[ée]is | ten[ée]is | \w+[áé]is
        | podés | querés | tenés | sabés | decime | haceme | mostrame | avisame | buscame | fijate | mandame
        | reservame | poneme | ayudame | pasame | contame )\b"""
    ),
}
"""Spanish "vos" and "vosotros", for which no pack has phrases."""


_GREETINGS = {
    Language.DE: re.compile(
        r"\W*(?:guten (?:tag|morgen|abend)|grüß gott|grüezi|sehr geehrte)", re.IGNORECASE
    ),
    Language.FR: re.compile(
        r"\W*(?:(?:chère )?madame|(?:cher )?monsieur|mesdames|messieurs)\b", re.IGNORECASE
    ),
    Language.ES: re.compile(
        r"\W*(?:muy )?(?:estimad[oa]s?|distinguid[oa]s?|señor(?:es|as?)?)\b", re.IGNORECASE
    ),
}
"""Greetings of those who don't say "du" to whom they write. "Bonjour" and "buenos días" are for everybody."""


def find_addresses(text: str, language: Language) -> list[Address]:
    """The ways in which a text addresses its reader, as far as single words show it."""
    folded = fold(text, language)
    return [address for address, words in _ADDRESSES.get(language, {}).items() if words.search(folded)]


def detect_address(texts: Iterable[str], language: Language) -> Address | None:
    """How a user addresses the agent, by the first of their texts that shows it, or else by a formal
    greeting; None where none does."""
    greeting, greets = _GREETINGS.get(language), False
    for text in texts:
        if (shown := _detect(text[:LONGEST], language)) is not None:
            return shown
        greets = greets or (greeting is not None and greeting.match(text) is not None)
    # In Arabic who writes no dialect writes the standard.
    return Address.FORMAL if greets or language is Language.AR else None


def find_common_address(texts: Iterable[str], language: Language) -> Address | None:
    """How a system's own texts, such as the descriptions of its tools, address people; None where they don't,
    or in several ways."""
    shown = {address for text in texts for address in find_addresses(text[:LONGEST], language)}
    return shown.pop() if len(shown) == 1 else None


LONGEST = 2_000
"""Characters of a text that are read: a user shows it early."""


@lru_cache(1024)
def _detect(text: str, language: Language) -> Address | None:
    if (third := _THIRD_WAY.get(language)) is not None and third.search(text):
        return Address.OTHER
    shown = {*find_addresses(text, language)}
    if not shown:
        requests = _REQUESTS.get(language, {})
        shown = {address for address, words in requests.items() if words.search(text)}
    # Who is polite once is so throughout: "你们" beside "您", a plain ending beside "です".
    return Address.FORMAL if Address.FORMAL in shown else next(iter(shown), None)
