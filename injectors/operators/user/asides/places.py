"""The places in a user's message where sentences of another subject can stand, and how they are put there
without changing its own bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from crosswind.injectors.text.caseless import CaselessPattern
from crosswind.injectors.text.edits import splits
from crosswind.injectors.text.languages import Language
from crosswind.injectors.text.quotations import find_literals, find_open_end
from crosswind.injectors.text.sentences import count_words, has_end, is_greeting


class Places(msgspec.Struct, frozen=True, gc=False):
    """Where a sentence of another subject can stand in a message."""

    before: bool
    """In front of it: it begins with a sentence, and not with a greeting, a list or a command."""
    between: tuple[int, ...]
    """Behind these sentences' ends: the next ones don't refer back to them."""
    behind: bool
    """At its end: what it passes on word for word doesn't run as far as that."""


def find_places(text: str, own: str) -> Places:
    """The places in a text, of which `own` are the user's own words."""
    literals = [(one.start, one.end) for one in find_literals(text)]
    between = tuple(at for at in _find_ends(text) if not splits(literals, at)) if len(text) <= LONGEST else ()
    first = text.lstrip()[:1]
    before = (first.isalnum() or first in _OPENS) and not is_greeting(text)
    return Places(before, between, find_open_end(own) is None)


_OPENS = frozenset('¿¡"“„«「『‘')
LONGEST = 8_000
"""Characters of a message inside which others are put: a longer one is a document."""

LEAST = 3
"""Words of a sentence behind which others are put."""
_SHORT = 32
"""Characters of a sentence whose words are counted."""
_END = re.compile(
    r"[.!?؟。！？](?:(?:(?<=[^\W\d_]\.)|(?<=[!?؟])(?![!?)\"'”’»]))(?= +[^\W\d_])"
    r"|(?<=[。！？])(?=[^\s”’」』）。！？]))"
)
_LETTERS = re.compile(r"[^\W\d_]+")
_REFER_WORDS = "|".join(
    """
    it its it's this that that's these those they them their he she his her him such both ones? so then also
    but and or which because since otherwise instead there same the either neither if as after once
    additionally er sie es ihn ihm das die der dies\\w* dann danach und oder aber außerdem dort dabei damit
    denn sonst falls wenn ils? elles? ce c'est cela ça cette ces les? la puis ensuite et ou mais donc alors
    aussi
    sinon si
    él ella ello eso esto esa ese estos estas los? las el luego después y o pero además entonces también
    porque
    """.split()
)
_REFERS = CaselessPattern(
    rf"\s*(?:(?:{_REFER_WORDS})\b|[它这那他她此其然但而并且再还所因否如]|それ|これ|その|この|あれ|そこ|また|そして|でも|しかし"
    r"|ただ|もし|なお|あと|(?:و|ف|هو|هي|هذا|هذه|ذلك|تلك|ثم|لكن|أيضا|كما|إذا))"
)
"""How a sentence begins that refers to the one before it."""
_BLOCK = re.compile(r"^[ \t]*(?:[-*•|>#+]|\d{1,3}[.)]|\{|\}|<)|^(?:\t| {4})|[|{}<>=\\]{2}|`")
"""A line of a list, a table, a quotation or code."""


def _find_ends(text: str) -> list[int]:
    """Where sentences of prose end and others begin that don't refer to them."""
    found: list[int] = []
    end = 0
    for match in _END.finditer(text):
        start, at = end, match.end()
        end = at
        if at - start < _SHORT and count_words(text[start:at]) < LEAST:
            continue  # A greeting: nothing has been said yet.
        # "Dr." and "No." end no sentence; nor does a letter behind it that is small begin one.
        word = _read_back(text, start, at - 1) if match[0] == "." else None
        following = text[at : at + 40].lstrip()
        if word is not None and (len(word) < 4 or word[0].isupper() or following[:1].islower()):
            continue
        if _REFERS.match(text, at) or _BLOCK.search(_line_around(text, at)):
            continue
        found.append(at)
    return found


def _read_back(text: str, start: int, end: int) -> str:
    """The letters that end at a place, from `start` on."""
    found = _LETTERS.match(text[start:end][::-1])
    return text[end - (found.end() if found else 0) : end]


def _line_around(text: str, at: int) -> str:
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    return text[start : len(text) if end < 0 else end]


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
    return "" if language in (Language.ZH, Language.JA) and before[-1] in _NO_SPACE else " "


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
