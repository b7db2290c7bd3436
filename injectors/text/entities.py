"""Entities: the spans of a text that the task may depend on, and that user noise must not change.

Protected are ids, numbers, dates and amounts in every script's digits, e-mail addresses, URLs, quotations
of any length, code, what is to be passed on word for word, proper nouns, words that stand beside `folder`,
`file` or `called`, technical terms (snake_case, camelCase, acronyms, paths), the names and enumerated values
of the declared tools, and the small words that decide what a request means (negations, number words, days
and months).

Every scan is linear in the text: tokens are found by one plain character class, and judged one at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, overload

import msgspec

from crosswind.injectors.conversation import ToolList, ToolSchema
from crosswind.injectors.text.commands import find_commands
from crosswind.injectors.text.opening_words import OPENERS
from crosswind.injectors.text.quotations import REMEMBERED, find_literals, find_plain_names
from crosswind.injectors.text.sentences import LONGEST_PIECE, REMEMBERED_PIECES, cut
from crosswind.injectors.text.tokens import TokenProperty, read_tokens

Span = tuple[int, int]

LONGEST_TOKEN = 64
"""Characters of the longest token that is cached."""

UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uff00-\uff0f"
"""Scripts written without spaces: each of their characters is a token of its own."""

_UNSPACED_LETTER = re.compile(rf"[{UNSPACED}]")
_TOKEN = re.compile(rf"[^\s{UNSPACED}]+|[{UNSPACED}]")
_EDGES = ".,;:!?¿¡()[]{}<>\"'“”‘’«»„…،؛؟。、！，：；？（）「」"
_LETTERS = re.compile(r"[^\W\d_]+")
_TECHNICAL = re.compile(r"_|@|://|\\|\w/\w|\w\.\w|^[#$€£¥₹@]|[^\W\d_A-Z][A-Z]|^www\.", re.ASCII)

_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e)\b")
_OPENING = re.compile(r"(?:^|(?<=[.!?]\s)|(?<=\n)|(?<=escription: ))\w(?![A-Z])")

LOGIC_WORDS = frozenset(
    """
    no not never none nothing neither nor without except unless only but instead don't doesn't didn't
    won't can't cannot isn't wasn't aren't all any both each every more less least most before after until
    since
    """.split()
)
"""Words that deny or limit what a request says. No value consists of one."""

MEANING_WORDS = LOGIC_WORDS | frozenset(
    """
    zero one two three four five six seven eight nine ten eleven
    twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty
    seventy eighty ninety hundred thousand million billion dozen half third quarter double twice once
    first second fourth fifth last next monday tuesday wednesday thursday friday saturday sunday today
    tomorrow yesterday tonight noon midnight january february march april may june july august september
    october november december
    """.split()
)
"""Small words that decide what a request means: never changed, and never the result of a typo."""

_CAPITALISED = frozenset(
    {"i", "i'm", "i'd", "i'll", "i've", "sie", "ihnen", "ihre", "ihrem", "ihren", "ihrer"}
)
"""Pronouns that have a capital anywhere."""


def find_protected_spans(
    text: str, tools: Iterable[ToolSchema] = (), clean: str | None = None
) -> tuple[Span, ...]:
    """The spans [start, end) of the entities, in order, without overlaps. The names that `tools` declare are
    entities, too. `clean` is the text before other noise: what is a quotation there still is one here."""
    spans = _find_spans(text, _read_vocabulary(tools))
    if clean is None or clean is text:
        return spans
    kept = [span for span in _find_again(clean, text) if not _covered(span, spans)]
    return tuple(_merge([*spans, *kept])) if kept else spans


class ProtectedSpans(Sequence[Span]):
    """What `find_protected_spans` finds, found when it is asked for first: most noise looks at none."""

    __slots__ = ("_clean", "_found", "_text", "_tools")

    def __init__(self, text: str, tools: Iterable[ToolSchema], clean: str) -> None:
        self._text, self._tools, self._clean = text, tools, clean
        self._found: tuple[Span, ...] | None = None

    def _find(self) -> tuple[Span, ...]:
        if self._found is None:
            self._found = find_protected_spans(self._text, self._tools, self._clean)
        return self._found

    def __iter__(self) -> Iterator[Span]:
        return iter(self._find())

    def __len__(self) -> int:
        return len(self._find())

    @overload
    def __getitem__(self, at: int) -> Span: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Span, ...]: ...
    def __getitem__(self, at: int | slice) -> Any:
        return self._find()[at]

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._find(),)


def _find_spans(text: str, vocabulary: frozenset[str]) -> tuple[Span, ...]:
    return _short_spans(text, vocabulary) if len(text) <= REMEMBERED else _spans(text, vocabulary)


def _find_again(clean: str, text: str) -> Iterator[Span]:
    """Where the literals of the clean text stand in the noisy one."""
    at = 0
    for one in find_literals(clean):
        literal = clean[one.start : one.end]
        found = text.find(literal, at)
        if found >= 0:
            yield found, found + len(literal)
            at = found + 1


def _covered(span: Span, spans: tuple[Span, ...]) -> bool:
    return any(start <= span[0] and span[1] <= end for start, end in spans)


def _spans(text: str, vocabulary: frozenset[str]) -> tuple[Span, ...]:
    spans = [(one.start, one.end) for one in find_literals(text)]
    spans += find_plain_names(text)
    spans += find_commands(text)
    if text.isascii():
        tokens = read_tokens(text)
        spans += _judge_tokens(text, tokens.starts, _JUDGED.of(tokens), vocabulary)
        return tuple(_merge(spans))
    at = 0
    for piece in cut(text):
        # A sentence begins behind each cut, so that the words before it don't matter.
        judge = _judged_piece if len(piece) <= LONGEST_PIECE else _judge_piece
        spans += [(start + at, end + at) for start, end in judge(piece, vocabulary)]
        at += len(piece) + 1
    return tuple(_merge(spans))


def _judge_piece(text: str, vocabulary: frozenset[str]) -> tuple[Span, ...]:
    """The entities that are tokens, of a text in any script that begins with a sentence."""
    found = list(_TOKEN.finditer(text))
    judged = _JUDGED.of_each([match[0] for match in found])
    return tuple(_judge_tokens(text, [match.start() for match in found], judged, vocabulary))


_judged_piece = lru_cache(REMEMBERED_PIECES)(_judge_piece)


def _judge_tokens(
    text: str, starts: list[int], judged: list[_Judged], vocabulary: frozenset[str]
) -> list[Span]:
    """The entities among the tokens of a text that begins with a sentence."""
    spans: list[Span] = []
    for number in [at for at, one in enumerate(judged) if one.is_one or one.lowered in vocabulary]:
        one, begin = judged[number], starts[number] + judged[number].before
        if one.begins_as_one or one.lowered in vocabulary or not _begins(text, number, starts, judged):
            spans.append((begin, begin + one.length))
    return spans


def _begins(text: str, number: int, starts: list[int], judged: list[_Judged]) -> bool:
    """Whether a token begins a sentence: only punctuation stands between it and the end of another."""
    while number:
        number -= 1
        one, end = judged[number], starts[number] + judged[number].size
        if one.ends_sentence or "\n" in text[end : end + 2]:
            return True
        if one.length:
            return False
    return True


class _Judged(msgspec.Struct, frozen=True, gc=False):
    """A token without the punctuation around it, and whether it is an entity."""

    before: int
    length: int
    lowered: str
    begins_as_one: bool
    """Where it begins a sentence."""
    is_one: bool
    ends_sentence: bool
    size: int
    """With the punctuation."""


def _judge(token: str) -> _Judged:
    bare = token.strip(_EDGES)
    ends = token[-1] in ".!?:…。！？"
    if not bare:
        return _Judged(0, 0, "", False, False, ends, len(token))
    lowered = bare.lower()
    sure = _is_sure(bare, lowered)
    one = sure or _is_name(bare, lowered)
    begins_as_one = sure or (one and lowered not in OPENERS)
    return _Judged(token.index(bare), len(bare), lowered, begins_as_one, one, ends, len(token))


_JUDGED = TokenProperty(_judge)


_short_spans = lru_cache(256)(_spans)
"""Cached: every rule that may act on a text asks for its spans, and the guard after each rule."""


def find_lost(before: str, after: str, tools: Iterable[ToolSchema] = ()) -> str | None:
    """The first entity of `before` that `after` doesn't contain in the same order; None if all are there."""
    return next(iter(find_all_lost(before, after, tools)), None)


