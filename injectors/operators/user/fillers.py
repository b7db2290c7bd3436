"""What a user's own words put into the slots of a phrase: the request, a sentence, the thing it is about.

`{request}` is read by construction: a frame such as "could you …?" around an infinitive, or an imperative. In
other languages than English it is read only where the frame leaves no doubt. Nothing is guessed: a text in
which nothing is sure has no filler, and phrases without the slot are used.
"""

from __future__ import annotations

import re
from collections.abc import Container

from crosswind.injectors.operators.user.sentences import (
    count_words,
    has_end,
    is_greeting,
    split_sentences,
)
from crosswind.injectors.text.entities import OPENERS
from crosswind.injectors.text.languages import Language

LONGEST_REQUEST = 240
"""Characters of the longest request: a frame around more would hide it."""

LONGEST_TEXT = 4_000
"""Characters of a text in which things are looked for."""

VERBS = frozenset(
    """
    activate add adjust analyze apply arrange assign attach authenticate book browse buy calculate call cancel
    change charge check clean clear clone close combine commit compare compile compose compress compute
    configure confirm connect convert copy count create debug decrease delete deliver deploy describe design
    determine disable display dispatch download draft edit email enable encrypt estimate evaluate examine
    exchange execute explain export extend extract fetch fill filter find fix forward generate get give grab
    group help highlight identify implement import increase insert inspect install invite invoice issue keep
    list load locate lock log look lower make mark measure merge message modify monitor move mute notify open
    order organize pack pause pay perform ping place plan play plot post predict prepare print process provide
    publish pull purchase push put query raise rate read rebook recommend record redo reduce refund register
    release remind remove rename renew repeat replace reply report reschedule reserve reset resize resolve
    restart restore resume retrieve return review revert rotate run save scan schedule search select sell send
    set share show shut simulate solve sort split start stop store submit subscribe suggest sum summarize
    switch sync tell test top trace track trade transfer translate trim turn tweet unlock unsubscribe update
    upgrade upload use validate verify view visualize withdraw write zip
    """.split()  # noqa: SIM905
)
"""What a user tells an agent to do, in the bare infinitive."""

_POLITE = r"(?:(?:please|kindly|also|then|now|next|just|maybe|possibly|perhaps|quickly|go\ ahead\ and),?\ )*"
_OPENING = r"""(?:(?:hi|hello|hey|ok|okay|so|and|well|now|then|next|also|great|thanks|alright|finally)
    (?:\ there)?[,!]?\ )*"""
