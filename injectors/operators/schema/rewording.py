"""Other words for a description, by construction: its opening in another form ("Gets", "Use this to get",
"Tool for getting"), and phrases that mean the same.

Each place that can be reworded has variants, of which one is drawn. Places don't overlap, and a description
changes its length by a fifth at most, as RobustBench-TC asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.operators.schema.verb_forms import FORMS, Form, conjugate
from crosswind.injectors.operators.words import descriptions as words
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.text import entities
from crosswind.injectors.text.edits import compile_phrases, find_unprotected, make_edit
from crosswind.injectors.text.word_lists import make_words

LENGTH = 0.2
"""The share of its length by which a description may grow or shrink."""
LEAST_CHANGE = 4
"""Characters that a short description may grow or shrink all the same: an article comes and goes."""
PLAIN, PLAIN_FIELDS = 0.5, 0.65
"""The shares of openings that stay a plain verb or noun, in descriptions of tools and of parameters."""


class Place(NamedTuple):
    """Where a text can be reworded: what stands there, and what could. The shares of `plain` variants and of
    those with a frame are fixed."""

    at: int
    was: str
    plain: Sequence[str]
    framed: Sequence[str] = ()


def draw_edits(
    text: str, tools: Sequence[ToolSchema], rng: SeededRandom, severity: float, *, parameter: bool = False
) -> list[dict[str, Any]]:
    """Draw the edits that reword a share `severity` of the places, within the bound on length."""
    out: list[dict[str, Any]] = []
    growth, end = 0, 0
    usual = PLAIN_FIELDS if parameter else PLAIN
    most = max(LEAST_CHANGE, int(LENGTH * len(text)))
    for place in _find_places(text, tools, parameter):
        chosen = rng.chance(severity)
        room = [
            [one for one in variants if one != place.was and abs(growth + len(one) - len(place.was)) <= most]
            for variants in (place.plain, place.framed)
        ]
        plain, framed = room
        point, kind = rng.uniform(), framed if framed and (not plain or rng.uniform() >= usual) else plain
        if chosen and kind and place.at >= end:
            other = kind[int(point * len(kind))]
            growth += len(other) - len(place.was)
            end = place.at + len(place.was)
            out.append(make_edit(place.at, place.was, other))
    return out


def _find_places(text: str, tools: Sequence[ToolSchema], parameter: bool) -> list[Place]:
    protected = entities.find_protected_spans(entities.lower_openings(text), tools)
    find = _find_field_places if parameter else _find_openings
    places = [*find(text), *_find_pairs(text), *_find_phrases(text, protected)]
    return sorted((_keep_names(one, protected) for one in places), key=lambda one: (one.at, -len(one.was)))


def _keep_names(place: Place, protected: Sequence[entities.Span]) -> Place:
    """The place without the variants that would lose a protected word: a tool may be named after its verb."""
    end = place.at + len(place.was)
    inside = [
        place.was[max(0, start - place.at) : stop - place.at]
        for start, stop in protected
        if start < end and stop > place.at
    ]
    if not inside:
        return place
    kept = (
        [
            one
            for one in each
            if all(re.search(rf"\b{re.escape(name)}\b", one, re.IGNORECASE) for name in inside)
        ]
        for each in (place.plain, place.framed)
    )
    return Place(place.at, place.was, *kept)


_LONG_VERBS = tuple(sorted({verb for group in words.SAME_VERBS for verb in group if " " in verb}))
_BEFORE: dict[str, Form] = {
    **{one.lower(): Form.BASE for one in words.ALL_OF_TO},
    **{one.lower(): Form.THIRD for one in words.ALL_OF_THIRD},
    **{one.lower(): Form.GERUND for one in words.GERUND},
}


def _alternatives(choices: Sequence[str]) -> str:
    return "|".join(re.escape(one) for one in sorted(choices, key=len, reverse=True))


_SENTENCE = re.compile(r"(?:^|(?<=[.!?]\s)|(?<=\n)|(?<=escription:\s))\s*(?=\w)")
_SENTENCE_END = re.compile(r"(?<!\be\.g)(?<!\bi\.e)[.!?](?=\s|$)|\n")
_OPENING = re.compile(
    rf"(?:(?P<before>{_alternatives(tuple(_BEFORE))})\s+)?(?P<verb>[a-z]+)"
    rf"(?P<more>\s(?:up|for|out)\b)?(?=\s+(?P<next>[\w\"'<({{\[-]+))",
    re.IGNORECASE,
)
_LATER = frozenset(one.lower() for one in words.LATER_THIRD)
_PARTICLES = make_words("to up out in into off on back as away down over through rid started for")
_NOT_USED = make_words("this it these when the")
_DETERMINERS = make_words(
    """
    a an the all any each every its their your this these that those one multiple new up for some both
    another whether if how what which it them information details data available current
    """
)
_ARTICLES = make_words("a an the its their it them this that all each any new your")
_PREPOSITIONS = make_words(
    """
    for of in on at by with from to as if when where that which like such including using between into
    """
)
_NOT_OBJECTS = make_words(
    """
    results terms keywords engines parameters filters criteria details status names times files entries
    fields
    """
)
_JOINED = re.compile(
    r"(?:, (?:and|or|then)|,|/|\band|\bor|\bthen)\s*\b(?:(?:then|also|[a-z]+ly)\s+)?([a-z]+)(?:\s+([a-z]+))?",
    re.IGNORECASE,
)


def _find_openings(text: str) -> Iterator[Place]:
    """The places where a sentence begins with a verb, or with what can stand before one."""
    for number, start in enumerate(match.end() for match in _SENTENCE.finditer(text)):
        opening = _OPENING.match(text, start)
        if opening is None:
            continue
        first = number == 0 or text[:start].rstrip().lower().endswith("description:")
        end = _SENTENCE_END.search(text, opening.end())
        rest = text[opening.end() : end.start() if end else len(text)]
        if (place := _read_opening(opening, rest, first=first)) is not None:
            yield place


def _read_opening(opening: re.Match[str], rest: str, *, first: bool) -> Place | None:
    before, more = opening["before"], opening["more"] or ""
    verb, following = opening["verb"].lower(), opening["next"].lower()
    if verb not in FORMS or opening["verb"].isupper():
        return None
    base, form = FORMS[verb]
    was = opening[0]
    if more and f"{base}{more.lower()}" in _LONG_VERBS:
        base += more.lower()
    elif more:
        was, following, rest = was.removesuffix(more), more.strip().lower(), f"{more}{rest}"
    if not _is_verb(base, form, following, rest, before):
        return None
    forms = _find_possible_forms(form, rest)
    verbs = [base]
    if following not in _PARTICLES:
        verbs = sorted({base, *_find_same_verbs(base, rest.lower().split())})
    says = [(kind, conjugate(verb, kind)) for kind in forms for verb in verbs]
    plain = [said.capitalize() for kind, said in says if kind is not Form.GERUND and (first or kind is form)]
    framed = [
        f"{frame} {said}"
        for kind, said in says
        if first or kind is form
        for frame in _list_frames(kind, before, first=first)
    ]
    if was[0].islower():
        plain, framed = ([one[0].lower() + one[1:] for one in each] for each in (plain, framed))
    return Place(opening.start(), was, plain if first or before is None else (), framed)


def _is_verb(base: str, form: Form, following: str, rest: str, before: str | None) -> bool:
    """Whether an opening's word is a verb of that form, and what stands before it goes with the form."""
    if following == "of" or (base == "use" and following in _NOT_USED):
        return False
    if before is not None:
        return _BEFORE[before.lower()] is form
    if following in ("and", "or"):
        second = ([*rest.split(), "", ""])[1].lower()
        return form is not Form.GERUND and FORMS.get(second, ("", None))[1] is form
    if form is Form.GERUND:
        return False
    return base not in words.NOUNS_TOO or _is_object(base, following, form)


