"""Values that a negation governs: `not to Paris`. They say what isn't wanted, so neither a vague form nor a
rival can stand in their place without another meaning.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from crosswind.injectors.text.languages import Language
from crosswind.injectors.values.mentions import Mention

_FARTHEST = 60
"""Characters before a value, or behind it, in which a negation is looked for."""
_CLAUSE = re.compile(
    r"[.!?;:](?=\s)|[,\n，。！？；：、،؛؟…]|\b(?:but(?! not| never)|because|since|although|so(?! as)|sondern"
    r"|and(?= (?:i|we|it|please|would|want|need|now|then|instead|so)\b)"
    r"|aber(?! nicht)|weil|pero(?! no)|sino|porque|mais(?! pas| jamais)|parce)\b|بل|而是|但是",
    re.IGNORECASE,
)
"""Where a clause ends, and the reach of a negation in it."""


def _compile(clause: str, near: str, limits: str) -> re.Pattern[str]:
    """A word that denies all that follows in its clause, or one that denies the next phrase. Before `limits`
    neither does: `not more than 120 euros` tells what is wanted."""
    phrase = r"\s+(?:[^\s.,;:!?]+\s+){0,3}\Z"
    return re.compile(rf"\b(?:(?:{clause})(?!\w)|(?:{near})(?={phrase}))(?!\s+(?:{limits})\b)", re.IGNORECASE)


_AHEAD: Mapping[Language, re.Pattern[str]] = {
    Language.EN: _compile(
        r"not|never|nor|neither|cannot|cant|dont|\w+n['’]t",
        r"no|without|except(?: for)?|excluding|besides|instead of|rather than|other than|apart from"
        r"|avoid(?:ing)?|exclud(?:e|es|ed)|omit(?:ting)?|skip(?:ping)?|ignor(?:e|ing)|leav(?:e|ing) out"
        r"|filter(?:ing)? out",
        r"(?:any )?(?:more|less|fewer|later|earlier|longer|shorter|higher|lower|over|above|under(?! any)"
        r"|exceeding|only|until|before|after|forget|hesitate)",
    ),
    Language.DE: _compile(
        r"nicht|nie|niemals|kein(?:e[nmrs]?)?|weder",
        r"außer|ausser|statt|anstatt|anstelle|ohne|bis auf",
        r"(?:mehr|weniger|später|früher|länger|kürzer|höher|über|unter|nur|teurer|problem"
        r"|(?:vor|nach)(?= \d))",
    ),
    Language.ES: _compile(
        r"no|nunca|jamás|tampoco|ni",
        r"excepto|salvo|sin|menos(?= en| a| el| la)|en lugar de|en vez de",
        r"(?:más|menos|superior|supere|exceda|antes|después|solo|sólo|olvid\w+)",
    ),
    Language.FR: _compile(
        r"pas|jamais|ni",
        r"sauf|sans|hormis|excepté|au lieu de|plutôt que",
        r"(?:plus|moins|cher|chère|trop|avant|après|seulement|oublier)",
    ),
    Language.AR: _compile(
        r"[وف]?(?:لا|ليس|ليست|لن|لم)",
        r"إلا|بدون|دون|سوى|ما عدا|عدا|باستثناء|بدلا من|بدلاً من",
        r"(?:يزيد|تزيد|يقل|تقل|يتجاوز|تتجاوز|أكثر|أقل|يتعدى|تتعدى)",
    ),
    Language.ZH: re.compile(
        r"(?!(?<=能)不能|(?<=要)不要|(?<=可)不可|(?<=是)不是|(?<=好)不好|(?<=会)不会|(?<=行)不行)不(?!好意思|超过|同|过|错|少于|多于|低于|高于|晚于|早于|知|只|仅)"
        r"|(?<![特分级类个区告])别(?!名)"
        r"|除了?|(?<!有)没有?|而非"
    ),
}
_ALL_BUT = re.compile(r"\b(?:any|every|all)\w*(?: \w+)? but(?: (?:at|for|from|in|on|to))? \Z", re.IGNORECASE)
_BEHIND = re.compile(
    r"[^、。！？\n]{0,8}?(?:以外|を除|抜きで|じゃな|では?な[いくし]|ないで(?!しょ)|ないように|なくて(?!は)|には?行かない)"
)
"""Japanese denies behind the value."""
_EXCLUDED = re.compile(r"(?:之外|以外)(?!の近く)")


def is_denied(text: str, one: Mention, language: Language) -> bool:
    """Whether a negation in its clause governs the value."""
    if language is Language.JA:
        return _BEHIND.match(text, one.end) is not None
    if language is Language.ZH and _EXCLUDED.match(text, one.end):
        return True
    ahead = text[max(0, one.start - _FARTHEST) : one.start]
    if language is Language.EN and _ALL_BUT.search(ahead):
        return True
    negation = _AHEAD.get(language)
    begin = max((found.end() for found in _CLAUSE.finditer(ahead)), default=0)
    return negation is not None and negation.search(ahead, begin) is not None
