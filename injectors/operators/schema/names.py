"""Names of tools and parameters as real services spell them: their words, their style, and other names for
the same thing."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from crosswind.injectors.guard.tools import LONGEST_NAME
from crosswind.injectors.operators.words.names import ABBREVIATIONS, OTHER_NAMES, TYPED, VARIANTS, VERBS

SHORT = 4
WHOLE = 5
"""Words of up to this many letters aren't abbreviated, except by convention."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LAST = re.compile(r"[./:](?=[^./:]*$)")
_CAMEL = re.compile(r"[a-z][A-Z]|^[A-Z][a-z]")
_SECOND_SYLLABLE = re.compile(r"([^aeiouy]*[aeiouy]+[^aeiouy]+)[aeiouy]+[^aeiouy]")


def split_words(name: str) -> list[str]:
    """The words of a name, in lower case: `mutation_type.findAll` has mutation, type, find, all."""
    return [word.lower() for word in _WORD.findall(name)]


def join_words(words: Sequence[str], like: str) -> str:
    """A name of these words in the style of another one: `order_id`, `orderId`, `OrderId`, `order-id`."""
    last = _split_prefix(like)[1]
    if "_" not in last and "-" not in last and _CAMEL.search(last):
        first = words[0].capitalize() if last[0].isupper() else words[0]
        return first + "".join(word.capitalize() for word in words[1:])
    return ("-" if "-" in last else "_").join(words)


def list_words(name: str) -> list[str]:
    """The words and numbers of a name without its prefix, in lower case."""
    return [word.lower() for word in _PIECE.findall(_split_prefix(name)[1])]


def name_like(words: Sequence[str], like: str) -> str:
    """A name of these words with the prefix and in the style of another one."""
    prefix, last = _split_prefix(like)
    return f"{prefix}{join_words(words, last)}"


def _split_prefix(name: str) -> tuple[str, str]:
    """A name's prefix with its mark, and the rest: `orders.`, `get`."""
    found = _LAST.search(name)
    return (name[: found.end()], name[found.end() :]) if found else ("", name)


def abbreviate(name: str) -> str:
    """The name with each longer word in a readable abbreviation: `get_usr_cfg` for `get_user_cfg`."""
    made = _WORD.sub(lambda match: _abbreviate_word(match[0]), name)
    return made if made != name else _WORD.sub(lambda match: _drop_vowels(match[0]), name)


def _drop_vowels(word: str) -> str:
    return word if len(word) < WHOLE else word[0] + re.sub("[aeiouy]", "", word[1:])


def _abbreviate_word(word: str) -> str:
    short = ABBREVIATIONS.get(word.lower())
    if short is None:
        if len(word) <= WHOLE:
            return word
        short = _cut(word.lower())
    if word.isupper() and len(word) > 1:
        return short.upper()
    return short.capitalize() if word[0].isupper() else short


def _cut(word: str) -> str:
    """The beginning of a word that reads as one: to the consonants behind its first vowel, `therm` for
    `thermostat`, or behind its second, where that would be too short."""
    second = _SECOND_SYLLABLE.match(word)
    if second is None:
        return word
    return second[1] if len(second[1]) >= SHORT else second[0]


def add_suffix(name: str, suffix: str, taken: Collection[str]) -> str | None:
    """The name with the suffix, cut where both together are too long. None: that name is taken."""
    made = f"{name[: LONGEST_NAME - len(suffix)]}{suffix}"
    return None if made in taken else made


def list_variants(name: str) -> Iterator[str]:
    """Names of tools that a service has beside one of this name, or had before: other verbs, versions, and
    what says in which way they work."""
    prefix, last = _split_prefix(name)
    words = [word.lower() for word in _PIECE.findall(last)]
    if not words:
        return
    first, rest = words[0], words[1:]
    others = [[other, *rest] for other in VERBS.get(first, ()) if rest]
    others += [[*words, *variant.split("_")] for variant in VARIANTS if variant != words[-1]]
    others += [[variant, *words] for variant in ("batch", "async", "bulk", "new")]
    if rest:
        plural = rest[-1][:-1] if rest[-1].endswith("s") else f"{rest[-1]}s"
        others.append([first, *rest[:-1], plural])
        others += [[first, middle, *rest] for middle in ("full", "raw", "cached", "new", "basic")]
        others.append([*rest, first])
    for found in others:
        made = f"{prefix}{join_words(found, last)}"
        if made != name and len(made) <= LONGEST_NAME:
            yield made


def list_other_names(parameter: str, kind: object) -> list[str]:
    """Other names that a parameter could have: of the same thing, more or less exact, or in another style."""
    words = [word.lower() for word in _PIECE.findall(parameter)]
    if not words:
        return []
    found = [[*words[:-1], *other.split()] for other in OTHER_NAMES.get(words[-1], ())]
    if len(words) > 1:
        found += [words[:-1], words[1:]] if len(words[0]) > 2 and len(words[-1]) > 1 else []
        found += [[*OTHER_NAMES[words[0]][0].split(), *words[1:]]] if words[0] in OTHER_NAMES else []
    if words[-1] not in OTHER_NAMES:
        found += [[*words, suffix] for suffix in TYPED.get(str(kind), TYPED["string"]) if suffix not in words]
    names = [join_words(one, parameter) for one in found]
    return sorted({one for one in names if one != parameter and len(one) <= LONGEST_NAME})
