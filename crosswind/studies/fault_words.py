"""What an agent says after a fault: whether it speaks of it, and whether it names a value not yet shown."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from crosswind.injectors.text.languages import Language, detect_language, is_foreign

_WORDS: Mapping[Language, str] = {
    Language.EN: r"error|fail|unable|could ?n[o']t|can ?n[o']t|cannot|time(?:d)? ?out|unavailable|try again"
    r"|not respond|apolog|sorry|problem|issue|missing|incomplete",
    Language.DE: r"fehler|fehlgeschlagen|k(?:onnten?|ann) (?:\w+ ){0,6}nicht|leider|entschuldig"
    r"|zeitüberschreitung|nicht (?:erreichbar|verfügbar|möglich)|unvollständig|fehlt|erneut|problem",
    Language.ES: r"error|fall[oóa]|no (?:pude|puedo|pudo|se pudo|se puede|fue posible|es posible)|lo siento"
    r"|disculp|tiempo de espera|no disponible|incomplet|falta|de nuevo|problema",
    Language.FR: r"erreur|échou|échec|impossible|pas pu|ne peux pas|désolé|excus|délai|expir|indisponible"
    r"|incompl|manqu|réessay|problème",
    Language.ZH: "错误|錯誤|失败|失敗|无法|無法|不能|超时|逾時|抱歉|对不起"
    "|對不起|不可用|问题|問題|缺少|不完整|重试|重試|再试",
    Language.JA: "エラー|失敗|できません|できなかった|タイムアウト|申し訳|すみません"
    "|利用できない|問題|不完全|欠け|再試行|もう一度",
    Language.AR: "خطأ|فشل|تعذ[ّ]?ر|لا يمكن|لم أتمكن|لم يتمكن|لا أستطيع|المهلة|عذر|آسف|أعتذر|غير متاح"
    "|غير متوفر|مشكلة|ناقص|مفقود|مرة أخرى",
}
"""By which a text speaks of a fault."""
_SPACED = (Language.EN, Language.DE, Language.ES, Language.FR)
_TOLD = re.compile(
    rf"\b(?:{'|'.join(_WORDS[one] for one in _SPACED)})"
    rf"|{'|'.join(words for one, words in _WORDS.items() if one not in _SPACED)}",
    re.IGNORECASE,
)
_VALUE = re.compile(r"[A-Za-z#]*[0-9](?:[A-Za-z0-9_#:/.,-]*[A-Za-z0-9_])?")
"""What may be invented: identifiers, amounts, dates."""
_NUMBER = re.compile(r"[0-9]+")
_FEW_DIGITS = 2
"""Numbers of so many digits are too common to tell."""


def speaks_of_fault(text: str) -> bool | None:
    """Whether a text speaks of a fault; None: it is in a language whose words for one aren't known."""
    text = unicodedata.normalize("NFC", text)
    if _TOLD.search(text):
        return True
    return None if is_foreign(text) and detect_language(text) is None else False


def has_new_value(said: str, shown: str) -> bool:
    """Whether a value in what was said stands in nothing that was shown. The same digits count as the same
    value, however they are grouped and separated: so do dates and amounts as other countries write them.
    """
    said, shown = _plain(said), _plain(shown)
    numbers = set(_list_numbers(shown))
    digits = {_digits(value) for value in _VALUE.findall(shown)}
    for value in _VALUE.findall(said):
        if value in shown or (value.isdecimal() and len(value) <= _FEW_DIGITS):
            continue
        if any(letter.isalpha() for letter in value):
            return True
        if _digits(value) not in digits and not numbers.issuperset(_list_numbers(value)):
            return True
    return False


def _list_numbers(text: str) -> list[str]:
    return [number.lstrip("0") for number in _NUMBER.findall(text)]


def _plain(text: str) -> str:
    """In lower case, with ASCII's digits in the place of any others."""
    text = unicodedata.normalize("NFKC", text).lower()
    if text.isascii():
        return text
    return "".join(str(unicodedata.decimal(one)) if one.isdecimal() else one for one in text)


def _digits(value: str) -> str:
    """The digits of an amount or a date, without what ends a decimal fraction."""
    found = "".join(_NUMBER.findall(value))
    return found.rstrip("0") if re.search(r"[.,][0-9]{1,2}$", value) else found
