"""Values that a user rules out, or that bound what they want: `nothing on 7 May`, `never after 15:30`. The
words beside such a value say something else without it.

The patterns are wider than grammar: what is taken for ruled out wrongly only stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from crosswind.injectors.text.languages import Language

_FARTHEST = 120
"""Characters before a value, or behind it, in which a negation is looked for."""
_LONGEST_BOUND = 48
"""Characters before a value in which a bound is looked for."""
_CLAUSE = re.compile(
    r"[.!?;:](?=\s)|[,\n，。！？；：、،؛؟…]|\b(?:but(?! not| never)|because|since|although|so(?! as)|sondern"
    r"|and(?= (?:i|we|it|please|would|want|need|now|then|instead|so)\b)"
    r"|aber(?! nicht)|weil|pero(?! no)|sino|porque|mais(?! pas| jamais)|parce)\b|بل|而是|但是",
    re.IGNORECASE,
)
"""Where a clause ends, and the reach of a negation in it."""
_LISTED = re.compile(
    r"(?:[^\S\n]*[^\s,，、،]+[,，、،])*\s*(?:(?:and|or|nor|und|oder|noch|y|o|ni|et|ou|أو|和|或)\s+)?\Z",
    re.IGNORECASE,
)
"""What stands between a comma and a value that goes on with a list: `not on Monday, Tuesday or `."""


def _compile(clause: str, near: str, limits: str) -> re.Pattern[str]:
    """A word that denies all that follows in its clause, or one that denies the next phrase. Before `limits`
    neither does."""
    phrase = r"\s+(?:[^\s.,;:!?]+\s+){0,3}\Z"
    return re.compile(rf"\b(?:(?:{clause})(?!\w)|(?:{near})(?={phrase}))(?!\s+(?:{limits})\b)", re.IGNORECASE)


_CLAUSES: Mapping[Language, str] = {
    Language.EN: r"not|never|nor|neither|cannot|(?:ca|do|wo|is|does|did|would|should|could|have|has)nt"
    r"|\w+n['’]t|nothing|none|nobody|no[ -]one|nowhere|hardly|barely|scarcely|rarely|seldom|unless|unable"
    r"|impossible|refus(?:e|es|ed|ing)|hat(?:e|es|ed|ing)|dislik(?:e|es|ed|ing)|anything but"
    r"|rather (?:\S+ ){1,4}than"
    r"|(?:(?:am|are|is|be)|['’](?:m|re|s)) (?:abroad|away|busy|unavailable|on (?:holiday|leave))"
    r"|(?:\A|(?<=\n)|(?<=[.!?;,] ))(?:please )?no(?! (?:problem|rush|worries|hurry))",
    Language.DE: r"nicht|nie|niemals|kein(?:e[nmrs]?)?|weder|nichts|niemand\w*|nirgends|nirgendwo|keinesfalls"
    r"|keineswegs|kaum|selten|ungern|(?:ver)?weiger\w+|vermeid\w+|hass(?:e|t|en)|unmöglich",
    Language.ES: r"no|nunca|jamás|tampoco|ni|nada|nadie|ning[uú]n(?:[oa]s?)?|apenas|rara vez|rechaz\w+"
    r"|evit\w+|odi(?:o|a|amos|an)|niego|niega|negamos|imposible|a menos que|salvo que",
    Language.FR: r"pas|jamais|ni|rien|(?<!une )(?<!par )(?<!la )(?<!cette )personne|aucune?|nulle part|guère"
    r"|refus\w+|évit\w+|détest\w+|impossible|à moins que",
    Language.AR: r"[وف]?(?:لا|ليس|ليست|لن|لم)|أبدا|أبداً|مستحيل|[أيتن]رفض\w*|[أيتن]?تجنب\w*|[أيتن]كره\w*",
}
"""Words that deny all that follows in their clause."""
_NEAR: Mapping[Language, str] = {
    Language.EN: r"no|without|except(?: for)?|excluding|besides|instead of|rather than|other than|apart from"
    r"|aside from|barring|save for|outside(?: of)?|away from|clear of"
    r"|avoid(?:s|ed|ing)?|exclud(?:e|es|ed)|omit(?:ting)?|skip(?:ping)?|ignor(?:e|ing)|leav(?:e|ing) out"
    r"|filter(?:ing)? out|rul(?:e|es|ed|ing) out",
    Language.DE: r"außer|ausser|statt|anstatt|anstelle|ohne|bis auf|abgesehen von|ausgenommen|mit Ausnahme",
    Language.ES: r"excepto|salvo|sin|menos(?= en| a| el| la)|en lugar de|en vez de|aparte de|a excepción de",
    Language.FR: r"sauf|sans|hormis|excepté|au lieu de|plutôt que|à part|en dehors d[eu]"
    r"|à l['’]exception d[eu]",
    Language.AR: r"إلا|بدون|دون|سوى|ما عدا|عدا|باستثناء|بدلا من|بدلاً من",
}
"""Words that deny the next phrase."""
_ONLY: Mapping[Language, str] = {
    Language.EN: r"only|solely|exclusively",
    Language.DE: r"nur|bloß|ausschließlich|lediglich|allein",
    Language.ES: r"solo|sólo|solamente|únicamente|exclusivamente",
    Language.FR: r"seulement|uniquement|exclusivement|n(?:e |['’])(?:\S+ ){1,3}qu(?:e|['’])",
    Language.AR: r"فقط|حصرا",
}
"""Words that rule out all else."""
_LIMITS: Mapping[Language, str] = {
    Language.EN: r"(?:any )?(?:more|less|fewer|later|earlier|longer|shorter|higher|lower|over|above"
    r"|under(?! any)|exceeding|only|until|before|after|forget|hesitate)",
    Language.DE: r"(?:mehr|weniger|später|früher|länger|kürzer|höher|über|unter|nur|teurer|problem"
    r"|(?:vor|nach)(?= \d))",
    Language.ES: r"(?:más|menos|superior|supere|exceda|antes|después|solo|sólo|olvid\w+)",
    Language.FR: r"(?:plus|moins|cher|chère|trop|avant|après|seulement|oublier)",
    Language.AR: r"(?:يزيد|تزيد|يقل|تقل|يتجاوز|تتجاوز|أكثر|أقل|يتعدى|تتعدى)",
}
"""Words before which a negation tells what is wanted: `not more than 120 euros`."""
_CHINESE = (
    r"(?!(?<=能)不能|(?<=要)不要|(?<=可)不可|(?<=是)不是|(?<=好)不好|(?<=会)不会|(?<=行)不行)"
    r"不(?!好意思|同|过|错|知{limits})|(?<![特分级类个区告])别(?!名)|除了?|(?<!有)没有?|而非"
    r"|无法|禁止|拒绝|避免|讨厌|从未"
)
_DENIES: Mapping[Language, re.Pattern[str]] = {
    **{one: _compile(_CLAUSES[one], _NEAR[one], _LIMITS[one]) for one in _CLAUSES},
    Language.ZH: re.compile(
        _CHINESE.replace("{limits}", "|超过|少于|多于|低于|高于|晚于|早于|只|仅"),
    ),
}
_RESTRICTS: Mapping[Language, re.Pattern[str]] = {
    **{
        one: _compile(f"{_CLAUSES[one]}|{_ONLY[one]}", _NEAR[one], "forget|hesitate|olvid\\w+|oublier")
        for one in _CLAUSES
    },
    Language.ZH: re.compile(rf"{_CHINESE.replace('{limits}', '')}|只(?=[能要有可在想限])|仅"),
}
"""Words that deny what follows, or bound it."""
_ALL_BUT = re.compile(r"\b(?:any|every|all)\w*(?: \w+)? but(?: (?:at|for|from|in|on|to))? \Z", re.IGNORECASE)
_DENIES_BEHIND = re.compile(
    r"[^、。！？\n]{0,8}?(?:以外|を除|抜きで|じゃな|では?な[いくし]|ないで(?!しょ)|ないように|なくて(?!は)|には?行かない)"
)
"""Japanese denies behind the value."""
_EXCLUDED = re.compile(r"(?:之外|以外)(?!の近く)")
_UNFIT = (
    r"(?:work|suit|fit|go|do|possible|good|great|ok|okay|fine|convenient|acceptable|an option|available|free)"
)
_RESTRICTS_BEHIND: Mapping[Language, re.Pattern[str]] = {
    Language.EN: re.compile(
        r"(?:\s+[^\s.,;:!?]+){0,3}?\s+(?:(?:(?:do|does|is|are|will|would)(?: not|n['’]t)|won['’]t)"
        rf"(?: really| quite)? {_UNFIT}|(?:is|are) (?:impossible|out|off|no good|too \w+)|never works?"
        r"|(?:i|we|he|she|they|my \w+) (?:ca(?:n['’]t|nnot)|could(?:n['’]t| not)|won['’]t|refuse|never)"
        r"|(?:(?:am|are|is)|\w+['’](?:m|re|s)) (?:abroad|away|busy|unavailable|on (?:holiday|leave)))\b"
        r"|\s+only\b",
        re.IGNORECASE,
    ),
    Language.DE: re.compile(
        r"(?:\s+[^\s.,;:!?]+){0,4}?\s+(?:nicht|nie|niemals|kein(?:e[nmrs]?)?|unmöglich|ungern|nur)\b",
        re.IGNORECASE,
    ),
    Language.ES: re.compile(
        r"(?:\s+[^\s.,;:!?]+){0,3}?\s+(?:no|nunca|jamás|tampoco|imposible|solo|sólo|solamente)\b",
        re.IGNORECASE,
    ),
    Language.FR: re.compile(
        r"(?:\s+[^\s.,;:!?]+){0,4}?\s+(?:pas|jamais|impossible|seulement|uniquement)\b", re.IGNORECASE
    ),
    Language.JA: re.compile(
        r"[^、。！？\n]{0,12}?(?:以外|を除|抜き|じゃな|では?な[いくし]|ないで(?!しょ)|ないように|なくて(?!は)|行かない"
        r"|無理|だめ|ダメ|駄目|嫌|避け|不可|困り|困る|悪い|悪く|埋まって|のみ|だけ|しか|(?:け|き|れ|て)ない(?=[。、]|$)|ません(?!か|でしょうか))"
    ),
    Language.ZH: re.compile(r"[^，。！？、\n]{0,6}?(?:不行|不可以|不方便|不能|没空|没有空|之外|以外)"),
    Language.AR: re.compile(r"(?:\s+[^\s.,،؛:!؟?]+){0,3}?\s+(?:لا|لن|ليس|مستحيل|فقط)(?!\w)"),
}
"""What rules out a value that stands before it, or all others: `Friday doesn't work`, `10:15 only`."""


def is_denied(text: str, start: int, end: int, language: Language) -> bool:
    """Whether a negation in its clause governs the value: what isn't wanted has no rival either."""
    if language is Language.JA:
        return _DENIES_BEHIND.match(text, end) is not None
    if language is Language.ZH and _EXCLUDED.match(text, end):
        return True
    return _is_governed(text, start, language, _DENIES)


