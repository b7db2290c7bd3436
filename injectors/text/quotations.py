"""Quotations, and what a user wants passed on word for word: the spans of a text that stay as they are.

A quotation has any length and any number of lines, and no space has to follow its end. One that is never
closed runs to the end of the text; of the paragraph, where its mark is an apostrophe or a backtick.

Every scan is linear in the text: it goes from mark to mark.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from crosswind.injectors.text.full_stops import ends_sentence
from crosswind.injectors.text.languages import Language, detect_language
from crosswind.injectors.text.leads import RECORDED, find_leads, find_recorded, mentions
from crosswind.injectors.text.tokens import WordKind

REMEMBERED = 16_384
"""Characters of the longest text whose literals are cached."""

_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uff00-\uff0f]"
)
"""Scripts written without spaces: a quotation may begin right behind any of their characters."""

_DOUBLE = re.compile(r"[\"“”„‟«»‹›「」『』]")
_SINGLE = re.compile(r"['‘’‚‛]")
_BACKTICKS = re.compile(r"`+")
_OPENING_MARK = re.compile(r"[\"“”„‟«»‹›「」『』'‘’‚‛`](?<![A-Za-z0-9]['’])")
"""A mark that is no apostrophe inside or behind a word: where there is none, no quotation begins."""
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")

_OPENS = dict(zip("“„‟«‹「『", "”””»›」』", strict=True))
"""Marks that open, each with its closing mark; some languages use them the other way round."""
_FAMILY = {
    mark: number for number, marks in enumerate(('"“”„‟', "«»", "‹›", "「」", "『』")) for mark in marks
}

_LETTERS = re.compile(r"[^\W\d_]+")
_SUFFIXES = frozenset({"s", "t", "d", "m", "re", "ve", "ll", "all", "clock", "am", "er"})
"""What stands behind an apostrophe inside a word."""
_PREFIXES = frozenset({"qu", "jusqu", "lorsqu", "puisqu", "quelqu", "aujourd", "presqu", "un", "dell", "all"})
"""What stands before one, beside single letters (l'heure, O'Brien)."""
_ELIDED = re.compile(
    r"(?:tis|twas|twere|twill|till?|em|cause|cuz|bout|round|neath|n|nuff|ere|ello|im|er|\d\ds?|s|t|d|m|re|ve|ll)\b",
    re.IGNORECASE,
)
"""What an apostrophe may begin: a word that lost its beginning, or an ending that was set apart."""


LONGEST_WORD = 40

_POSSESSIVE = re.compile(r"\b(?:all|both|her|his|my|our|the|their|these|those|your) [^\W\d_]+[sSxz]\Z")
"""What stands before a possessive's apostrophe, most often: `the users' folder`."""


class Quotation(NamedTuple):
    start: int
    end: int
    closed: bool = True


def find_quotations(text: str) -> list[Quotation]:
    """All quotations, with their marks. They may overlap."""
    if _OPENING_MARK.search(text) is None:
        return []
    paragraphs = _Paragraphs(text)
    return [*_find_double(text), *_find_single(text, paragraphs), *_find_backticks(text, paragraphs)]


def _find_double(text: str) -> Iterator[Quotation]:
    """Those in marks that stand for nothing else. Quotations of one kind may stand in one another."""
    open_: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for match in _DOUBLE.finditer(text):
        at, mark = match.start(), match.group()
        family = _FAMILY[mark]
        stack = open_[family]
        if stack and _closes_double(text, at, mark, stack[-1][1]):
            start, _ = stack.pop()
            if not stack:
                yield Quotation(start, at + 1)
        elif _opens_double(text, at, mark, bool(stack)):
            stack.append((at, mark))
    yield from (Quotation(stack[0][0], len(text), closed=False) for stack in open_.values() if stack)


def _closes_double(text: str, at: int, mark: str, opened: str) -> bool:
    """Whether the mark closes the quotation that stands open."""
    if mark == '"':
        return not _is_space(text, at - 1) or _is_space(text, at + 1)
    if mark in _OPENS:
        # „Text“ and »Text«: the mark that opens elsewhere closes here.
        return opened == "„" or (opened not in _OPENS and opened != '"')
    return True


def _opens_double(text: str, at: int, mark: str, nested: bool) -> bool:
    if mark in _OPENS:
        return True
    if nested:
        return _is_space(text, at - 1) or text[at - 1] in "([{"
    if _is_word(text, at - 1):
        return False
    return not _is_space(text, at + 1) or (mark == '"' and text.find(mark, at + 1) > 0)


def _find_single(text: str, paragraphs: _Paragraphs) -> Iterator[Quotation]:
    """Those in marks that are apostrophes, too."""
    written = len(text.rstrip())
    start: int | None = None
    sure = doubted = -1
    tentative = False
    for match in _SINGLE.finditer(text):
        at, mark = match.start(), match.group()
        if _opens_single(text, at, mark, start is not None and sure < 0):
            if start is not None:
                yield from _end_single(start, sure, doubted, None if tentative else paragraphs, written)
            start, sure, doubted = at, -1, -1
            tentative = mark in "'’" and _ELIDED.match(text, at + 1) is not None
        elif start is not None and not _is_space(text, at - 1) and not _is_apostrophe(text, at):
            # A later mark that can't be a possessive's shows that the quotation goes on as far as that.
            if sure >= 0 and paragraphs.end_of(sure) < at:
                continue
            if not _may_be_possessive(text, at):
                sure = at
            elif sure < 0 and not _POSSESSIVE.search(text[max(start + 2, at - LONGEST_WORD) : at]):
                doubted = at
    if start is not None:
        yield from _end_single(start, sure, doubted, None if tentative else paragraphs, written)


def _end_single(
    start: int, sure: int, doubted: int, paragraphs: _Paragraphs | None, written: int
) -> Iterator[Quotation]:
    end = sure if sure >= 0 else doubted
    if end >= 0:
        yield Quotation(start, end + 1)
    elif paragraphs is not None:
        end = paragraphs.end_of(start)
        yield Quotation(start, end, closed=end < written)


def _opens_single(text: str, at: int, mark: str, open_: bool) -> bool:
    if _is_space(text, at + 1):
        return False
    if mark in "‘‚‛":
        return True
    if open_:
        return _is_space(text, at - 1) or text[at - 1] in "([{"
    return not _is_word(text, at - 1)


def _is_apostrophe(text: str, at: int) -> bool:
    """Whether the mark stands inside a word: don't, l'heure, O'Brien."""
    if not (_is_word(text, at - 1) and _is_word(text, at + 1)) or _UNSPACED.match(text, at + 1):
        return False
    behind = _LETTERS.match(text, at + 1)
    if behind is not None and behind.group().lower() in _SUFFIXES:
        return True
    before = at - 1
    while before > 0 and at - before < 8 and text[before - 1].isalpha():
        before -= 1
    word = text[before:at].lower()
    return len(word) == 1 or word in _PREFIXES


def _may_be_possessive(text: str, at: int) -> bool:
    """Whether it may be the end of a word and no quotation's: the users' folder, singin' along; 6' tall."""
    last, more = text[at - 1], text[at + 1 : at + 3]
    goes_on = len(more) == 2 and more[0] == " " and more[1].isalnum()
    return goes_on and (last in "sSxz" or last.isdigit() or text[at - 2 : at] == "in")


def _find_backticks(text: str, paragraphs: _Paragraphs) -> Iterator[Quotation]:
    runs = [match.span() for match in _BACKTICKS.finditer(text)]
    by_length: dict[int, list[int]] = defaultdict(list)
    for number, (start, end) in enumerate(runs):
        by_length[end - start].append(number)
    at = 0
    while at < len(runs):
        start, end = runs[at]
        same = by_length[end - start]
        later = bisect_right(same, at)
        if later < len(same):
            at = same[later]
            yield Quotation(start, runs[at][1])
        else:
            stop = len(text) if end - start >= 3 else paragraphs.end_of(start)
            yield Quotation(start, stop, closed=stop < len(text.rstrip()))
        at += 1


class _Paragraphs:
    """The ends of a text's paragraphs: its blank lines, and its own end."""

    def __init__(self, text: str) -> None:
        self._ends = [match.start() for match in _BLANK_LINE.finditer(text)] + [len(text)]

    def end_of(self, at: int) -> int:
        return self._ends[min(bisect_left(self._ends, at), len(self._ends) - 1)]


def _is_space(text: str, at: int) -> bool:
    """Whether white space stands there, or nothing."""
    return at < 0 or at >= len(text) or text[at].isspace()


def _is_word(text: str, at: int) -> bool:
    """Whether a letter or digit stands there, of a script that sets spaces."""
    return 0 <= at < len(text) and text[at].isalnum() and not _UNSPACED.match(text, at)


_LEADS_ABROAD = re.compile(
    r"""\b(?:
        (?:schreib|schick|sag|notier|antwort|erinner|nachricht|notiz|betreff|poste|text
          |meld|erfass|vermerk|protokollier|dokumentier|trag(?=e?\b)|eröffne
          |registr|report[ae]|abre|consigne|signale|déclare|enregistre
          |mensaje|nota|escrib|escríb|dile|diles|decirle|manda|mánda|env[ií]a|publica|apunta|anota|recordatorio
          |recuérda|responde|asunto|texto|correo
          |message|écri|envoie|envoye|dis|dites|publie|répond|rappel|objet|texte)[\w'’-]*
        (?:[ ]+[\w'’@.-]+){0,6}?[ ]?:(?=\s)
      | (?:diciendo|que[ ]dig[ae]|con[ ]el[ ]texto|disant|qui[ ]dit|avec[ ]le[ ]texte|mit[ ]dem[ ]text)(?=\s)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
"""The same in German, Spanish and French."""

_ABROAD = (Language.DE, Language.ES, Language.FR)
_SAID_ABROAD = ("diciendo", "que dig", " texto ", "disant", "qui dit", " texte ", "dem text")

_QUOTED = re.compile(r"""[\s,]*(?:$|[\"'“‘„«‹「『`])""")
"""What follows where it is a quotation, or nothing."""

_REPORTED = re.compile(
    r"\s*(?:about|far|how|it|much|of|so|soon|that|this|well|what|why)\b(?!['’]\w)", re.IGNORECASE
)
"""What follows `saying` where the words aren't given."""

