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
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import msgspec

from crosswind.injectors.conversation import ToolList
from crosswind.injectors.operators.user.requests.verbs import AMBIGUOUS, BEHIND_VERB, SURE
from crosswind.injectors.operators.user.typos.named_words import NamedWords, read_named_words
from crosswind.injectors.operators.user.typos.word_lists import read_words
from crosswind.injectors.text.caseless import CaselessPattern
from crosswind.injectors.text.edits import touches
from crosswind.injectors.text.entities import MEANING_WORDS, Span
from crosswind.injectors.text.languages import Language
from crosswind.injectors.text.sentences import split_sentences
from crosswind.injectors.text.tokens import TokenProperty, Tokens, read_tokens
from crosswind.injectors.values.mentions import find_values

SHORTEST = 3
"""Shorter words are left alone: one wrong letter changes too much of them."""
SHORTEST_OF_ANY = 4
"""The same where no tool is declared, so that any word may be mistyped."""

LISTED = frozenset({Language.EN, Language.DE, Language.ES, Language.FR, Language.AR})
"""Languages with a list of words that put requests."""

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_EDGES = '.,;:!?()"“”«»…،؛؟¿¡'
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


LEAST_CLAUSE = 3
"""Words of the shortest run between two other words that is taken for a clause of the user's own."""
_SPEAKERS = frozenset(
    {"i'd", "i'll", "i'm", "i've", "please", "need", "want", "could", "would", "can", "thanks"}
)
LATEST_VERB = 5
"""The latest place of a request's verb in its sentence, behind plain words only."""
_GREETING = re.compile(
    r"\W*(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|hallo|guten|hola|buen[oa]s|bonjour|salut"
    r"|مرحب)",
    re.IGNORECASE,
)
_LISTING = re.compile(r":[ \t]*\n")
_BULLET = re.compile(r"\s*(?:[-*•>#|]|\d{1,3}[.)])\s")
_COLON = re.compile(r":(?!\d)")
_COMMANDS = frozenset().union(*(read_words(f"commands.{one}") for one in ("de", "es", "fr", "ar")))
_ALL_VERBS = SURE | AMBIGUOUS | _COMMANDS
_VERBS = "|".join(sorted(_ALL_VERBS))
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


class PlainWord(NamedTuple):
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
    return tuple(_find_listed(text, language, _Kept(taken, read_named_words(tools))))


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


class _Kept(NamedTuple):
    """What is no plain word."""

    taken: bytearray
    """1 for each character of the text that is protected, or a value's."""
    tools: NamedWords


def _find_listed(text: str, language: Language, kept: _Kept) -> Iterator[PlainWord]:
    joining = read_words(f"connectives.{language.value}")
    sentences = [
        (start, end, _read_sentence(tokens, language, kept))
        for start, end, tokens in _tokenize(text, _select_sentences(text, kept))
    ]
    if _GREETING.match(text) and not any(_asks(one) for _, _, words in sentences for one in words):
        return  # Small talk may be a value as a whole.
    for start, end, words in sentences:
        _mark_verbs(words, language, kept)
        ends = _cut_at_text(text, start, end, kept)
        for left, run, right in _find_runs(words):
            if not _is_frame(left, run, right, kept) or _joins_title(text, left, run, right, joining):
                continue
            inner = _strip(run, joining, before=_is_apart(left, right), behind=_is_apart(right, left))
            places = [
                (one.start, one.end) for one in inner if one.end <= ends and one.end - one.start >= SHORTEST
            ]
            for (first, last), (following, _) in pairwise((*places, _NOWHERE)):
                yield PlainWord(first, last, following == last + 1 and text[last] == " ")


def _tokenize(text: str, sentences: Iterator[Span]) -> Iterator[tuple[int, int, Tokens]]:
    """The sentences with their tokens, as they stand in the text."""
    # In ASCII white space ends each sentence, so the tokens of the whole text are read once for all of them.
    whole = read_tokens(text) if text.isascii() else None
    for start, end in sentences:
        yield start, end, whole.between(start, end) if whole else read_tokens(text[start:end]).shift(start)


_NOWHERE = (-1, -1)


def _select_sentences(text: str, kept: _Kept) -> Iterator[Span]:
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


def _is_apart(side: _Token | None, other: _Token | None) -> bool:
    """Whether no value goes on from the word on this side of a run into it: there is no word, or it is a
    tool's, or a whole value, and a tool's word on the other side."""
    return side is None or side.named or (side.kept and other is not None and other.named)