def _is_object(base: str, word: str, form: Form) -> bool:
    """Whether a word behind a verb that could be a noun shows that it is a verb."""
    if word in _DETERMINERS or (base in words.MOSTLY_VERBS and word not in _NOT_OBJECTS):
        return True
    plural = word.endswith("s") and not word.endswith(("ss", "us", "is")) and word not in _NOT_OBJECTS
    return plural or (form is Form.THIRD and word not in _PREPOSITIONS and word not in ("is", "are"))


def _list_frames(form: Form, before: str | None, *, first: bool) -> Sequence[str]:
    if first:
        return {Form.BASE: words.TO, Form.THIRD: words.THIRD, Form.GERUND: words.GERUND}[form]
    if form is Form.BASE and before is not None:
        return words.CALLS
    return words.LATER_THIRD if form is Form.THIRD and (before is None or before.lower() in _LATER) else ()


def _find_possible_forms(form: Form, rest: str) -> list[Form]:
    """The forms that the first verb may take without another one having to follow it: all, where nothing is
    joined to it that may be a verb of the same form."""
    for joined in _JOINED.finditer(rest):
        word, following = joined[1].lower(), (joined[2] or "").lower()
        if (word in FORMS and FORMS[word][1] is form) or (
            following in _ARTICLES and word not in _PREPOSITIONS
        ):
            return [form]
    return [Form.BASE, Form.THIRD, Form.GERUND]