_TOLD = re.compile(
    r"""[\s,.;!?)]*
    (?:a|about|above|after|again|all|along|also|an|and|any|are|as|at|back|because|before|below|by
      |called|can|could|does|each|entitled|follows|for|from|has|have|he|her|here|his|how|i|if|in|inside
      |into|is|it|its|later|like|me|my|named|no|not|now|of|on|once|one|onto|or|our|out|please|possible
      |quickly|right|she|should|so|some|soon|that|the|their|them|then|there|these|they|this|those
      |through|titled|to|today|under|until|us|usual|via|was|we|well|were|what|when|where|whether|which
      |who|why|will|with|would|yet|you|your|[a-z]+ing)\b(?!['’]\w)""",
    re.IGNORECASE | re.VERBOSE,
)
"""What follows `send a message` and its like where the words aren't given."""

_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)\]]*(?=\s)|(?<=[。！？])|\n")


def _find_sentence_end(text: str, at: int) -> int:
    """Where the sentence ends that goes on at `at`."""
    for match in _SENTENCE_END.finditer(text, at):
        end = match.start()
        behind = end + 1 if match.end() == end and text[end : end + 1].isspace() else -1
        if behind < 0 or text[end - 1] != "." or ends_sentence(text, end - 1, behind):
            return end
    return len(text)


