"""Requests of other languages asked more or less politely.

A verb of asking in another form, or `please` beside a command: the rest stays as it is, so that the sentence
stays grammatical whatever it asks for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from crosswind.injectors.operators.user.paraphrase.replacements import Rules, compile_rules, replace_by_rules
from crosswind.injectors.operators.user.typos.word_lists import read_words
from crosswind.injectors.text.languages import Language

_SAID: Mapping[Language, re.Pattern[str]] = {
    Language.DE: re.compile(
        r"\b(?:hallo|hi|hey|moin|guten|bitte|danke|dank|servus|lg|grüße)\b", re.IGNORECASE
    ),
    Language.ES: re.compile(
        r"\b(?:hola|buen[oa]s|por favor|gracias|porfa|disculpa|perdona)\b", re.IGNORECASE
    ),
    Language.FR: re.compile(
        r"\b(?:bonjour|bonsoir|salut|coucou|merci|svp|stp|veuillez|pla[iî]t|pardon|excuse\w*)\b",
        re.IGNORECASE,
    ),
    Language.ZH: re.compile("你好|您好|嗨|请|麻烦|劳驾|谢|拜托|打扰"),
    Language.JA: re.compile(
        "こんにちは|すみません|すいません|お願い|ありがとう|よろしく|恐れ入り|お世話|どうも"
    ),
    Language.AR: re.compile("مرحب|أهل|السلام|فضلك|سمحت|رجاء|شكر|يرجى|صباح|مساء"),
}
"""Words by which a sentence greets, asks politely or thanks already."""
_QUESTION = re.compile(r"[?？؟]\s*\Z")


def says_please_twice(said: str, sentence: str, language: Language) -> bool:
    """Whether the sentence says `please` more than once, where it didn't before."""
    please = _PLEASES.get(language)
    if please is None:
        return False
    count = len(please.findall(said))
    return count > 1 and count > len(please.findall(sentence))


_PLEASES: Mapping[Language, re.Pattern[str]] = {
    Language.DE: re.compile(r"\bbitte\b", re.IGNORECASE),
    Language.ES: re.compile(r"\b(?:por favor|porfa)\b", re.IGNORECASE),
    Language.FR: re.compile(r"\b(?:s['’]il (?:te|vous) pla[iî]t|svp|stp|veuillez)\b", re.IGNORECASE),
    Language.ZH: re.compile("请(?!问)"),
    Language.AR: re.compile("من فضلك|رجاء|لو سمحت"),
}


_LEAD = re.compile(
    r"""(?:(?:hallo|hi|hey|moin|servus|guten\ (?:tag|morgen|abend)|danke|super|gut|prima|okay|ok|hola
      |buen[oa]s(?:\ (?:días|tardes|noches))?|vale|perfecto|gracias|bonjour|bonsoir|salut|coucou|merci
      |d['’]accord)(?:\ zusammen|\ schon\ mal)?,|und|dann|y|entonces|et|alors)[ ]
      (?=¿?[a-zäöüáéíóúàâçèêëîïôûù])""",
    re.IGNORECASE | re.VERBOSE,
)
"""What may stand before a request, and goes on with it in a small letter."""


def ask_otherwise(sentence: str, language: Language) -> list[str]:
    """The sentence with another form of its verb of asking, or with `please` in it."""
    lead = _LEAD.match(sentence)
    if lead is None:
        return _ask_otherwise(sentence, language)
    mark = "¿" if sentence[lead.end()] == "¿" else ""
    body = sentence[lead.end() + len(mark) :]
    forms = _ask_otherwise(f"{mark}{body[:1].upper()}{body[1:]}", language)
    return [f"{lead[0]}{_lower_first(form)}" for form in forms]


def _lower_first(form: str) -> str:
    at = 1 if form[0] == "¿" else 0
    return f"{form[:at]}{form[at].lower()}{form[at + 1 :]}"


def _ask_otherwise(sentence: str, language: Language) -> list[str]:
    return replace_by_rules(sentence, _FORMS.get(language, ())) or _add_please(sentence, language)