def _find_same_verbs(base: str, following: Sequence[str]) -> Iterator[str]:
    near = set(following[:3])
    if base == "return" and not words.GOODS.isdisjoint(following):
        return  # Goods are returned, not given.
    for group in words.SAME_VERBS:
        if base in group:
            for other in group:
                needed = words.ONLY_BEFORE.get((base, other)) or words.ONLY_BEFORE.get((other, base))
                if other != base and (needed is None or needed & near):
                    yield other


_PHRASES: dict[str, tuple[str, ...]] = {}
for _group in words.SAME_PHRASES:
    _PHRASES.setdefault(_group[0], tuple(one for one in _group[1:]))
_PHRASE = compile_phrases(*_PHRASES)
_INTRODUCES = _alternatives(words.EXAMPLE)
_EXAMPLE = re.compile(rf"(?:(?<=, )|(?<=\()|(?<=; ))(?:{_INTRODUCES})(?=,? )", re.IGNORECASE)
"""What introduces an example behind a bracket or a comma."""


_WHEN = re.compile(rf"(?:^|(?<=[.!?\n] )|(?<=\n))(?:{_alternatives(words.WHEN)})(?= )", re.IGNORECASE)
_PAIR = re.compile(
    r"(?:(?<=\bof )|(?<=\bto )|(?<=\bin )|(?<=\bfor )|(?<=\bthe )|(?<=\ball )|(?<=\bfrom )|(?<=\bwith ))"
    r"([a-z]{3,}s) (and|or) ([a-z]{3,}s)\b(?! (?:of|that|and|or)\b)(?![,'])"
)
_SERIES = re.compile(r"(?<=[\w)\"'`])(,?) (?:and|or)(?= [\w(\"'`]+[^,;.\n]{0,24}[.;:)\n]| [\w(\"'`]+$)")
_ITEM = re.compile(r", [\w\"'`-]+(?: [\w\"'`-]+){0,2}$")


def _find_pairs(text: str) -> Iterator[Place]:
    """Two plurals that are joined, and can change places, and the comma before the last of several things."""
    for match in _SERIES.finditer(text):
        if _ITEM.search(text, max(0, match.start() - 40), match.start()) is not None:
            yield Place(match.start(), match[0], (match[0][1:] if match[1] else f",{match[0]}",))
    for match in _PAIR.finditer(text):
        one, joint, other = match.groups()
        if other not in FORMS and one not in FORMS:
            yield Place(match.start(), match[0], (f"{other} {joint} {one}",))