def find_all_lost(before: str, after: str, tools: Iterable[ToolSchema]) -> tuple[str, ...]:
    """The entities of `before` that `after` doesn't contain in the same order."""
    if find_additions(before, after) is not None:
        return ()
    find = _short_find_all_lost if max(len(before), len(after)) <= REMEMBERED else _find_all_lost
    return find(before, after, _read_vocabulary(tools))


def _read_vocabulary(tools: Iterable[ToolSchema]) -> frozenset[str]:
    # Not by `ToolList.of`: asked several times a message, which is a list of that kind most often.
    return (tools if isinstance(tools, ToolList) else ToolList(tools)).vocabulary


def find_additions(before: str, after: str) -> tuple[str, str] | None:
    """What stands in front of a text that was kept whole, and behind it, white space between them; None: it
    wasn't kept so. No word of a text that was kept is lost."""
    find = _short_find_additions if len(after) <= REMEMBERED else _find_additions
    return find(before, after)


def _find_additions(before: str, after: str) -> tuple[str, str] | None:
    at = after.find(before)
    end = at + len(before)
    if at < 0 or not before:
        return None
    apart = at == 0 or after[at - 1].isspace() or before[0].isspace()
    if not apart or not (end == len(after) or after[end].isspace() or before[-1].isspace()):
        return None
    return after[:at], after[end:]


_short_find_additions = lru_cache(8)(_find_additions)
"""Cached: each check of the guard asks for them."""


