"""A user's message as sentences."""

from __future__ import annotations

import re
from functools import lru_cache

from crosswind.injectors.text.caseless import CaselessPattern
from crosswind.injectors.text.full_stops import ends_sentence
from crosswind.injectors.text.json_payload import REMEMBERED, is_container, parse_json
from crosswind.injectors.text.tokens import TokenProperty, read_tokens

_WORD = re.compile(r"\w")
_BREAK = re.compile(r"[.!?。！？\n](?:(?<=[.!?])\s+|(?<=[。！？])|(?<=\n)\n*)")
"""A sentence's mark and the white space behind it, or new lines. It begins with one of few characters: those
are found much faster than places behind them."""


def is_prose(text: str) -> bool:
    """Whether the message has words and is no JSON document: only there can a sentence be added."""
    return _WORD.search(text) is not None and not is_container(parse_json(text))


def split_sentences(text: str) -> tuple[tuple[int, int], ...]:
    """The spans [start, end) of the sentences, in order, without the white space between them."""
    return _short_split(text) if len(text) <= REMEMBERED else _split(text)


def _split(text: str) -> tuple[tuple[int, int], ...]:
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _BREAK.finditer(text):
        at = match.start()
        if text[at] == "." and not ends_sentence(text, at, match.end()):
            continue
        end = at if text[at] == "\n" else at + 1
        if end > start:
            spans.append((start, end))
        start = match.end()
    if start < len(text):
        spans.append((start, len(text)))
    return tuple(spans)


_short_split = lru_cache(64)(_split)
"""Cached: each rule that may act on a message asks for its sentences."""


LONGEST_PIECE = 512
"""Characters of the longest piece of which anything is remembered."""
REMEMBERED_PIECES = 4096
"""Pieces of which something is remembered."""

_LONGEST_TEXT = 16_384

_END = re.compile(r"[.!?:]\s")


def cut(text: str) -> tuple[str, ...]:
    """The text in pieces that can be looked at one by one, without the white space at which it is cut: one
    character behind each end of a sentence.

    Operators and the guard ask for the same things of a text again and again, each time after an operator
    has changed a little of it. What is found in a piece is remembered: only pieces that changed are looked
    at again.
    """
    return _short_cut(text) if len(text) <= _LONGEST_TEXT else _cut(text)


def _cut(text: str) -> tuple[str, ...]:
    pieces: list[str] = []
    begin = 0
    for match in _END.finditer(text):
        end = match.end() - 1
        pieces.append(text[begin:end])
        begin = end + 1
    pieces.append(text[begin:])
    return tuple(pieces)


_short_cut = lru_cache(64)(_cut)


_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_SPACED = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_PARTING = {at: None if chr(at) == "'" else " " for at in range(128) if not chr(at).isalnum()}
"""What parts the words of a text in ASCII: all but letters, digits and a single apostrophe."""


_COUNT = TokenProperty(lambda token: len(token.translate(_PARTING).split()))
"""The words of a token in ASCII: white space parts any."""


def count_words(text: str) -> int:
    """The words; of Chinese and Japanese, two characters count as one."""
    if text.isascii() and "''" not in text:
        return sum(_COUNT.of(read_tokens(text)))
    unspaced = len(_UNSPACED.findall(text))
    return len(_SPACED.findall(_UNSPACED.sub(" ", text))) + (unspaced + 1) // 2


_FINAL = frozenset(".!?…。！？؟～〜")


def has_end(sentence: str) -> bool:
    """Whether it ends in a mark after which another one may follow."""
    bare = sentence.rstrip()
    return bare[-1:] in ")）" or bare.rstrip("]】»”’」』\"'")[-1:] in _FINAL


_GREETING_WORDS = "|".join(
    """
    hi hey hello howdy hiya greetings (?:morning|afternoon|evening)(?:\\s+(?:all|team|everyone))?(?=[,!.])
    dear good\\s+(?:morning|afternoon|evening|day) thanks? cheers sorry ok okay great perfect
    please\\s+note hallo guten tach grüß grüezi danke vielen\\s+dank servus moin liebe[rs]?
    bonjour salut coucou merci bonsoir hola saludos buenas gracias buen[oa]s estimad[oa]s?
    你好 您好 谢谢 多谢 大家好
    こんにちは おはよう こんばんは ありがとう はじめまして お世話 すみません
    مرحبا أهلا اهلا السلام صباح مساء شكرا شكرًا تحية
    """.split()
)
_GREETING = CaselessPattern(rf"\W*(?:{_GREETING_WORDS})(?![a-z])")


def is_greeting(text: str) -> bool:
    """Whether it begins with a greeting, with thanks or with an apology."""
    return _GREETING.match(text) is not None
