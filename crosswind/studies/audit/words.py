"""What a user's text says that a task may hang on, and what was made of it: the audit's own reading.

It knows less than the guard does, on purpose: figures, codes, addresses, what is quoted, and the small words
that turn a sentence round. What it finds lost is lost in any reading. It shares no rule with the guard, and
so none of its blind spots: it reads quotations letter by letter, where the guard pairs marks.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from types import MappingProxyType

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uff00-\uff0f"
_WORD = re.compile(rf"(?:(?![{_UNSPACED}])[\w#$€£¥₹@.:/\\'’_+-])+")
_TURNING = frozenset(("no", "not", "never", "without", "except", "unless", "only"))
_EDGES = ".:'’/\\-+"


def words(text: str) -> list[str]:
    """The words of a text, without the marks around them; those of scripts that set no spaces aside."""
    return [word for found in _WORD.findall(text) if (word := found.strip(_EDGES))]


def find_missing(before: str, after: str, corrected: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """The facts and quotations of `before` that `after` doesn't have in their turn. `corrected` maps a
    value that is said right only behind the message to what is said in its place."""
    gone = _find_missing_facts(before, after, list(corrected.items()))
    said = " ".join(after.split())
    return gone + [text for text in quotations(before) if text not in said]


def _find_missing_facts(before: str, after: str, corrected: Sequence[tuple[str, str]]) -> list[str]:
    """The facts that are missing. A corrected value is looked for where it is said last, and its place has to
    hold what was said there, so that neither of them passes for another fact."""
    if not corrected:
        return _find_gaps(*(list(filter(_is_fact, words(text))) for text in (before, after)))
    (value, rival), *others = corrected
    behind = _places(value, after)
    if not behind:
        return _find_missing_facts(before, after, others)
    rest = _replace(after, behind[-1], value, " ")
    told = rival if _places(rival, rest) else " "
    # Which of several places was contradicted isn't known: the one that leaves the least open.
    tried = [_replace(before, at, value, told) for at in _places(value, before)] or [before]
    return min((_find_missing_facts(one, rest, others) for one in tried), key=len)


def _places(value: str, text: str) -> list[int]:
    """Where a value stands that is no part of a longer word or figure."""
    found = re.finditer(rf"(?<![0-9A-Za-z]){re.escape(value)}(?![0-9A-Za-z])", text)
    return [one.start() for one in found]


def _replace(text: str, at: int, was: str, now: str) -> str:
    return text[:at] + now + text[at + len(was) :]


def _find_gaps(wanted: Sequence[str], found: Sequence[str]) -> list[str]:
    """Those of `wanted` that are no part of the longest common subsequence: one that is lost here and stands
    again at the end hides nothing between."""
    places: dict[str, list[int]] = {}
    for at, word in enumerate(found):
        places.setdefault(word, []).append(at)
    # For each length, where in `found` a common subsequence of it ends first, and its last link: the index of
    # a word and the link before it.
    ends: list[int] = []
    last: list[int] = []
    links: list[tuple[int, int]] = []
    for index, word in enumerate(wanted):
        for at in reversed(places.get(word, ())):
            length = bisect_left(ends, at)
            links.append((index, last[length - 1] if length else -1))
            ends[length : length + 1], last[length : length + 1] = [at], [len(links) - 1]
    kept: set[int] = set()
    link = last[-1] if last else -1
    while link >= 0:
        index, link = links[link]
        kept.add(index)
    return [word for index, word in enumerate(wanted) if index not in kept]


def find_added_behind(before: str, after: str) -> str | None:
    """What `before` quotes at its end without closing it, if `after` says more behind it: one would take
    it for a part of that."""
    said, was = " ".join(after.split()), " ".join(before.split())
    open_ = (text for text in quotations(before) if was.endswith(text) and said.partition(text)[2])
    return next(open_, None)


_CLOSING = {'"': '"', "'": "'", "“": "”", "„": "“”", "‘": "’", "«": "»", "`": "`"}
_SHORT_FORMS = ("s", "t", "d", "m", "re", "ve", "ll")
_ANNOUNCED = re.compile(
    r"(?:[:,]|\b(?:comment|content|description|message|note|post|saying|stating|text|title|tweet))\s*$",
    re.IGNORECASE,
)
_PASSED_ON = re.compile(
    r"\b(?:comment|content|message|post|tweet)(?: \w+){0,5}: ?(?=[^\s\"'“„‘«`])(.+?)(?=\n\s*\n|\Z)",
    re.IGNORECASE | re.DOTALL,
)


def quotations(text: str) -> list[str]:
    """What a text quotes, without the marks, on one line each. One that isn't closed runs to the end: of the
    paragraph, where it is announced and its mark is an apostrophe. What follows `message:` is quoted, too."""
    found: list[str] = []
    begun, closes = -1, ""
    for at, letter in enumerate(text):
        before, behind = text[at - 1 : at] if at else "", text[at + 1 : at + 2]
        if begun >= 0:
            apostrophe = letter in "'’" and (_is_short_form(text, at) or _goes_on(text, at))
            if letter in closes and not before.isspace() and not apostrophe:
                found.append(text[begun:at])
                begun = -1
        elif letter in "“„«" or (
            letter in _CLOSING and not before.isalnum() and behind.strip() and not behind.isdigit()
        ):
            begun, closes = at + 1, _CLOSING[letter]
    if begun >= 0 and closes not in ("'", "’", "`"):
        found.append(text[begun:])
    elif begun >= 0 and closes == "'" and _ANNOUNCED.search(text[max(0, begun - 41) : begun - 1]):
        found.append(re.split(r"\n\s*\n", text[begun:])[0])
    found += _PASSED_ON.findall(text)
    return [one for quoted in found if (one := " ".join(quoted.split()))]


def _goes_on(text: str, at: int) -> bool:
    """Whether this looks like a possessive (`the users' list`), and a surer end comes later."""
    if not re.match(r"s['’] [a-z]", text[at - 1 : at + 3]):
        return False
    rest = re.split(r"\n\s*\n|(?:^|\s)['’](?=\S)", text[at + 1 :], maxsplit=1)[0]
    return re.search(r"[^\s\ds]['’](?=\W|$)|[.!?]['’]", rest) is not None


def _is_short_form(text: str, at: int) -> bool:
    """Whether the mark is an apostrophe of a word: don't, I've, O'Brien."""
    behind = re.match(r"[^\W\d_]*", text[at + 1 : at + 25])
    word = behind.group() if behind else ""
    if not word or not text[at - 1 : at].isalpha():
        return False
    return word.lower() in _SHORT_FORMS or not text[at - 2 : at - 1].isalpha()


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
