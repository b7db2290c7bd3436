"""The places beside a user's message where sentences of another subject can stand, and how they are put there
without changing its own bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from crosswind.injectors.text.languages import UNSPACED, Language
from crosswind.injectors.text.quotations import find_open_end
from crosswind.injectors.text.sentences import has_end, is_greeting


class Places(msgspec.Struct, frozen=True, gc=False):
    """Where a sentence of another subject can stand beside a message."""

    before: bool
    """In front of it: it begins with a sentence, and not with a greeting, a list or a command."""
    behind: bool
    """At its end: what it passes on word for word doesn't run as far as that, nor a list, nor code."""


def find_places(text: str, own: str) -> Places:
    """The places in a text, of which `own` are the user's own words."""
    first = text.lstrip()[:1]
    before = (first.isalnum() or first in _OPENS) and not is_greeting(text) and not _INSTRUCTS.search(text)
    ended = _ENDS_IN_BLOCK.search(own) is None and not _breaks_off(own)
    return Places(before, ended and find_open_end(own) is None)


def _breaks_off(own: str) -> bool:
    """Whether an English message stops within a sentence."""
    bare = own.rstrip()
    return _BREAKS_OFF.search(bare, max(0, len(bare) - _LONGEST_END)) is not None


_INSTRUCTS = re.compile(
    r"\A\s*(?:you are (?:an?|the)|act as|your task is)\b|<<[^<>\n]{1,80}>>", re.IGNORECASE
)
"""A prompt that tells the agent its part, or has a template's marks: nobody greets in front of it."""
_BREAKS_OFF = re.compile(
    r"""(?<!\w)(?:(?i:can|could|would|will)\ (?i:you|i|we)|and|or|but|because|if|than|the|an?|my|of|to|for
    |from|with|at|by|into|between)\Z""",
    re.VERBOSE,
)
"""The last words of an English message that stops within a sentence."""
_LONGEST_END = len("could you")
_ENDS_IN_BLOCK = re.compile(r"(?:\n[ \t]{0,8}(?:[-*•]|\d{1,3}[.)])[ \t][^\n]*|\n[ \t]{0,8}(?:```|~~~))\s*\Z")
"""A list's last entry, or code: people don't write on behind these."""
_OPENS = frozenset('¿¡"“„«「『‘')
_NO_SPACE = frozenset("。！？…～〜）」』】")


class Aside(msgspec.Struct, frozen=True, gc=False):
    """Sentences that come to a message at one place."""

    at: int
    said: str
    lead: str = ""
    """What separates them from what stands before; empty: what the text asks for."""


def insert_asides(text: str, asides: Iterable[Aside], language: Language | None) -> str:
    """The text with the asides at their places; of those at one place, in their order."""
    pieces: list[str] = []
    done = 0
    for aside in sorted(asides, key=lambda one: one.at):
        if aside.at > done:
            _add_own(pieces, text[done : aside.at], language)
            done = aside.at
        if pieces:
            new_line = done == len(text) and "\n" in text and not text[-1].isspace()
            pieces.append(aside.lead or ("\n" if new_line else separate(pieces[-1], language)))
        pieces.append(aside.said)
    _add_own(pieces, text[done:], language)
    return "".join(pieces)


def _add_own(pieces: list[str], own: str, language: Language | None) -> None:
    if pieces and own and not own[0].isspace():
        pieces.append(separate(pieces[-1], language))
    pieces.append(own)


def separate(before: str, language: Language | None) -> str:
    """What stands between a sentence and the next: nothing, a space, or a new line where it has no end."""
    if not before or before[-1].isspace():
        return ""
    if not has_end(before):
        return "\n"
    return "" if language in UNSPACED and before[-1] in _NO_SPACE else " "


_PLAIN_END = re.compile(r"(?:\A|\s)[A-Za-zÀ-ÿ]?[a-zß-ÿ]+\Z")
"""A last word that can't be taken for a value to which a full stop belongs."""
_ASKING_WORDS = {
    Language.EN: r"""(?:who|what|which|how|where|when|why)(?:['’]s)?
        |(?:is|are|was|were|do|does|did|has|have|can|could|would|will)[ ]
        (?:i|you|we|they|he|she|it|there|the|my|any|this|that)""",
    Language.DE: r"""wer|wen|wem|was|wo|wohin|woher|wie|wann|warum|wieso|welche[nmrs]?
        |(?:kannst|könntest|hast|weißt|willst)|(?:können|könnten|haben|wissen)[ ]sie
        |(?:ist|sind|gibt|geht|hat|habe|kann|soll|darf|muss)[ ](?:ich|es|das|die|der|mein\w*|man|da)""",
    Language.ES: r"""¿.*|qué|quién|cuál|cuáles|cuándo|dónde|cómo|cuánt[oa]s?|por[ ]qué
        |(?:puedes|podrías|puede|podría|tienes|tiene|hay)""",
    Language.FR: r"""qui|que|quoi|quel(?:le)?s?|quand|où|comment|combien|pourquoi|est-ce
        |(?:peux|pourrais|as)[ -]tu|(?:pouvez|pourriez|avez)[ -]vous|y[ ]a-t-il""",
}
_LAST_ASKS = {
    language: re.compile(rf"(?ix)(?:\A|[.!?:;]\s+)(?:{words})\s[^.!?:;]*\Z")
    for language, words in _ASKING_WORDS.items()
}
"""A last sentence that is a question, by language."""


def find_missing_mark(text: str, language: Language | None) -> str:
    """What a line lacks before a further sentence: its mark and a space, or nothing. It is known for
    languages in Latin letters."""
    asks = None if language is None else _LAST_ASKS.get(language)
    if asks is None or "\n" in text or text.endswith((".", "!", "?")) or not _PLAIN_END.search(text):
        return ""
    if not asks.search(text):
        return ". "
    return " ? " if language is Language.FR else "? "


def join_sentence(text: str, sentence: str, language: Language) -> str:
    """A sentence as it is appended to a text: on a line of its own where the text ends in none."""
    if not text or text[-1].isspace():
        return sentence
    finished = text.rstrip("\"'”’)»")[-1:] in (*".!?…。！？؟:：",)
    if not finished or "\n" in text:
        return f"\n{sentence}"
    return sentence if language in UNSPACED else f" {sentence}"


_CONTINUES = tuple(",،、，–—-")


def continues(phrase: str) -> bool:
    """Whether it goes on with the sentence before it."""
    return phrase.startswith(_CONTINUES)


def join_closing(said: str, closing: str, language: Language | None) -> str:
    """A sentence with what closes it. A closing that begins with a comma or a dash continues the sentence and
    takes the place of its mark; a Spanish question keeps both of its marks.
    """
    if not continues(closing):
        return f"{said}{separate(said, language)}{closing}"
    bare = said.rstrip()
    if not (language is Language.ES and bare.endswith("?")):
        bare = bare.rstrip(".!?。！？؟").rstrip()
    dash = closing[0] in "–-" or (closing[0] == "—" and language is not Language.ZH)
    return f"{bare}{' ' if dash else ''}{closing}"