def _end_of(match: re.Match[str]) -> int:
    return match.end()


def find_passed_on(text: str) -> Iterator[Quotation]:
    """What stands without quotation marks and is to be passed on word for word: behind a colon to the end of
    the paragraph, else to the end of the sentence."""
    if (": " in text or mentions(text, _SAID_ABROAD)) and detect_language(text) in _ABROAD:
        yield from _find_passed_on_abroad(text)
    paragraphs, written, end = None, len(text.rstrip()), -1
    recorded = [*find_recorded(text)]
    for match in sorted([*find_leads(text), *recorded], key=_end_of) if recorded else find_leads(text):
        at = match.end()
        if at < end or _QUOTED.match(text, at):
            continue
        if match.re is RECORDED or match["list"]:
            paragraphs = paragraphs or _Paragraphs(text)
            end = paragraphs.end_of(at)
        elif text[at].isspace() and not (_REPORTED if match["speech"] else _TOLD).match(text, at):
            end = _find_sentence_end(text, at + 1)
        else:
            continue
        body = text[at:end].strip()
        if body:
            start = text.index(body, at)
            yield Quotation(start, start + len(body), closed=start + len(body) < written)


def _find_passed_on_abroad(text: str) -> Iterator[Quotation]:
    paragraphs, written, end = _Paragraphs(text), len(text.rstrip()), -1
    for match in _LEADS_ABROAD.finditer(text):
        at = match.end()
        if at < end or _QUOTED.match(text, at):
            continue
        end = paragraphs.end_of(at)
        if match[0][-1] != ":":
            end = min(end, _find_sentence_end(text, at + 1))
        if body := text[at:end].strip():
            start = text.index(body, at)
            yield Quotation(start, start + len(body), closed=start + len(body) < written)


