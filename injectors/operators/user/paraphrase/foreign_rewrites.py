"""Sentences of other languages said in another construction: a question asked indirectly, a need as a wish.

Only forms are known whose words keep their order, or move as the grammar says whatever they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from crosswind.injectors.operators.user.paraphrase.german_rewrites import rewrite_german
from crosswind.injectors.text.languages import Language

LONGEST = 160


def rewrite_sentence(sentence: str, language: Language) -> list[str]:
    """Other constructions of a sentence; none where no form is sure."""
    rule = _RULES.get(language)
    return rule(sentence) if rule is not None and len(sentence) <= LONGEST else []


def is_own_affair(sentence: str, language: Language) -> bool:
    """Whether it asks for something of the user's, which no tool takes in these words."""
    pattern = _OWN.get(language)
    return pattern is not None and pattern.search(sentence) is not None


def is_own_deed(sentence: str, language: Language) -> bool:
    """Whether it says what the user wants to do in person, which no agent is asked to do: `Je voudrais
    retourner la commande`."""
    wish, deed = _WISH.get(language), _DEED.get(language)
    return wish is not None and deed is not None and bool(wish.search(sentence) and deed.search(sentence))


_WISH: Mapping[Language, re.Pattern[str]] = {
    Language.DE: re.compile(r"\bich (?:möchte|will|würde gerne?|muss)\b", re.IGNORECASE),
    Language.ES: re.compile(r"\b(?:quiero|quisiera|necesito|me gustaría|tengo que)\b", re.IGNORECASE),
    Language.FR: re.compile(r"\bje (?:voudrais|veux|souhaite|dois)|\bj['’]aimerais", re.IGNORECASE),
    Language.ZH: re.compile("我(?:想|要|得)"),
    Language.JA: re.compile("たい(?:です|んです|のです)?[。.！]?$"),
    Language.AR: re.compile("^(?:أريد|أود|أرغب|أحتاج)"),
}
_DEED: Mapping[Language, re.Pattern[str]] = {
    Language.DE: re.compile(
        r"\b(?:zurück\w+|fliegen|reisen|fahren|sehen|sprechen|übernachten|(?:her|mit|vorbei)?kommen|gehen|teilnehmen)\b"
    ),
    Language.ES: re.compile(
        r"\b(?:devolver\w*|volar|viajar|ir|venir|ver|hablar|alojar\w*|asistir|participar)\b"
    ),
    Language.FR: re.compile(
        r"\b(?:retourner|renvoyer|rendre|voyager|aller|venir|voir|parler|partir|participer|assister)\b"
    ),
    Language.ZH: re.compile("退|去|飞|看|住"),
    Language.JA: re.compile("返品|返し|行き|乗り|泊ま|話し|参加|伺い"),
    Language.AR: re.compile("إرجاع|السفر|الذهاب|التحدث|الإقامة"),
}
_OWN: Mapping[Language, re.Pattern[str]] = {
    Language.DE: re.compile(r"\b(?:mein|unser)(?:e|en|em|er|es)?\b", re.IGNORECASE),
    Language.ES: re.compile(r"\b(?:mis?|nuestr[oa]s?)\b", re.IGNORECASE),
    Language.FR: re.compile(r"\b(?:mon|ma|mes|notre|nos)\b", re.IGNORECASE),
    Language.ZH: re.compile("我的|我们的"),
    Language.JA: re.compile("私の|うちの"),
    Language.AR: re.compile(r"\b(?:طلبي|حسابي|طردي|حجزي|موعدي|رحلتي|رصيدي)\b"),
}

_ASKED_ES = re.compile(
    r"¿(?P<asked>(?:cuál(?:es)?|dónde|adónde|cuándo|cuánt[oa]s?|qué|quién(?:es)?|cómo|a qué"
    r"|de qué|en qué|por qué) [^¿?!;:]{3,140}?) ?\?",
    re.IGNORECASE,
)
_HAVE_ES = re.compile(
    r"¿(?P<asked>(?:hay|queda|quedan|está|están|es|tiene|tienen|tenéis|tienes|sigue|siguen|sale|llega|incluye"
    r"|puedo|podemos|se puede|cuesta|funciona|abre|abren|aceptan?|ha|han|he) [^¿?!;:]{3,140}?) ?\?",
    re.IGNORECASE,
)
_NEED_ES = re.compile(
    r"(?P<verb>Necesito|Quiero|Busco) (?P<what>(?:una?|el|la|mi|tu|su) [^,;:?!]{3,140}?)\.?"
)


def _rewrite_spanish(sentence: str) -> list[str]:
    if (asked := _ASKED_ES.fullmatch(sentence)) is not None:
        said = _lower(asked["asked"])
    elif (have := _HAVE_ES.fullmatch(sentence)) is not None:
        said = f"si {_lower(have['asked'])}"
    elif (need := _NEED_ES.fullmatch(sentence)) is not None:
        return [f"Lo que {_lower(need['verb'])} es {need['what']}."]
    else:
        return []
    openings = ("Quisiera saber", "Me gustaría saber", "Necesito saber", "Quiero saber")
    return [f"{opening} {said}." for opening in openings]