def _is_frame(left: _Token | None, run: _Run, right: _Token | None, kept: _Kept) -> bool:
    """Whether plain words put the request, and stand in no value."""
    if left is None or (len(run) >= LEAST_CLAUSE and not _SPEAKERS.isdisjoint([one.word for one in run])):
        return True
    ends = right is None or right.named
    return left.named and ends if kept.tools.takes_text else left.named or ends


def _asks(one: _Token) -> bool:
    """Whether the word is of a request: of what is asked for, or of the asking."""
    return one.named or one.word in _SPEAKERS or one.word in _ALL_VERBS


def _joins_title(
    text: str, left: _Token | None, run: _Run, right: _Token | None, joining: frozenset[str]
) -> bool:
    """Whether a run joins words with capitals: `Two Towers and the King` may be one value."""
    if left is None or right is None or not (text[left.start].isupper() and text[right.start].isupper()):
        return False
    return all(one.word in joining for one in run)


def _mark_verbs(words: list[_Token], language: Language, kept: _Kept) -> None:
    """Make those verbs of a request plain that no tool is named after."""
    if kept.tools.takes_action:
        return
    verbs = SURE if language is Language.EN else read_words(f"commands.{language.value}")
    for at, one in enumerate(words[:LATEST_VERB]):
        if one.plain:
            continue
        following = words[at + 1].word if at + 1 < len(words) else ""
        verb = one.word in verbs or (one.word in AMBIGUOUS and following in BEHIND_VERB)
        if not verb or one.named or one.kept:
            return
        words[at] = msgspec.structs.replace(one, plain=True)


class _Token(msgspec.Struct, frozen=True, gc=False):
    start: int
    end: int
    word: str
    plain: bool
    named: bool
    """Whether it is a word of a tool's or parameter's name, or a number: no value goes on across it."""
    kept: bool
    """Whether it is protected, or a value."""


_Run = list[_Token]


def _read_sentence(tokens: Tokens, language: Language, kept: _Kept) -> list[_Token]:
    find, names, described = kept.taken.find, kept.tools.names, kept.tools.described
    words: list[_Token] = []
    for begin, judged in zip(tokens.starts, _JUDGED[language].of(tokens), strict=True):
        before, length, word, listed, decimal, protected, spoken = judged
        if length:
            at = begin + before
            named = word in names
            if not protected and ((not spoken and word in described) or find(1, at, at + length) >= 0):
                protected = True
            plain = listed and not named and not protected
            words.append(_Token(at, at + length, word, plain, named or decimal, protected))
    return words


class _Judged(NamedTuple):
    """A token without the punctuation around it, wherever it stands and whatever tools there are."""

    before: int
    length: int
    word: str
    listed: bool
    """Whether it is a word that puts requests."""
    decimal: bool
    protected: bool
    spoken: bool
    """Whether it is one that no description protects."""


def _judge(token: str, language: Language) -> _Judged:
    joining = read_words(f"connectives.{language.value}")
    plain = read_words(f"plain.{language.value}")
    bare = token.strip(_EDGES)
    word = bare.lower().replace("’", "'")
    return _Judged(
        token.index(bare),
        len(bare),
        word,
        all(part in joining or part in plain for part in word.split("-")),
        word.isdecimal(),
        word in MEANING_WORDS or _is_shouted(bare),
        word in _SPEAKERS or word in joining,
    )


_JUDGED = {language: TokenProperty(partial(_judge, language=language)) for language in LISTED}


def _is_shouted(word: str) -> bool:
    return len(word) > 1 and word.isupper()


def _find_runs(words: Sequence[_Token]) -> Iterator[tuple[_Token | None, _Run, _Token | None]]:
    """The runs of plain words, each with the other words beside it."""
    left, run = None, list[_Token]()
    for one in words:
        if one.plain:
            run.append(one)
            continue
        if run:
            yield left, run, one
            run = []
        left = one
    if run:
        yield left, run, None


def _strip(run: _Run, joining: frozenset[str], *, before: bool, behind: bool) -> _Run:
    """The run without the words that may belong to a value before or behind it. `before`, `behind`: there is
    none."""
    begin, end = 0, len(run)
    while not behind and end > begin and run[end - 1].word in joining:
        end -= 1
    while not before and begin < end and run[begin].word in joining:
        begin += 1
    return run[begin:end]


def _cut_at_text(text: str, start: int, end: int, kept: _Kept) -> int:
    """Where in the sentence a text may begin that a call needs as it is; its end, if nowhere."""
    if kept.tools.takes_question and _ASKS.match(text, start, end):
        return start
    if (colon := text.find(":", start, end)) >= 0 and not kept.tools.takes_text:
        end = colon
    found = _BEFORE_TEXT.search(text, start, end) if kept.tools.takes_text else None
    return found.end() if found else end
