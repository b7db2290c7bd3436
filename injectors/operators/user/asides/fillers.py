"""What a user's own words put into the slots of a phrase: a sentence, and the thing that it is about.

Nothing is guessed: where nothing is sure there is no filler, and phrases without the slot are used.
"""

from __future__ import annotations

import re
from collections.abc import Container

from crosswind.injectors.operators.user.requests.extraction import find_requests
from crosswind.injectors.text.entities import OPENERS
from crosswind.injectors.text.languages import Language
from crosswind.injectors.text.sentences import (
    count_words,
    has_end,
    is_greeting,
    split_sentences,
)

LONGEST_TEXT = 4_000
"""Characters of a text in which things are looked for."""

_QUESTION = re.compile(r"[?？؟]")
_BULLET = re.compile(r"[-*#|>•]|\d+[.)] ")
_GREETED = re.compile(
    r"(?i)^(?:hi|hello|hey|hallo|bonjour|salut|hola|[你您]好|こんにちは|مرحبا)(?: there)?[,!，、！،]\s*"
)
SAID_AGAIN = range(4, 31)
"""Words of a sentence that a user may say again: shorter ones are greetings, or the ends of abbreviations."""


def list_sentences(text: str, language: Language | None, kept: str | None = None) -> list[str]:
    """The sentences that a user may say again: requests and questions; where there are none, all that are no
    greeting. `kept` is a text that must hold them, too.
    """
    if language is None:
        return []
    requests = find_requests(text, language)
    asking, others = [], []
    for start, end in split_sentences(text):
        sentence = _GREETED.sub("", text[start:end].strip())
        if (kept is not None and sentence not in kept) or _BULLET.match(sentence):
            continue
        if count_words(sentence) not in SAID_AGAIN:
            continue
        if _QUESTION.search(sentence) or any(start <= one.start < end for one in requests):
            asking.append(sentence)
        elif not is_greeting(sentence):
            others.append(sentence)
    return asking or others


_STOPS = {Language.ZH: "。", Language.JA: "。"}


def fill_sentence(template: str, sentence: str, language: Language) -> str:
    """A phrase with the sentence in its slot: with a final mark where words follow, and with a small letter
    where a clause goes on.
    """
    return template.replace("{sentence}", _fit_sentence(sentence, template, language))


def _fit_sentence(sentence: str, template: str, language: Language) -> str:
    before, _, behind = template.partition("{sentence}")
    if behind.strip() and not has_end(sentence):
        sentence += _STOPS.get(language, ".")
    elif language in _STOPS and not has_end(sentence):
        sentence += _STOPS[language]
    if language is not Language.EN or not before.rstrip() or before.rstrip()[-1] in ".!?:":
        return sentence
    first = sentence.split(maxsplit=1)[0]
    small = first.rstrip(",").lower()
    named = first == "I" or first.startswith(("I'", "I’"))
    return sentence[0].lower() + sentence[1:] if small in OPENERS and not named else sentence


_BEHIND = "|".join(
    """
    for to in of from on with and or that is are was at by as so please which has have under into if before
    after again now today
    """.split()
)
_FR_ADJECTIVES = "propre|nouve|petit|derni|prochain|ancien|vieu|autre|premi|second"
_ES_ADJECTIVES = "nuev|propi|últim|ultim|próxim|proxim|mejor|antigu|otr|primer|segund|actual"
_THINGS = {
    Language.EN: re.compile(
        rf"(?i)\b(?:my|the|this|our|an?) ((?:[a-z]+ ){{0,2}}?[a-z]{{3,}})(?=[,.;:!?)]|$| (?:{_BEHIND})\b)"
    ),
    Language.DE: re.compile(r"\b(?:[Mm]eine?|[Dd]ie|[Dd]as|[Ee]ine?) ([A-ZÄÖÜ][a-zäöüß]{3,})\b(?! [A-ZÄÖÜ])"),
    Language.FR: re.compile(rf"(?i)\b(?:mon|ma) (?!{_FR_ADJECTIVES})([a-zéèêîôûç]{{4,}})\b"),
    Language.ES: re.compile(rf"(?i)\bmi (?!{_ES_ADJECTIVES})([a-zñáéíóú]{{4,}})\b"),
    Language.ZH: re.compile(r"我的([\u4e00-\u9fff]{2,4}?)(?=[，。？！,?!\s的在是有到被怎什为何能可还])"),
    Language.JA: re.compile(
        r"(?<![一-龯ァ-ヴー])([一-龯]{2,6}|[ァ-ヴー]{3,10})(?=を|の(?:件|状況|変更|予約|確認)|について)"
    ),
}
"""Nouns that are told by what stands around them: an article or a possessive, or a particle."""
_NO_THING = frozenset(
    """
    number name way one ones thing things time moment help info information details result results same rest
    first last next new current following right best most lot day week month year list id value
    off out back down today tomorrow frage problem hilfe moment ding sache möglichkeit leute
    question problème aide problema ayuda
    """.split()
)


def find_things(text: str, language: Language, spoken: Container[str]) -> list[str]:
    """What the text is about, as nouns without an article; in English those that the tools speak of, too:
    `spoken` are their words.
    """
    pattern = _THINGS.get(language)
    found = [] if pattern is None else [match[1] for match in pattern.finditer(text[:LONGEST_TEXT])]
    if language is Language.EN:
        found = [one.lower() for one in found]
        found = [
            one for one in found if (last := one.split()[-1]) in spoken or last.removesuffix("s") in spoken
        ]
    return [one for one in dict.fromkeys(found) if one.split()[-1].lower() not in _NO_THING][:6]