_CONTAINER = (
    r"(?:folders?|director(?:y|ies)|sub-?folders?|sub-?director(?:y|ies)|files?|documents?|branch|repository"
    r"|repo|playlist|channel|bucket|database|workspace)"
)
_NO_NAME = frozenset(
    """
    a about all an and another any are as at be both by copy correct create current current's delete
    different each either empty entire every exact existing few first following for four from had has have
    her hidden his i if important in into is it its large last latest list main many me more most move my
    new next no of old on one only open or original other our out own particular previous related relevant
    remove rename same second separate several she show single small some specific such that the their them
    then there these they this those three to two up us various was we what where whether which whole with
    wrong you your
    """.split()
)
"""Words beside such a noun that name nothing."""

_BESIDE = rf"(?<![\w'’.-])([^\W\d_][\w-]*)(?= {_CONTAINER}\b)"
_CALLED = r"\b(?:named|called|titled|entitled|labell?ed)\ +([^\W\d_][\w-]*(?:\ [^\W\d_][\w-]*){0,2})"
_NAMES = re.compile(_BESIDE, re.IGNORECASE), re.compile(_CALLED, re.IGNORECASE)
_NAMES_IN_LOWER_CASE = re.compile(_BESIDE, re.ASCII), re.compile(_CALLED, re.ASCII)

_NAME_STEMS = tuple(
    """
    folder director file document branch repo playlist channel bucket database workspace named called titled
    label
    """.split()
)
"""One of these is in every match of the two."""
_NAMES_ONE = WordKind(lambda word: any(stem in word for stem in _NAME_STEMS))


def find_plain_names(text: str) -> Iterator[tuple[int, int]]:
    """Words that are names by the words beside them: `the communal folder`, `a playlist called sunday`."""
    ascii_only = text.isascii()
    if not (_NAMES_ONE.may_stand_in(text) if ascii_only else mentions(text, _NAME_STEMS)):
        return
    beside, called = _NAMES
    if ascii_only:
        (beside, called), text = _NAMES_IN_LOWER_CASE, text.lower()
    for match in beside.finditer(text):
        if match[1].lower() not in _NO_NAME:
            yield match.span(1)
    for match in called.finditer(text):
        end = start = match.start(1)
        for word in match[1].split(" "):
            if word.lower() in _NO_NAME:
                break
            end += len(word) + (end > start)
        if end > start:
            yield start, end


def find_literals(text: str) -> tuple[Quotation, ...]:
    """Quotations, and what is to be passed on word for word without any marks, in order."""
    return _short_literals(text) if len(text) <= REMEMBERED else _find_literals(text)


def _find_literals(text: str) -> tuple[Quotation, ...]:
    return tuple(sorted([*find_quotations(text), *find_passed_on(text)]))


_short_literals = lru_cache(256)(_find_literals)
"""Cached: every rule that may act on a text asks for them, and the guard after each rule."""


def find_open_end(text: str) -> str | None:
    """What is to be passed on and ends only with the text itself, so that nothing may be added behind it."""
    found = [one.start for one in find_literals(text) if not one.closed]
    return text[min(found) :].rstrip() if found else None
