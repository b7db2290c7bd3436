"""Where the kind of a value stands for it in an English sentence: `this company`, `that number`."""

from __future__ import annotations

import re

from crosswind.injectors.operators.user.requests.verbs import AMBIGUOUS, SURE
from crosswind.injectors.operators.user.values.small_words import DETERMINERS, GO_ON
from crosswind.injectors.operators.user.values.things import PERSONS
from crosswind.injectors.operators.user.values.vague.cities import NAME_GOES_ON, NO_PLACES, is_known
from crosswind.injectors.operators.user.values.vague.nouns import DONE_BY
from crosswind.injectors.operators.user.values.vague.place import (
    Place,
    ends_clause,
    find_next_word,
    find_word_before,
    list_unnamed,
    withhold,
)
from crosswind.injectors.text.word_lists import make_words
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType

_KINDS = make_words(
    """
    actor actress airline airport album artist author book brand city club company competition conference
    country county course currency director dish drug event exchange festival game genre hotel index
    ingredient language league location material medication movie museum park place player podcast port
    product restaurant route school server show song species sport stadium state station stock store
    subject team theater topic tournament town university user venue website
    """
)
"""Nouns before a name that tell its kind: `the movie Arrival`."""
_MORE_KINDS = make_words(
    """
    animal attraction bank branch breed building bus business campus car channel chemical clinic
    color compound conference crop cuisine device disease district element exam food fruit gas gym
    holiday hospital industry instrument island journal lake landmark magazine metal monument
    mountain neighborhood newspaper office organization painting phone planet plant platform
    playlist profession province recipe region resort river sector series shop skill solution store
    street style substance supplier symbol theory ticker tool train type vaccine vehicle vendor
    village zone
    """
)
"""Last words of parameters that tell a kind of thing."""
_NO_KINDS = make_words(
    """
    action address after around attribute before check code content data description during email feature
    file from group identifier info inside intent keyword keywords label level list message name names
    near note number onto open option outside parameter part person phone query question request search
    since string subject text title type under unit units until url user username value when where with
    within word
    """
)
"""Words of parameters that say no kind of thing."""
_LABELS = make_words("code id no number")
"""What stands before a name, and is none."""
_LEAST_LETTERS = 4
_BEFORE = make_words("about at by for from in near of on to with")
_MAKERS = make_words("artist author player")
"""Persons who are named by what they make."""
_PLACES = make_words("address area destination location place state town")
"""Kinds that nobody points at so: `the weather in this area`."""
_MADE_BY = make_words("artist author band company composer designer director painter player singer")
"""Who something is by."""
_TRAVELLED = make_words("airport city country location place state station town")
"""Where one goes, beside where one comes from."""
_NOT_WITHIN = make_words("actor artist author book brand club company player team")
"""What nobody is in, as a value behind `in` would be: a league that a parameter calls a team."""
_OWN_NAME = re.compile(r"[a-z,] [A-Z][\w'’-]* (?:of|in|at|for|and|&) $")
"""What goes on with a name: `the University of Oxford`."""
_BESIDE = re.compile(r"(?:, | and | or | & |/)$")
_LISTED = re.compile(r",? (?:and|or|&|vs\.?|versus) |, [A-Z\d]|/")
_OPERATED = re.compile(
    r"\b(?:absolute value|cube|divisors?|factorial|factors|log|logarithm|multiples|root|square) of $"
)


_TESTED = re.compile(r" (?:is )?(?:an? )?(?:divisible|even|odd|palindrome|perfect|prime)\b")


def find_kind(text: str, one: Mention, start: int, end: int) -> Place | None:
    """The place of a value for which its kind can stand."""
    match one.type:
        case ValueType.NAME | ValueType.PLACE | ValueType.OPTION:
            return _find_named(text, one, start, end)
        case ValueType.NUMBER:
            return _find_number(text, start, end)
        case _:
            return None