_EN_FRAMES = re.compile(
    rf"""(?ix){_OPENING}
    (?:
        {_POLITE}(?:can|could|would|will)\ you\ {_POLITE}
      | (?:do\ you\ think\ |is\ it\ possible\ that\ )you\ (?:can|could)\ {_POLITE}
      | i(?:\ would|'d|’d)?\ (?:need|want|like)\ you\ to\ {_POLITE}
      | i(?:\ am|'m|’m)?\ (?:need|want|would\ like|wish|hope|trying|looking|hoping|planning)\ to\ {_POLITE}
      | i(?:'d|’d)\ (?:like|love)\ to\ {_POLITE}
      | {_POLITE}
    )
    (?P<request>(?:{"|".join(sorted(VERBS, key=len, reverse=True))})\b(?!['’:]|-).*?)
    (?:,?\ (?:please|pls|plz|thanks|thank\ you|for\ me|asap))* \s*[.!?]*
    """
)
_DE_MODAL = re.compile(
    r"""(?ix)(?:hallo,?\ |hi,?\ |bitte\ )?
    (?: (?:können|könnten|würden)\ Sie | (?:kannst|könntest|würdest)\ du | ich\ (?:möchte|will|würde|muss) )
    \ (?:(?:bitte|gern|gerne|mal|kurz|jetzt|auch|noch)\ )*
    (?P<request>[^,;:]+\ [a-zäöüß]+(?:en|ern|eln))[.!?]*"""
)
_FR_MODAL = re.compile(
    r"""(?ix)(?:bonjour,?\ |salut,?\ )?
    (?: (?:pouvez|pourriez)[-\ ]vous | (?:peux|pourrais)[-\ ]tu | tu\ (?:peux|pourrais)
    | vous\ (?:pouvez|pourriez) | je\ (?:voudrais|souhaite|souhaiterais|veux|dois) | j['’]aimerais )
    \ (?P<request>(?:me\ |m['’]|nous\ )?[a-zéèêîôç]+(?:er|ir|re|oir)\b[^?]*?)
    (?:,?\ s['’]il\ (?:vous|te)\ pla[iî]t)?\ ?[.!?]*"""
)
_ES_MODAL = re.compile(
    r"""(?ix)(?:hola,?\ )?¿?
    (?: (?:puedes?|podr[ií]as?)(?:\ usted)? | quiero | quisiera | necesito | me\ gustar[ií]a | querr[ií]a )
    \ (?:por\ favor\ )?(?P<request>[a-zñáéíóú]+(?:ar|er|ir|ír)(?:me|nos|l[oa]s?|mel[oa])?\b[^?¿]*?)
    (?:,?\ por\ favor)?[.!?]*"""
)
_ZH_FRAME = re.compile(
    r"""(?x)(?:[你您]好)?[，,！!]*
    (?: (?:能不能|可以|能|请|麻烦)?[你您]?请?帮(?:我|忙)(?:一下)? | 请[你您]? )
    (?P<request>[\u4e00-\u9fff][^，。！？,!?\n]*?)(?:吗|吧|好吗|谢谢)?[。！？!?]*"""
)
_JA_FRAME = re.compile(
    r"""(?x)(?P<request>[^、。\n]*[一-龯ァ-ヴー])
    して(?:ください|下さい|くれ(?:ますか|ませんか|る)?|もらえますか|いただけますか|いただけませんか
    |(?:ほしい|欲しい)(?:です)?)[。！？!?]*"""
)
_AR_FRAME = re.compile(
    r"""(?x)(?:أريد|اريد|أود|أرغب\ في|أحتاج\ إلى)\ (?P<request>
    (?:حجز|إلغاء|الغاء|تغيير|معرفة|إرسال|ارسال|تعديل|تحويل|شراء|إضافة|حذف|البحث\ عن|تحديث|دفع|إرجاع
    |استرجاع|تأكيد)
    \ [^.!؟،\n]+)[.!؟]*"""
)
_FRAMES = {
    Language.EN: _EN_FRAMES,
    Language.DE: _DE_MODAL,
    Language.FR: _FR_MODAL,
    Language.ES: _ES_MODAL,
    Language.ZH: _ZH_FRAME,
    Language.JA: _JA_FRAME,
    Language.AR: _AR_FRAME,
}
_JOINED = {Language.JA: "する"}
_SUBJECTS = re.compile(r"\b(?:could|can|would|will) you\b|\bbut\b|[\n\"“”`]|[.!?] ", re.IGNORECASE)
"""What shows that a sentence holds more than one request, or words of somebody else's."""
_NOUN_FIRST = re.compile(r"\w+ (?:(?:of|is|are|was|were|has|id|number)\b|\d|#)")
"""What follows a noun that might be a verb: "order #66 is late"."""
_GERMAN_ENDS = re.compile(r"\b(?:wissen|sein|haben|werden|fliegen|reisen|fahren|können|müssen)$")
"""What a German user does, and no agent."""


def find_request(sentence: str, language: Language) -> str | None:
    """The request that a sentence makes, as a bare infinitive ("book the flight", "einen Flug buchen"); None
    where it makes none, or its form leaves a doubt.
    """
    text = sentence.strip()
    if len(text) > LONGEST_REQUEST or (pattern := _FRAMES.get(language)) is None:
        return None
    found = pattern.fullmatch(text)
    if found is None:
        return None
    request = found["request"].strip().rstrip(",") + _JOINED.get(language, "")
    if _SUBJECTS.search(request) or not request:
        return None
    if language is Language.EN:
        return None if _NOUN_FIRST.match(request) else request[0].lower() + request[1:]
    return None if language is Language.DE and _GERMAN_ENDS.search(request) else request


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
    found = [_GREETED.sub("", text[start:end].strip()) for start, end in split_sentences(text)]
    if kept is not None:
        found = [one for one in found if one in kept]
    found = [one for one in found if count_words(one) in SAID_AGAIN and not _BULLET.match(one)]
    asking = [one for one in found if _QUESTION.search(one) or find_request(one, language) is not None]
    return asking or [one for one in found if not is_greeting(one)]


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
    """.split()  # noqa: SIM905
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
    """.split()  # noqa: SIM905
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
