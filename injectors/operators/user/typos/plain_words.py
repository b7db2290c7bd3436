"""Find the words of a message that no call can need: a slip in one of them costs nobody a value.

What fills a parameter can be any word of a language (`docker start`, `uber pitada`). So where tools are
declared, a word may be mistyped only if it is on a list of words that put requests, is no word of a tool's or
parameter's name, touches nothing protected and no mention of a value, and stands where no value stands:

- not between two other words that it may join to a value (`lord of the rings`),
- not behind words that a text follows (`saying`, `search for`, a colon),
- where a tool takes a text as it is (a query, a message), only before the first other word of its sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from crosswind.injectors.conversation import ToolList
from crosswind.injectors.operators.user.typos.named_words import NamedWords, read_named_words
from crosswind.injectors.operators.user.typos.sentence_words import (
    LISTED,
    VERBS,
    Kept,
    Run,
    SentenceWords,
)
from crosswind.injectors.operators.user.typos.word_lists import read_words
from crosswind.injectors.text.caseless import CaselessPattern
from crosswind.injectors.text.edits import touches
from crosswind.injectors.text.entities import MEANING_WORDS, Span
from crosswind.injectors.text.languages import Language
from crosswind.injectors.text.sentences import split_sentences
from crosswind.injectors.values.mentions import find_values

SHORTEST = 3
"""Shorter words are left alone: one wrong letter changes too much of them."""
SHORTEST_OF_ANY = 4
"""The same where no tool is declared, so that any word may be mistyped."""

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_BEFORE_TEXT = CaselessPattern(
    r"""\b(?:about|answer(?:ing)?|ask(?:ing)?\ (?!me\b|us\b)|browse|called|caption|comment(?:ing)?|echo
    |entitled|explain(?:ing)?
      |for|google|inform(?:ing)?|keywords?|labell?ed|let\ (?!me\b|us\b)(?:[\w.’\'-]+\ ){1,3}know|listen
      |look(?:ing)?\ (?:up|for)|message
      |mention(?:ing)?|named?|note|notif(?:y|ying)|play(?:ing)?|post|prompt|quer(?:y|ies)|question|reads?
      |reason|regarding
      |remind|repl(?:y|ies|ying)|respond|run|say(?:ing|s)?|search(?:ing)?|stat(?:e|ing)|subject
      |tell\ (?!me\b|us\b)|text(?:ing)?|that
      |titled?|to\ do|todo|topic|translat(?:e|ing|ion)|tweet|type|using|watch|whether|with|writ(?:e|ing))\b"""
    r"""|(?<=\ )(?:wo|was|wie|wann|warum|dass|ob|über|nach|wegen|dónde|qué|cómo|cuándo|que|sobre|où|quand
    |quel(?:le)?s?
      |comment|pourquoi|ce\ qu[ei'’]|sur|أين|كيف|متى|ما|عن|أن|ماذا|لماذا)\b"""
    r"""|[:=>]|[-–—]\ """,
    re.VERBOSE,
)
"""Words behind which a text may stand that a call needs as it is."""
_ASKS = CaselessPattern(
    r"(?:so |and |ok,? |hey,? )?[¿]?(?:what (?!is|are|was|were|would|do|does)|how|why|when|where|which|wo"
    r"|was|wie"
    r"|wann|warum|wer"
    r"|welche[rsnm]?|gibt es|dónde|qué|cómo|cuándo|cuáles?|cuánt[oa]s?|hay|où|quand|comment|pourquoi"
    r"|quel(?:le)?s?|qui"
    r"|que|est-ce|combien|أين|كيف|متى|ما|ماذا|لماذا|كم)\b"
)


_GREETING = re.compile(
    r"\W*(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|hallo|guten|hola|buen[oa]s|bonjour|salut"
    r"|مرحب)",
    re.IGNORECASE,
)
_LISTING = re.compile(r":[ \t]*\n")
_BULLET = re.compile(r"\s*(?:[-*•>#|]|\d{1,3}[.)])\s")
_COLON = re.compile(r":(?!\d)")
_VERBS = "|".join(sorted(VERBS))
_REQUESTS = CaselessPattern(
    rf"""\W*(?:(?:hi|hello|hey|ok(?:ay)?|so|and|then|now|also|well|please|kindly|thanks?|thank\ you|great
    |next|first
      |finally|additionally)\b[\s,!.]*)*
    (?:{_VERBS}|can|could|would|will|may|is|are|do|does|did|have|has|what|what['’]s|who|how|where|when
    |which|why|i|i['’]?[dm]
      |i['’]ve|we|we['’]\w+|please|thanks?|hi|hello|hey|let['’]s|let|my|it|there|bitte|kannst|könn\w+|ich
      |wir|würd\w+|zeig\w*
      |hallo|danke|hola|buen\w+|puede\w*|podr\w+|quier\w+|quisiera|necesito|me|gracias|bonjour|salut|je
      |j['’]\w+|peux|pouvez
      |pourr\w+|est-ce|merci|tu|vous|nous|هل|أ\w+|ا\w+|ممكن|مرحب\w+|من|لو|شكر\w+)\b""",
    re.VERBOSE,
)
"""How a sentence begins that asks, wants, greets or thanks."""
_PLEA = CaselessPattern(
    r"\b(?:(?:could|can|would|will)\ (?:you|i|we)|i['’]d\ (?:like|love|appreciate)|i\ (?:would|need|want"
    r"|wish|am|was)|i['’]m|we\ need|please|kindly|let['’]s|let\ me|bitte|(?:kannst|könntest)\ du"
    r"|können\ sie|ich\ (?:möchte|brauche)|por\ favor|puedes|podrías|necesito|quiero|s['’]il"
    r"|pouvez-vous|peux-tu|je\ (?:voudrais|veux)|من\ فضلك|أريد|هل\ يمكنك)\b",
    re.VERBOSE,
)
"""Words by which a sentence asks or wants, wherever they stand in it."""


class PlainWord(msgspec.Struct, frozen=True, gc=False):
    start: int
    end: int
    joins: bool = False
    """Whether one space and another plain word follow."""


def find_plain_words(
    text: str, tools: ToolList, language: Language | None, protected: Sequence[Span]
) -> tuple[PlainWord, ...] | None:
    """The words that may be mistyped, in order. None: tools are declared, and there is no list of the
    language's words."""
    if not tools:
        return tuple(_find_any(text, protected))
    if language not in LISTED:
        return None
    taken = bytearray(len(text))
    for start, end in (*protected, *find_values(text, tools)):
        taken[start:end] = b"\1" * (end - start)
    return tuple(_find_listed(text, language, Kept(taken, read_named_words(tools))))


def _find_any(text: str, protected: Sequence[Span]) -> Iterator[PlainWord]:
    for match in _WORD.finditer(text):
        word, (start, end) = match[0], match.span()
        lone = not _is_bound(text[start - 1 : start] if start else "", text[end : end + 1])
        cased = all(letter.lower() != letter.upper() or letter in "'’" for letter in word)
        arabic = all("\u0621" <= letter <= "\u064a" for letter in word)
        long = end - start >= SHORTEST_OF_ANY and (cased or arabic)
        if long and lone and word.lower() not in MEANING_WORDS and not touches(protected, start, end):
            yield PlainWord(start, end)


def _is_bound(before: str, behind: str) -> bool:
    """Whether what stands beside a word makes it a part of something longer."""
    beside = before + behind
    return any(letter.isalnum() or ord(letter) > 0x2FF or letter in "_'’@#&-/\\=" for letter in beside)


def _find_listed(text: str, language: Language, kept: Kept) -> Iterator[PlainWord]:
    joining = read_words(f"connectives.{language}")
    sentences = [*_select_sentences(text, kept)]
    if not sentences:
        return
    words = SentenceWords(text, sentences, language, kept)
    if _GREETING.match(text) and not words.asks():
        return  # Small talk may be a value as a whole.
    for (start, end), sentence in zip(sentences, words.ranges, strict=True):
        words.mark_verbs(sentence)
        ends = _cut_at_text(text, start, end, kept)
        for run in words.find_frames(sentence):
            if _joins_title(text, words, run, joining):
                continue
            spans = map(words.span, _strip(words, run, joining))
            places = [one for one in spans if one[1] <= ends and one[1] - one[0] >= SHORTEST]
            for (first, last), (following, _) in pairwise((*places, _NOWHERE)):
                yield PlainWord(first, last, following == last + 1 and text[last] == " ")


_NOWHERE = (-1, -1)


def _select_sentences(text: str, kept: Kept) -> Iterator[Span]:
    """The sentences that may put a request. Not those of a list; where a tool takes a text, none that tells
    something, and none behind a colon at the end of a line."""
    if kept.tools.takes_message:
        return
    listing = _LISTING.search(text)
    rest = listing.start() if listing else len(text)
    for start, end in split_sentences(text[:rest]):
        if _BULLET.match(text, start, end + 1):  # No farther: there may be many blank lines.
            continue
        if not kept.tools.takes_text or _REQUESTS.match(text, start, end) or _PLEA.search(text, start, end):
            yield start, end
        if kept.tools.takes_text and _COLON.search(text, start, end):
            return


def asks_alone(text: str, named: NamedWords) -> bool:
    """Whether the text's last sentence asks for something, and no words of it are handed on."""
    *_, (start, end) = split_sentences(text)
    asks = _REQUESTS.match(text, start, end) or _PLEA.search(text, start, end)
    handed_on = _BEFORE_TEXT.search(text) or _COLON.search(text) or _LISTING.search(text)
    return asks is not None and not handed_on and not (named.takes_question and _ASKS.match(text, start, end))


def _joins_title(text: str, words: SentenceWords, run: Run, joining: frozenset[str]) -> bool:
    """Whether a run joins words with capitals: `Two Towers and the King` may be one value."""
    if run.left is None or run.right is None:
        return False
    before, behind = words.span(run.start - 1), words.span(run.stop)
    if not (text[before[0]].isupper() and text[behind[0]].isupper()):
        return False
    return joining.issuperset(map(words.word, range(run.start, run.stop)))


def _strip(words: SentenceWords, run: Run, joining: frozenset[str]) -> range:
    """The run without the words that may belong to a value before or behind it. No value goes on into it from
    a word that is named, nor from a whole value where a named word stands on the other side."""
    begin, end = run.start, run.stop
    if run.right is False and not (run.left and words.is_kept(end)):
        while end > begin and words.word(end - 1) in joining:
            end -= 1
    if run.left is False and not (run.right and words.is_kept(begin - 1)):
        while begin < end and words.word(begin) in joining:
            begin += 1
    return range(begin, end)


def _cut_at_text(text: str, start: int, end: int, kept: Kept) -> int:
    """Where in the sentence a text may begin that a call needs as it is; its end, if nowhere."""
    if kept.tools.takes_question and _ASKS.match(text, start, end):
        return start
    if (colon := text.find(":", start, end)) >= 0 and not kept.tools.takes_text:
        end = colon
    found = _BEFORE_TEXT.search(text, start, end) if kept.tools.takes_text else None
    return found.end() if found else end