def _find_named(  # noqa: PLR0911
    text: str, one: Mention, start: int, end: int
) -> Place | None:
    before, after = find_word_before(text, start), find_next_word(text, end)
    if one.type is ValueType.PLACE and one.text in NO_PLACES and not is_known(one.text):
        return None
    if one.type is ValueType.NAME and is_known(one.text):
        return None  # A city that some parameter takes for the name of something else.
    if before == "by" and find_word_before(text, start - len("by ")) in DONE_BY:
        return None
    if one.text.lower() in _LABELS or (before in ("from", "to") and one.text.isupper()):
        return None
    ends = ends_clause(text, end) or after in GO_ON
    if (
        not ends
        or NAME_GOES_ON.match(text, end)
        or _LISTED.match(text, end)
        or _BESIDE.search(text[:start])
        or _OWN_NAME.search(text, max(0, start - 40), start)
    ):
        return None
    kind = _read_kind(one.thing)
    article = before == "the" and one.text[:1].isupper() and kind in _WITH_ARTICLE
    if before in _KINDS | _MORE_KINDS and one.type is not ValueType.OPTION:
        kind, start = before, start - len(before) - 1
        before = find_word_before(text, start)
        if before not in _BEFORE and find_word_before(text, start - len(before) - 1) == "the":
            start -= len(before) + 1  # `the tennis player Ann Reed`
            kind, before = f"{before} {kind}", "the"
        article = before == "the"
    if article:
        start -= len("the ")
        before = find_word_before(text, start)
    verb = before in SURE | AMBIGUOUS and one.type is ValueType.NAME
    verb = verb and find_word_before(text, start - len(before) - 1) not in DETERMINERS
    if one.type is ValueType.OPTION or not (before in _BEFORE or verb):
        return None
    if len(kind) < _LEAST_LETTERS or not _is_kind(kind.rpartition(" ")[2], one.type):
        return None
    kind = "company" if kind.rpartition(" ")[2] in ("stock", "symbol", "ticker") else kind
    kind = kind if kind.endswith("ss") else kind.removesuffix("s")
    if not _goes_behind(before, kind) or (kind == "author" and _CODED.search(text)):
        return None
    forms = list_unnamed(kind)
    type = ValueType.OPTION if one.type is ValueType.NAME else None
    return withhold(start, end, forms, kind, type=type, value=(one.start, end))


_CODED = re.compile(
    r"\b(?:bugs?|commits?|issues?|messages?|posts?|pull requests?|repo|tickets?|tweets?)\b", re.I
)
"""What has an author, and is no book."""


def _goes_behind(before: str, kind: str) -> bool:
    """Whether `this` and its kind can stand behind the word: nobody goes to this city."""
    if kind.endswith("ed") or kind in _PLACES or (before in ("from", "to") and kind in _TRAVELLED):
        return False
    return not (before == "in" and kind in _NOT_WITHIN) and (before != "by" or kind in _MADE_BY)


def _read_kind(thing: str | None) -> str:
    """What a parameter takes: a business, if it takes the name of one."""
    words = (thing or "").split()
    if len(words) > 1 and words[-1] in ("name", "title"):
        words.pop()
    return words[-1] if words else ""


_WITH_ARTICLE = make_words("band club hotel league library monument movie museum park team theater")
"""What has a name with an article: the Louvre, the Bulls."""


def _is_kind(noun: str, type: ValueType) -> bool:
    """Whether a parameter's last word says what kind of thing a value is: of a place, only some do."""
    if type is not ValueType.PLACE:
        return noun not in _NO_KINDS | (PERSONS - _MAKERS)
    return noun.removesuffix("s") in _KINDS | _MORE_KINDS | _MAKERS


def _find_number(text: str, start: int, end: int) -> Place | None:
    if find_word_before(text, start) in ("if", "is", "whether") and _TESTED.match(text, end):
        return withhold(start, end, list_unnamed("number"), "number")
    operated = _OPERATED.search(text, max(0, start - 24), start) is not None
    if not operated or not (ends_clause(text, end) or find_next_word(text, end) in GO_ON):
        return None
    return withhold(start, end, list_unnamed("number"), "number")
