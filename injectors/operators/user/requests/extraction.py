"""Requests: what a sentence of the user's asks for, as a bare infinitive that another sentence can carry.

Only forms that are sure are read: a command, a question to the agent, a wish, a question for a fact.
Where a sentence has none of these, it holds no request for us.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache

import msgspec

from crosswind.injectors.operators.user.requests import foreign
from crosswind.injectors.operators.user.requests.verbs import (
    AMBIGUOUS,
    BEHIND_NOUN,
    BEHIND_VERB,
    DONE_BY_AGENT,
    DONE_BY_USER,
    GERUNDS,
    SURE,
)
from crosswind.injectors.text.caseless import CaselessPattern
from crosswind.injectors.text.languages import Language
from crosswind.injectors.text.quotations import find_literals
from crosswind.injectors.text.sentences import split_sentences

LONGEST = 4_000
"""Characters of the longest text in which requests are looked for."""


MOST_WORDS = 16
"""Words of the longest question that is turned round."""


class Doer(StrEnum):
    """Who does what is asked for, and so who may be its subject in another sentence."""

    AGENT = "agent"
    USER = "user"
    EITHER = "either"


class Request(msgspec.Struct, frozen=True, gc=False):
    """What a sentence asks for: the sentence is text[start:end]."""

    start: int
    end: int
    infinitive: str
    """`book the flight`; in Japanese the plain form, in Arabic the verbal noun."""
    doer: Doer = Doer.EITHER
    opening: str = ""
    """What the sentence begins with besides politeness, in its own letters: `Hi,`, `Also`."""


def extract_request(text: str, language: Language) -> Request | None:
    """The first request of the text; None where none can be told surely."""
    return next(iter(find_requests(text, language)), None)


def find_requests(text: str, language: Language) -> tuple[Request, ...]:
    """The requests of the text, at most one a sentence, in order. Pure."""
    return _find_requests(text, language) if len(text) <= LONGEST else ()


@lru_cache(256)
def _find_requests(text: str, language: Language) -> tuple[Request, ...]:
    return tuple(_read_sentences(text, language))


def _read_sentences(text: str, language: Language) -> Iterator[Request]:
    literals = find_literals(text)
    for start, end in split_sentences(text):
        beyond = (one.start < start < one.end or one.start < end < one.end for one in literals)
        if any(beyond):
            continue  # A quotation goes on beyond the sentence.
        sentence = text[start:end]
        begin = start + len(sentence) - len(sentence.lstrip())
        stop = start + len(sentence.rstrip())
        if language is Language.EN:
            found = read_english(text[begin:stop])
        else:
            asked = foreign.read_sentence(text[begin:stop], language)
            found = (asked, Doer.EITHER) if asked else None
        if found is not None:
            opening = _OPENING.match(text, begin, stop) if language is Language.EN else None
            yield Request(begin, stop, *found, opening[0] if opening else "")


_BEFORE = r"""(?:(?:hi|hello|hey|ok|okay|alright|great|thanks|thank\ you|please|kindly|now|then|so|also
    |and|next
    |first|finally|lastly|additionally|actually|good\ (?:morning|afternoon|evening
    |day))(?:\ there)?[,!.]?\ +)*"""
_OPENING = re.compile(
    r"(?:(?:hi|hello|hey|also|and|next|then|first|finally|lastly|additionally|now|ok|okay|so|great"
    r"|thanks)(?:\ there)?"
    r"(?:,|(?=\ )))(?:\ (?:then|also|next|now),)?",
    re.IGNORECASE,
)
_ADVERBS = r"(?:(?:please|kindly|possibly|also|just|maybe|perhaps|quickly|now|then|first)\ +)*"
_TO_AGENT = rf"""(?:can|could|would|will)\ (?:you|u)\ +(?:be\ able\ to\ +)?{_ADVERBS}
    |i(?:['’]d|\ would)\ (?:really\ )?(?:like|love|appreciate\ it\ if)\ you\ (?:to|could)\ +{_ADVERBS}
    |(?:i|we)\ (?:need|want)\ you\ to\ +{_ADVERBS}
    |(?:i\ was|i['’]m|i\ am)\ (?:wondering|hoping)(?:\ if|\ that|\ whether)?\ you\ (?:could|can
    |would)\ +{_ADVERBS}
    |it(?:['’]d|\ would)\ be\ (?:great|nice|good|lovely|helpful)\ if\ you\ (?:could|can|would)\ +{_ADVERBS}
    |are\ you\ able\ to\ +{_ADVERBS}"""
_TO_NOBODY = rf"""(?:is|would)\ it\ (?:be\ )?possible\ (?:for\ you\ )?to\ +{_ADVERBS}"""
_BY_USER = rf"""(?:i|we)(?:['’]d|\ would)\ (?:really\ )?(?:like|love|prefer)\ to\ +{_ADVERBS}
    |(?:i|we)\ (?:really\ )?(?:want|need|wish|have)\ to\ +{_ADVERBS}
    |i\ (?:wanna|gotta)\ +
    |(?:i|we)(?:['’]m|['’]re|\ am|\ are)\ (?:trying|looking|hoping|planning)\ to\ +{_ADVERBS}
    |let['’]?s\ +{_ADVERBS}"""
_MIND = r"(?:would|do)\ you\ mind\ +"
_FORM = CaselessPattern(
    rf"{_BEFORE}(?:(?P<mind>{_MIND})|(?P<agent>{_TO_AGENT})|(?P<nobody>{_TO_NOBODY})|(?P<user>{_BY_USER})"
    rf"|(?P<plain>))",
    re.VERBOSE,
)
_POLITE = CaselessPattern(
    r"""[,\s](?:please|pls|kindly|thanks(?:\ a\ lot)?|thank\ you(?:\ (?:so|very)\ much)?|thx
      |(?:would|will|can|could)\ you|if\ (?:you\ can|possible|you\ could))\Z""",
    re.VERBOSE,
)
_LONGEST_POLITE = len(", thank you very much")
_FIRST = re.compile(r"([A-Za-z]+)(?:[ ]+([\w'’\"“$€£#*/.-]+))?")
_ME = re.compile(r"\b(?:me|us|i|we|i['’]\w+)\b", re.IGNORECASE)
_YOU = re.compile(r"\byou\b(?!r)", re.IGNORECASE)
_FINITE = frozenset(
    {"are", "can", "could", "did", "does", "had", "has", "is", "was", "were", "will", "would"}
)
_BREAKS = re.compile(
    r"""[?!;…\n.:–—,-](?:
      (?<=[?!;…\n]) | (?<=\.)(?<!Dr\.)(?<!Mr\.)(?<!Mrs\.)(?<!Ms\.)(?<!St\.)\s | (?<=:)\s*\Z
      | (?<=\s[–—])\s | (?<=\s-)\s(?![\d(]|[a-z]\b)
      | (?<=,)\s(?:I|I['’]\w+|we|can|could|would|is|are|do|does|it|that|he|she|they|there|please|ok
        |right)\b)""",
    re.VERBOSE,
)
"""It begins with one of few characters: those are found much faster than what stands around them."""
_NO_VERB = frozenset(
    """
    a again all always an and as at be by ever even for from have i if in it kindly like maybe me never not of
    on or perhaps please possibly rather say so still that the then there these this to today with you
    """.split()
)
"""Words that may follow `could you` and are no verb of a request."""
_WHAT = re.compile(
    r"(?:so |and |also |ok,? )?(?P<word>what|who)(?P<be>['’]s| is| are| was| were) "
    r"(?P<of>(?:the|my|our|their|his|her) .+)",
    re.IGNORECASE,
)
_HOW_MANY = re.compile(
    r"how (?P<of>(?:many|much) (?:[a-z-]+ ){1,3}?)(?P<be>are|is) there(?P<rest> .+)?", re.IGNORECASE
)
_PARTICIPLE = re.compile(
    r" (?:like|called|named|made|done|going|doing|about|for|at|in|on|to)\Z", re.IGNORECASE
)
_SEVERAL = re.compile(r"\b(?:like|and|or|if|because|but|so|which|who|that|when|while|,)\b|,", re.IGNORECASE)


@lru_cache(1024)
def read_english(sentence: str) -> tuple[str, Doer] | None:
    """What an English sentence asks for, and who may do it."""
    form = _FORM.match(sentence)
    assert form is not None  # It may be empty.
    end = _find_end(sentence, form.end())
    body = sentence[form.end() : end].rstrip(" ,")
    if len(body.split()) < 2 or _BREAKS.search(body):
        return None
    if form["plain"] is not None:
        return _read_question(sentence, end) or _read_command(body)
    return _read_wish_or_question(body, form)


def _find_end(sentence: str, start: int) -> int:
    """Where what a sentence says ends: before its mark, and before polite words."""
    end = _skip_back(sentence, start, len(sentence), ".!?。！？")
    while polite := _POLITE.search(sentence, max(start, end - _LONGEST_POLITE), end):
        end = _skip_back(sentence, start, polite.start(), ",")
    return end


def _skip_back(text: str, start: int, end: int, marks: str) -> int:
    """Where the marks and the white space begin that stand before a place."""
    while end > start and (text[end - 1] in marks or text[end - 1].isspace()):
        end -= 1
    return end


def _read_wish_or_question(body: str, form: re.Match[str]) -> tuple[str, Doer] | None:
    """What follows `could you` or `I want to`."""
    first = _FIRST.match(body)
    verb = first[1] if first else ""
    if form["mind"] is not None:
        base = GERUNDS.get(verb)
        return (base + body[len(verb) :], _judge_doer(body, base)) if base else None
    if form["user"] is not None:
        return _read_wish(body, verb)
    known = verb in SURE | AMBIGUOUS or (verb.islower() and not verb.endswith("ly") and verb not in _NO_VERB)
    return (body, _judge_doer(body, verb)) if known else None


def _read_command(body: str) -> tuple[str, Doer] | None:
    first = _FIRST.match(body)
    if first is None:
        return None
    verb, following = first[1].lower(), (first[2] or "").lower()
    if following in _FINITE or first[1].isupper():
        return None
    sure = verb in SURE or (verb in AMBIGUOUS and _follows_verb(body, following))
    return (verb + body[len(verb) :], _judge_doer(body, verb)) if sure else None


def _follows_verb(body: str, following: str) -> bool:
    """Whether the word makes a verb of the one before it, which may be a noun."""
    if following in BEHIND_VERB:
        return True
    plain = following in BEHIND_NOUN or not following[:1].isalpha() or "." in following or "_" in following
    return plain and _FINITE.isdisjoint(body.lower().split())


def _read_wish(body: str, verb: str) -> tuple[str, Doer] | None:
    """What the user would do: some of it they are told or shown, some of it the agent does for them."""
    rest = body[len(verb) :]
    if _YOU.search(rest):
        return None
    if verb == "know" and rest[:1] == " " and not _ME.search(rest):
        return "tell me" + rest, Doer.AGENT
    if verb == "see" and re.match(r" (?:the|my|all|some|any|how|what|which)\b", rest):
        return "show me" + rest, Doer.AGENT
    if verb == "get" and re.match(r" (?:from|to|there|home)\b", rest):
        return body, Doer.USER
    if verb in DONE_BY_AGENT:
        return body, Doer.USER if _ME.search(rest) else Doer.EITHER
    return (body, Doer.USER) if verb in SURE | AMBIGUOUS | DONE_BY_USER else None


def _judge_doer(body: str, verb: str) -> Doer:
    """Whether the user, too, can be the subject of what the agent is asked to do."""
    mine = _ME.search(body) or _YOU.search(body) or verb not in DONE_BY_AGENT
    return Doer.AGENT if mine else Doer.EITHER


def _read_question(sentence: str, end: int) -> tuple[str, Doer] | None:
    """A question for a fact, as what the agent is to tell."""
    if sentence.rstrip()[-1:] != "?":
        return None
    asked = sentence[:end].rstrip(" ?")
    if (what := _WHAT.fullmatch(asked)) is not None:
        said = what["of"]
        if _PARTICIPLE.search(said) or _SEVERAL.search(said) or len(said.split()) > MOST_WORDS:
            return None
        said = said[0].lower() + said[1:]
        be = what["be"].strip().lower()
        who = f"who {said} {be if be.isalpha() else 'is'}"
        return "tell me " + (who if what["word"].lower() == "who" else said), Doer.AGENT
    if (many := _HOW_MANY.fullmatch(asked)) is not None:
        said = f"tell me how {many['of']}there {many['be'].lower()}{many['rest'] or ''}"
        return (said, Doer.AGENT) if not _SEVERAL.search(many["rest"] or "") else None
    return None