def _find_all_lost(before: str, after: str, vocabulary: frozenset[str]) -> tuple[str, ...]:
    at = 0
    lost: list[str] = []
    for start, end in _find_spans(before, vocabulary):
        entity, length = before[start:end], end - start
        found = after.find(entity, at)
        if found >= 0:
            stop = found + length
            # Most entities have no letter beside them, and are asked no more.
            if (found > 0 and after[found - 1].isalnum()) or after[stop : stop + 1].isalnum():
                found = find_whole(after, entity, at)
        if found < 0:
            lost.append(entity)
        else:
            at = found + length
    return tuple(lost)


_short_find_all_lost = lru_cache(64)(_find_all_lost)
"""Cached: the guard asks for what one operator has lost, and for what all of them have."""


def lower_openings(text: str) -> str:
    """The text with its sentences' first letters in lower case: a description's first verb is no name. What
    "e.g." and "i.e." abbreviate are no names either. Its length stays."""
    return _OPENING.sub(lambda match: _lower(match.group()), _ABBREVIATION.sub("for", text))


def _lower(text: str) -> str:
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text


def find_numbers(text: str) -> frozenset[str]:
    """The tokens with a digit of any script: each could be taken for an id, a date or an amount."""
    return _short_find_numbers(text) if len(text) <= REMEMBERED else _find_numbers(text)


def find_added_numbers(before: str, after: str) -> frozenset[str]:
    """The tokens with a digit of `after` that `before` doesn't have."""
    added = find_additions(before, after)
    words = after.split() if added is None else [*added[0].split(), *added[1].split()]
    found = _find_piece_numbers(" ".join(set(words).difference(before.split())))
    return found - find_numbers(before) if found else found


def _find_numbers(text: str) -> frozenset[str]:
    found = [
        _short_piece_numbers(piece) if len(piece) <= LONGEST_PIECE else _find_piece_numbers(piece)
        for piece in cut(text)
    ]
    return found[0].union(*found[1:])


def _find_piece_numbers(text: str) -> frozenset[str]:
    if text.isascii():
        # No script without spaces, and no numeral that is a letter.
        tokens = [token for token in text.split() if not token.isalpha()]
    else:
        tokens = _TOKEN.findall(_NO_NUMERAL.sub(" ", text))
    return frozenset(filter(None, map(_read_numeral, tokens)))


_NO_NUMERAL = re.compile(
    "[什一拾参]|万一|老百姓|百科|百货|零头|八卦|十分(?!钟|後|前)|千万(?=[别不要])|再三|四处|四周|三心二意|乱七八糟"
)
"""Ideographs that are numerals by themselves, in words that name no number. "一" is mostly an article."""


def _read_numeral(token: str) -> str:
    return _short_numeral(token) if len(token) <= LONGEST_TOKEN else _numeral(token)


def _numeral(token: str) -> str:
    """The token without the punctuation around it if it has a digit, else an empty string."""
    bare = token.strip(_EDGES)
    return bare if _has_digit(bare) else ""


_short_numeral = lru_cache(8192)(_numeral)
_short_find_numbers = lru_cache(256)(_find_numbers)
_short_piece_numbers = lru_cache(REMEMBERED_PIECES)(_find_piece_numbers)


def _is_sure(token: str, lowered: str) -> bool:
    """Whether it is an entity wherever it stands: a small word, a number, a technical term, an acronym."""
    if lowered in MEANING_WORDS or lowered.replace("’", "'") in MEANING_WORDS:
        return True
    if _has_digit(token) or _TECHNICAL.search(token):
        return True
    return any(len(word) > 1 and word.isupper() for word in _LETTERS.findall(token))


def _is_name(token: str, lowered: str) -> bool:
    """Whether it has the capital of a name."""
    if lowered.replace("’", "'") in _CAPITALISED:
        return False
    return any(word[0].isupper() for word in _LETTERS.findall(token))


def _has_digit(token: str) -> bool:
    # An ideograph such as 一 counts as numeric: it is a number word, and stays.
    return not (token.isalpha() and token.isascii()) and any(map(str.isnumeric, token))


def find_whole(text: str, entity: str, at: int) -> int:
    """Where the entity stands from `at` on, but not as a part of a longer word; -1 if nowhere."""
    first, last = entity[0], entity[-1]
    begins_in_word, ends_in_word = first.isalnum(), last.isalnum()
    while (found := text.find(entity, at)) >= 0:
        end = found + len(entity)
        before = begins_in_word and found > 0 and _continues(text[found - 1], first)
        if not before and not (ends_in_word and end < len(text) and _continues(text[end], last)):
            return found
        at = found + 1
    return -1


def _continues(letter: str, other: str) -> bool:
    """Whether the letter, beside another letter or digit, stands in one word with it."""
    return letter.isalnum() and not _UNSPACED_LETTER.search(letter + other)


def _merge(spans: list[Span]) -> Iterator[Span]:
    start = end = -1
    for begin, stop in sorted(spans):
        if begin > end:
            if end > start:
                yield start, end
            start, end = begin, stop
        else:
            end = max(end, stop)
    if end > start:
        yield start, end