_ASKED_FR = re.compile(
    r"(?P<asked>(?:quel(?:le)?s? (?:est|sont|était)|où (?:est|sont|se trouve(?:nt)?)"
    r"|quel(?:le)?s? [\w'’-]+ (?:part|partent|va|vont|coûte|coûtent|sont|est|passe|passent)"
    r"|combien coûte(?:nt)?"
    r"|qui (?:est|sont)) (?![^?]*-t-|[^?]*-(?:je|tu|il|elle|on|nous|vous|ils|elles)\b)[^?!;:]{3,140}?)\s?\?",
    re.IGNORECASE,
)
_HAVE_FR = re.compile(r"Y a-t-il (?P<asked>[^?!;:]{3,140}?)\s?\?")
_WHETHER_FR = re.compile(
    r"Est-ce qu(?:e |['’])(?P<asked>(?!tu peux|vous pouvez|tu pourrais|vous pourriez)[^?!;:]{3,140}?)\s?\?"
)
_TURNED_FR = re.compile(
    r"(?P<verb>Puis|Avez|As|Avons|Est|Sont)-(?P<who>je|vous|tu|nous|il|elle|ils|elles) "
    r"(?P<rest>[^?!;:]{3,140}?)\s?\?"
)
_NEED_FR = re.compile(r"(?P<what>J['’]ai besoin d|Je cherche )(?P<rest>[^,;:?!]{3,140}?)\.?")


def _rewrite_french(sentence: str) -> list[str]:
    if (asked := _ASKED_FR.fullmatch(sentence)) is not None:
        said = _lower(asked["asked"])
    elif (have := _HAVE_FR.fullmatch(sentence)) is not None:
        said = f"s'il y a {have['asked']}"
    elif (whether := _WHETHER_FR.fullmatch(sentence)) is not None:
        elided = whether["asked"].startswith(("il ", "ils "))
        said = f"s'{whether['asked']}" if elided else f"si {whether['asked']}"
    elif (turned := _TURNED_FR.fullmatch(sentence)) is not None:
        verb = {"Puis": "peux"}.get(turned["verb"], turned["verb"].lower())
        elided = turned["who"] in ("il", "ils")
        whether_ = "s'" if elided else "si "
        said = f"{whether_}{turned['who']} {verb} {turned['rest']}"
    elif (need := _NEED_FR.fullmatch(sentence)) is not None:
        if need["what"] == "Je cherche ":
            return [f"Ce que je cherche, c'est {need['rest']}."]
        return [f"J'aurais besoin d{need['rest']}.", f"Ce dont j'ai besoin, c'est d{need['rest']}."]
    else:
        return []
    openings = ("Je voudrais savoir", "J'aimerais savoir", "Je souhaiterais savoir", "Il me faudrait savoir")
    return [f"{opening} {said}." for opening in openings]


_ASKED_ZH = re.compile(
    r"(?P<asked>[^，。？?！!；;：:\n]{2,60}(?:什么|哪|多少|几|怎么|怎样|谁|何时)[^，。？?！!；;：:\n]{0,40}"
    r"|[^，。？?！!；;：:\n]{2,60}吗)[？?]"
)
_POLITE_ZH = re.compile("请|[您你]|能不能|可不可以|帮")


def _rewrite_chinese(sentence: str) -> list[str]:
    asked = _ASKED_ZH.fullmatch(sentence)
    if asked is None or _POLITE_ZH.search(sentence):
        return []
    said = asked["asked"]
    forms = [f"请问{said}？", f"想问一下，{said}？", f"打听一下，{said}？"]
    return forms if said.endswith("吗") else [*forms, f"我想知道{said}。"]


_ASKED_JA = re.compile(
    r"(?P<what>[^。？?！!、]{2,60})は(?P<word>どこ|いつ|いくら|何時|何|誰|どれ)(?:ですか|でしょうか)[？?。]?"
)
_HAVE_JA = re.compile(r"(?P<what>[^。？?！!、]{2,60})[はが](?P<verb>あり|い)(?:ますか|ませんか)[？?。]?")


def _rewrite_japanese(sentence: str) -> list[str]:
    if (asked := _ASKED_JA.fullmatch(sentence)) is not None:
        said = f"{asked['what']}は{asked['word']}か"
    elif (have := _HAVE_JA.fullmatch(sentence)) is not None:
        said = f"{have['what']}が{'ある' if have['verb'] == 'あり' else 'いる'}か"
    else:
        return []
    return [
        f"{said}教えてください。",
        f"{said}知りたいです。",
        f"{said}教えていただけますか？",
        f"{said}確認したいです。",
    ]


_ASKED_AR = re.compile(
    r"(?P<asked>(?:أين|متى|كم|ما|ماذا|من|كيف|هل (?!يمكن|تستطيع|بإمكان)\S+) [^،؛؟!:]{3,120}?) ?؟"
)


def _rewrite_arabic(sentence: str) -> list[str]:
    asked = _ASKED_AR.fullmatch(sentence)
    if asked is None:
        return []
    return [f"{opening} {asked['asked']}." for opening in ("أود أن أعرف", "أريد أن أعرف", "أحتاج أن أعرف")]


def _lower(said: str) -> str:
    return said[0].lower() + said[1:]


_RULES: Mapping[Language, Callable[[str], list[str]]] = {
    Language.DE: rewrite_german,
    Language.ES: _rewrite_spanish,
    Language.FR: _rewrite_french,
    Language.ZH: _rewrite_chinese,
    Language.JA: _rewrite_japanese,
    Language.AR: _rewrite_arabic,
}
