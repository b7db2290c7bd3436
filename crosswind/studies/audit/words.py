"""What a user's text says that a task may hang on, and what was made of it: the audit's own reading.

It knows less than the guard does, on purpose: figures, codes, addresses, what is quoted, and the small words
that turn a sentence round. What it finds lost is lost in any reading.
"""

from __future__ import annotations

import re

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uff00-\uff0f"
_WORD = re.compile(rf"(?:(?![{_UNSPACED}])[\w#$€£¥₹@.:/\\'’_+-])+")
_QUOTED = re.compile(r'"([^"\n]{1,200})"|“([^”\n]{1,200})”|`([^`\n]{1,200})`|«([^»\n]{1,200})»')
_TURNING = frozenset(("no", "not", "never", "without", "except", "unless", "only"))
_EDGES = ".:'’/\\-+"


def words(text: str) -> list[str]:
    """The words of a text, without the marks around them; those of scripts that set no spaces aside."""
    return [word for found in _WORD.findall(text) if (word := found.strip(_EDGES))]


def find_missing(before: str, after: str) -> list[str]:
    """The facts and quotations of `before` that `after` doesn't have in their turn."""
    rest, at = words(after), 0
    gone: list[str] = []
    for fact in filter(_is_fact, words(before)):
        try:
            at = rest.index(fact, at) + 1
        except ValueError:
            gone.append(fact)
    quoted = (next(filter(None, match.groups())) for match in _QUOTED.finditer(before))
    return gone + [text for text in quoted if text not in after]


def find_made_up(before: str, after: str) -> list[str]:
    """Words with a figure that `after` has and `before` hasn't: they could be taken for facts."""
    known = set(words(before))
    return [word for word in dict.fromkeys(words(after)) if _has_figure(word) and word not in known]


def last_of(text: str, word: str) -> int:
    """Where a word stands for the last time, counted in words; -1 where it doesn't."""
    found = words(text)
    wanted = words(word)
    places = range(len(found) - len(wanted), -1, -1)
    return next((at for at in places if wanted and found[at : at + len(wanted)] == wanted), -1)


def _is_fact(word: str) -> bool:
    return _has_figure(word) or "@" in word or "_" in word or "://" in word or word.lower() in _TURNING


def _has_figure(word: str) -> bool:
    return any(letter.isdigit() for letter in word)