def is_restricted(text: str, start: int, end: int, language: Language) -> bool:
    """Whether a negation, a refusal or a word like `only` governs the value: without it, or with a vaguer
    one, the user would rule out something else."""
    behind = _RESTRICTS_BEHIND[language].match(text, end)
    return behind is not None or _is_governed(text, start, language, _RESTRICTS)


def _is_governed(
    text: str, start: int, language: Language, patterns: Mapping[Language, re.Pattern[str]]
) -> bool:
    ahead = text[max(0, start - _FARTHEST) : start]
    if language is Language.EN and _ALL_BUT.search(ahead):
        return True
    pattern = patterns.get(language)
    return pattern is not None and pattern.search(ahead, _find_clause(ahead)) is not None


def _find_clause(ahead: str) -> int:
    """Where the clause begins that goes on behind these words. A list goes on behind its commas."""
    for mark in reversed([*_CLAUSE.finditer(ahead)]):
        if mark[0] not in ",，、،" or _LISTED.match(ahead, mark.end()) is None:
            return mark.end()
    return 0


_HOUR = r"\d[\d:.,]*(?:\s?[ap]\.?m\.?)?|noon|midnight"
_BOUNDS: Mapping[Language, re.Pattern[str]] = {
    Language.EN: re.compile(
        r"\b(?:before|after|until|till|til|by|past|within|under|below|beneath|above|beyond"
        r"|exceed(?:ing|s)?|up to|at (?:the )?(?:most|least|latest|earliest)"
        r"|(?:more|less|fewer|later|earlier|sooner|longer|shorter|cheaper"
        r"|higher|lower|greater|larger|bigger|smaller|older|younger) than"
        r"|max(?:imum)?|min(?:imum)?)(?: of)?:?\s+"
        rf"(?:(?:{_HOUR}|the|on|of|at|about|around|o['’]clock|next|this)\s+)*[$€£]?\Z",
        re.IGNORECASE,
    ),
    Language.DE: re.compile(
        r"\b(?:vor|nach|bis|spätestens|frühestens|höchstens|mindestens|maximal|minimal|max\.|min\.|unter|über"
        r"|erst(?: ab| um| am| wieder)?"
        r"|innerhalb|binnen|(?:mehr|weniger|später|früher|länger) als)\s+"
        rf"(?:(?:{_HOUR}|uhr|de[mnr]|zum|um|am|einschließlich|von|de[sr])\s+)*\Z",
        re.IGNORECASE,
    ),
    Language.ES: re.compile(
        r"\b(?:antes|después|hasta|a más tardar|como (?:máximo|mínimo|mucho|poco)|al menos|por lo menos"
        r"|máximo|mínimo|más|menos|pasadas)\s+"
        rf"(?:(?:{_HOUR}|de|del|el|la|las|los|a|al|en)\s+)*\Z",
        re.IGNORECASE,
    ),
    Language.FR: re.compile(
        r"\b(?:avant|après|jusqu['’](?:à|aux?)|d['’]ici|(?:au|le) plus (?:tard|tôt)"
        r"|au (?:plus|moins|maximum|minimum)"
        r"|maximum|minimum|plus|moins|passé)\s+"
        rf"(?:(?:{_HOUR}|h|heures?|le|la|les|du|de|à|au)\s+)*(?:d['’]|l['’])?\Z",
        re.IGNORECASE,
    ),
    Language.ZH: re.compile(
        r"(?:早于|晚于|超过|低于|高于|少于|多于|不到|不足|至少|最少|最多|至多|最晚|最迟|最早|直到|截至|截止到?)\Z"
    ),
    Language.AR: re.compile(
        r"(?<!\w)[وف]?(?:قبل|بعد|حتى|أقل من|أكثر من|على الأقل|على الأكثر|كحد أقصى|أقصاه)\s+"
        r"(?:(?:الساعة|يوم|تاريخ)\s+)*\Z"
    ),
}
"""What stands before a bound, with an hour between it and the day: `before 10:00 on 7 May`."""
_BOUNDS_BEHIND: Mapping[Language, re.Pattern[str]] = {
    Language.EN: re.compile(
        r",?\s+(?:at (?:the )?(?:most|least|latest|earliest|max(?:imum)?)|or (?:later|earlier|sooner"
        r"|before|after|more|less|fewer|longer)"
        r"|(?:only|tops|max(?:imum)?|min(?:imum)?|onwards?|and (?:no|not))\b)",
        re.IGNORECASE,
    ),
    Language.DE: re.compile(
        r"(?: Uhr)?,?\s+(?:spätestens|frühestens|höchstens|mindestens|maximal"
        r"|oder (?:später|früher|mehr|weniger))",
        re.IGNORECASE,
    ),
    Language.ES: re.compile(
        r",?\s+(?:como (?:máximo|mínimo|mucho|muy tarde)|a más tardar|o (?:antes|después))"
    ),
    Language.FR: re.compile(
        r",?\s+(?:au (?:plus|moins|maximum|minimum)|maximum|ou (?:avant|après|plus|moins))"
    ),
    Language.ZH: re.compile(r"[点时号日天]?(?:之前|以前|前|之后|以后|后|以内|之内|内|以上|以下|为止)"),
    Language.JA: re.compile(
        r"[時分日]?(?:より|以前|以降|以後|まで|以内|以上|以下|未満|過ぎ|の?前(?!日)|の?あと|の?後)"
    ),
    Language.AR: re.compile(r"\s+(?:على الأكثر|على الأقل|كحد أقصى|كحد أدنى)"),
}
_CURRENCY_AHEAD = re.compile(r"[$€£¥]\s?\Z")
_CURRENCY = re.compile(
    r"[\d.,]*\s?(?:[$€£¥元円块]|(?:USD|EUR|GBP|euros?|dollars?|pounds?|yuan|yen|dólares|pesos)\b)",
    re.IGNORECASE,
)


def is_limit(text: str, start: int, end: int, language: Language) -> bool:
    """Whether a day, an hour or an amount bounds what the user wants: `before 10:00`, `at least 3 nights`. A
    sum of money doesn't: what stands for it, a budget, is a bound again."""
    priced = (_CURRENCY.search(text[start:end]) or _CURRENCY.match(text, end)) is not None
    if priced or _CURRENCY_AHEAD.search(text, max(0, start - 2), start):
        return False
    if (behind := _BOUNDS_BEHIND.get(language)) is not None and behind.match(text, end):
        return True
    ahead = _BOUNDS.get(language)
    found = None if ahead is None else ahead.search(text, max(0, start - _LONGEST_BOUND), start)
    if found is None or (found[0].lower().startswith("by") and text[start:end].isdecimal()):
        return False
    raised = _UP_TO.match(found[0]) and _RAISES.search(text, max(0, found.start() - _FARTHEST), found.start())
    return not raised


_UP_TO = re.compile(r"up to\b", re.IGNORECASE)
_RAISES = re.compile(r"\b(?:bump|crank|heat|push|rais|scal|set|turn|warm)\w*\b[^.!?;\n]*\Z", re.IGNORECASE)
"""What is turned up to a value, which is no bound of it."""