_FORMS: Mapping[Language, Rules] = {
    Language.DE: compile_rules(
        (r"^Kannst du\b", ("Könntest du",)),
        (r"^Könntest du\b", ("Kannst du",)),
        (r"^Können Sie\b", ("Könnten Sie",)),
        (r"^Könnten Sie\b", ("Können Sie",)),
        (r"^Ich brauche\b", ("Ich bräuchte",)),
        (r"^Ich will\b", ("Ich möchte",)),
    ),
    Language.ES: compile_rules(
        (r"^¿Puedes\b", ("¿Podrías",)),
        (r"^¿Podrías\b", ("¿Puedes",)),
        (r"^¿Puede\b(?= \w+(?:ar|er|ir)(?:me|nos)?\b)", ("¿Podría",)),
        (r"^¿Podría\b(?= \w+(?:ar|er|ir)(?:me|nos)?\b)", ("¿Puede",)),
        (r"^Quiero\b(?!.* que )", ("Quisiera", "Querría")),
        (r"^Necesito\b(?! que )", ("Necesitaría",)),
    ),
    Language.FR: compile_rules(
        (r"^Peux-tu\b", ("Pourrais-tu", "Est-ce que tu peux", "Tu peux")),
        (r"^Pourrais-tu\b", ("Peux-tu", "Est-ce que tu pourrais", "Tu pourrais")),
        (r"^Pouvez-vous\b", ("Pourriez-vous", "Est-ce que vous pouvez")),
        (r"^Pourriez-vous\b", ("Pouvez-vous", "Est-ce que vous pourriez")),
        (r"^Est-ce que tu peux\b", ("Peux-tu", "Tu peux")),
        (r"^Est-ce que vous pouvez\b", ("Pouvez-vous", "Vous pouvez")),
        (r"^Je veux\b", ("Je voudrais",)),
        (r"^Je voudrais\b(?= (?:un|une|des|le|la|les|l['’]|\w+(?:er|ir|re)\b))", ("J'aimerais",)),
        (r"^J['’]aimerais\b", ("Je voudrais",)),
        (r"^J['’]ai besoin\b", ("J'aurais besoin",)),
    ),
    Language.ZH: compile_rules(
        (r"^请帮我", ("麻烦帮我", "帮我", "麻烦你帮我")),
        (r"^麻烦帮我", ("请帮我", "帮我")),
        (r"^帮我([^，。？！?!吗吧呢]+)[。！]?$", (r"请帮我\1。", r"能帮我\1吗？", r"麻烦帮我\1。")),
        (r"^请(?=[查预订取改换发转打设创添删搜找列显计算翻])", ("麻烦", "请帮我", "麻烦帮我")),
        (r"^你能帮我", ("你可以帮我", "能帮我")),
        (r"^能不能帮我([^，。？！?!吗]+)[？?]$", (r"可以帮我\1吗？", r"能帮我\1吗？")),
    ),
    Language.JA: compile_rules(
        (
            r"([てで])(?:ください|下さい)[。.]?$",
            (r"\1いただけますか？", r"\1もらえますか？", r"\1ほしいです。", r"\1いただきたいです。"),
        ),
        (r"([てで])(?:いただけますか|もらえますか)[？?]?$", (r"\1ください。", r"\1ほしいです。")),
        (r"(?<=を)お願いします[。.]?$", ("お願いできますか？", "お願いしたいです。")),
        (r"たいです[。.]?$", ("たいのですが。", "たいと思っています。")),
        (r"たいのですが[。.]?$", ("たいです。",)),
        (r"(?<!ん)ですか[？?]$", ("でしょうか？",)),
        (r"ありますか[？?]$", ("あるでしょうか？",)),
    ),
    Language.AR: compile_rules(
        (r"^أريد\b", ("أود",)),
        (r"^أود\b", ("أريد",)),
        (r"^هل يمكنك\b", ("هل بإمكانك", "هل تستطيع")),
        (r"^هل بإمكانك\b", ("هل يمكنك", "هل تستطيع")),
        (r"^هل تستطيع\b", ("هل يمكنك", "هل بإمكانك")),
    ),
}
"""Where a sentence begins or ends so, the beginning or end may be one of these as well."""

_END = re.compile(r"[.!。！]?\s*\Z")
_FORMAL_FR = re.compile(r"(?:ez|dites|faites)\Z")
_COMMAND_ZH = re.compile(
    "(?:查询|查找|查看|预订|取消|修改|更新|发送|设置|创建|添加|删除|搜索|列出|显示|计算|翻译|打开|关闭|推荐|生成|比较|把|将)"
)


def _add_please(sentence: str, language: Language) -> list[str]:
    """A command with `please` before or behind it."""
    said, forms = _SAID.get(language), _PLEASE.get(language)
    if said is None or forms is None or said.search(sentence):
        return []
    if not _is_command(sentence, language):
        return []
    you = "vous" if _FORMAL_FR.search(sentence.split(" ", 1)[0].partition("-")[0].lower()) else "te"
    low, bare = sentence[0].lower() + sentence[1:], _END.sub("", sentence)
    return [form.format(low=low, bare=bare, you=you) for form in forms]


def _is_command(sentence: str, language: Language) -> bool:
    if _QUESTION.search(sentence):
        return False
    if language is Language.ZH:
        return _COMMAND_ZH.match(sentence) is not None
    verb, *rest = sentence.split(" ", 1)
    return bool(rest) and verb.lower() in read_words(f"commands.{language.value}")


_PLEASE: Mapping[Language, tuple[str, ...]] = {
    Language.DE: ("Bitte {low}", "{bare}, bitte."),
    Language.ES: ("Por favor, {low}", "{bare}, por favor."),
    Language.FR: ("S'il {you} plaît, {low}", "{bare}, s'il {you} plaît."),
    Language.ZH: ("请{low}", "麻烦{low}", "请帮我{low}", "帮我{low}"),
    Language.AR: ("من فضلك، {low}", "{bare}، من فضلك."),
}