def _find_phrases(text: str, protected: Sequence[entities.Span]) -> Iterator[Place]:
    for match in find_unprotected(_PHRASE, text, protected):
        others = _PHRASES[match[0].lower()]
        if match[0][0].isupper():
            others = tuple(one[0].upper() + one[1:] for one in others)
        yield Place(match.start(), match[0], others)
    for match in _WHEN.finditer(text):
        yield Place(match.start(), match[0], words.WHEN)
    for match in _EXAMPLE.finditer(text):
        comma = text[match.end() : match.end() + 1] == ","
        fitting = [one for one in words.EXAMPLE if not comma or one not in ("such as", "like")]
        yield Place(match.start(), match[0], [one for one in fitting if one != match[0].lower()])


_HEAD = _alternatives(tuple(words.HEADS))
_NOUN = re.compile(
    rf"(?P<article>(?:The|A|An)\s+)?(?P<noun>(?:(?:{_alternatives(tuple(words.MODIFIERS))}|{_HEAD})\s+){{0,2}}"
    rf"(?:{_HEAD}))\b(?![-/'’])",
    re.IGNORECASE,
)
_GENITIVE = re.compile(r"(?:The )?([a-z]+|ID) of (?:the|a|an) ([a-z]+)(?=[.,;(]|$)", re.IGNORECASE)
_COUNT = re.compile(r"(?:The )?number of (?=[a-z]+s\b)", re.IGNORECASE)
_WISH = re.compile(r" to (?=(?P<verb>[a-z]+)(?:[.,;()]|$|\s(?:for|from|in|on|with|at|by|to|of|into)\b))")
_STARTS: Sequence[tuple[re.Pattern[str], Sequence[str]]] = tuple(
    (re.compile(rf"(?:{_alternatives(group)})(?= )", re.IGNORECASE), group)
    for group in (words.WHETHER, words.IF_TRUE, words.DEFAULT, words.ONE_OF)
)


def _find_field_places(text: str) -> Iterator[Place]:
    """The places of a parameter's description: how its sentences begin, and the noun that it is about."""
    for number, start in enumerate(match.end() for match in _SENTENCE.finditer(text)):
        if (place := _read_start(text, start)) is not None:
            yield place
        elif number == 0:
            yield from _find_noun_places(text, start)


def _read_start(text: str, start: int) -> Place | None:
    for pattern, group in _STARTS:
        if (found := pattern.match(text, start)) is not None:
            if found[0].endswith(","):
                return None  # "By default, the search is exact." says more than a value.
            return Place(start, found[0], group)
    return None


def _find_noun_places(text: str, start: int) -> Iterator[Place]:
    noun = _NOUN.match(text, start)
    if noun is None:
        return
    wish = _WISH.match(text, noun.end())
    if wish is not None and wish["verb"].lower() in words.VERBS:
        yield Place(
            wish.start(), wish[0], (" that you want to ", " you want to ", " that you would like to ")
        )
    if (count := _COUNT.match(text, start)) is not None:
        yield Place(start, count[0], ("How many ", "Number of ", "The number of ", "Count of "))
    elif (genitive := _GENITIVE.match(text, start)) is not None and _has_owner(genitive):
        owned, owner = genitive[1] if genitive[1].isupper() else genitive[1].lower(), genitive[2]
        of = f"{owned} of the {owner}"
        yield Place(start, genitive[0], (f"The {owner}'s {owned}", f"The {of}", of[0].upper() + of[1:]))
    else:
        yield _read_article(noun)


def _has_owner(genitive: re.Match[str]) -> bool:
    return genitive[1].lower() in words.HEADS and not genitive[2].endswith("s")


def _read_article(noun: re.Match[str]) -> Place:
    article, letter = (noun["article"] or "").rstrip(), noun["noun"][0]
    acronym = noun["noun"].split()[0].isupper()
    bare, capital = letter if acronym else letter.lower(), letter.upper()
    was = f"{noun['article'] or ''}{letter}"
    if article.lower() in ("a", "an"):
        # Whether there is one only isn't known.
        return Place(noun.start(), was, (capital,))
    return Place(noun.start(), was, (capital, f"The {bare}"), [f"{one} the {bare}" for one in words.FIELD])
