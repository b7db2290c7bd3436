"""English requests in another sentence: who asks, and how, changes; what is asked for stays.

A form is either sure to read well around any request, or only around a short one, or only around one that the
user could fulfil in person as well.
"""

from __future__ import annotations

import re
from functools import lru_cache

from crosswind.injectors.operators.user.paraphrase.facts import ask_for_fact
from crosswind.injectors.operators.user.requests.extraction import Doer
from crosswind.injectors.operators.user.requests.verbs import AMBIGUOUS, GERUNDS, SURE
from crosswind.injectors.text.word_lists import make_pairs, make_phrases

LONG = 14
"""Words of a request behind which nothing more is said of it."""
_BRIEF = 9
"""Words of a request behind which it can be said for whom it is."""
_MANY = 22
"""Words of the longest request that a longer courtesy can stand before."""
_ANY = make_phrases(
    """
    Could you {}? | Could you please {}? | Can you {}? | Can you please {}? | Please {}. |
    I'd like you to {}. | I need you to {}. | I want you to {}. | Would you please {}? |
    I was wondering if you could {}. | I was hoping you could {}. | I would like you to {}. |
    Would you be able to {}? | Please could you {}?
    """
)
_POLITE = make_phrases(
    """
    {}, please. | Do you think you could {}? | Could you {}, please? | Can you {}, please? |
    It'd be great if you could {}. | It would be great if you could {}. | I'm hoping you can {}. |
    I wonder if you could {}. | I'd like you to {}, please. | I need you to {}, please. |
    Would you be able to {}, please? | Could you possibly {}? | Do you think you can {}? |
    I'm wondering if you could {}. | I was wondering whether you could {}. | I hope you can {}. |
    It would help if you could {}. | Please would you {}? | Would you {}, please?
    """
)
_GRATEFUL = make_phrases(
    """
    I'd appreciate it if you could {}. | I'd be grateful if you could {}. |
    I'd really appreciate it if you could {}. | It would be helpful if you could {}. |
    I would appreciate it if you could {}. | It'd be helpful if you could {}.
    """
)
_LEAST = 5
"""Words of the shortest request that anybody is grateful for."""
_FOR_ME = make_phrases(
    """
    Can you {} for me? | Could you {} for me? | Please {} for me. | Could you please {} for me? |
    Can you please {} for me? | Would you {} for me? | Would you be able to {} for me?
    """
)
_MIND = ("Would you mind {}?", "Do you mind {}?")
_WISHES = ("I'd like to {}.", "I want to {}.", "I would like to {}.", "I need to {}.")
_HELP = (
    "Can you help me {}?",
    "Could you help me {}?",
    "Help me {}.",
    "Please help me {}.",
)
_DEEDS = make_phrases(
    """
    Could you go ahead and {}? | Can you go ahead and {}? | Please go ahead and {}. | Let's {}. |
    I'd like to go ahead and {}. | Would it be possible to {}? | Can we {}?
    """
)
_USER_ABLE = frozenset(
    """
    arrange book buy calculate cancel change check compare compute convert exchange find order pay post
    purchase rent reschedule reserve return schedule sell send transfer translate update upgrade withdraw
    """.split()
)
"""What users say they want to do, and mean that the agent does it for them."""
_DEED = frozenset(
    "book buy cancel order pay purchase rent reschedule reserve schedule sell send transfer".split()
)
_PURCHASE = frozenset("buy exchange invest open purchase rent return sell".split())
"""What an agent who is told a wish helps with, and doesn't do at once."""
_HELPED = frozenset(
    "book calculate choose compare compute convert find order pick plan reserve schedule translate".split()
)
_ME = re.compile(r"\b(?:me|us|i|we|you|your|myself|let['’]s|for|on my behalf)\b", re.IGNORECASE)
_SEVERAL = re.compile(
    r"\b(?:and|or|then|if|but|when|once|because|since|so|unless|until)\b|[,;]", re.IGNORECASE
)
_SUBORDINATE = re.compile(r"\b(?:if|but|when|once|because|since|so|unless|until)\b|[,;]", re.IGNORECASE)
_SPLICE = re.compile(r", (?:please )?(?P<verb>[a-z]+)\b")
_WISH = re.compile(
    r"(?:i|we)(?:['’]\w+| \w+)?(?: (?!you\b)\w+){0,2}? to\b|i wanna\b|let['’]?s\b", re.IGNORECASE
)


_CONDITION = re.compile(r"\b(?:if|when|once|unless|before|after)\b[^,]*\Z")


def is_spliced(infinitive: str) -> bool:
    """Whether a comma alone stands between two orders: `start the engine, make sure the brake is pressed`."""
    return any(
        one["verb"] in SURE | AMBIGUOUS and not _CONDITION.search(infinitive, 0, one.start())
        for one in _SPLICE.finditer(infinitive)
    )


def is_wish(sentence: str) -> bool:
    """Whether the user says what they want to do."""
    return _WISH.match(sentence) is not None


@lru_cache(512)
def rewrite_request(infinitive: str, doer: Doer, *, wished: bool, open: bool) -> tuple[str, ...]:
    """Sentences that ask for the same. `wished`: the user has said what they want to do; `open`: its end is
    to be passed on as it stands, so that the sentence ends in it."""
    if is_spliced(infinitive):
        return ()
    said = (
        *_frame(infinitive, doer, wished=wished),
        *ask_for_state(infinitive),
        *ask_for_fact(infinitive),
    )
    return tuple(one for one in said if one.endswith(f"{infinitive}.")) if open else said


def _frame(infinitive: str, doer: Doer, *, wished: bool) -> list[str]:
    verb, _, rest = infinitive.partition(" ")
    if doer is Doer.USER:
        return [form.format(infinitive) for form in _WISHES]
    words = len(infinitive.split())
    short = words <= LONG and not _SEVERAL.search(infinitive)
    able = (
        verb in _USER_ABLE and not rest.startswith("that ") and (doer is Doer.EITHER or not _ME.search(rest))
    )
    forms: list[str] = []
    if not (wished and verb in _PURCHASE):
        forms += _ANY
        if short or (words <= _MANY and _SUBORDINATE.search(infinitive) is None):
            forms += (*_POLITE, *_GRATEFUL) if words >= _LEAST else _POLITE
        forms += _FOR_ME if short and words <= _BRIEF and not _ME.search(rest) else ()
        forms += _MIND if short and verb in ING else ()
    if able:
        forms += _WISHES
        forms += _DEEDS if short and verb in _DEED and not wished else ()
    if verb in _HELPED and short and not _ME.search(rest.partition(" for ")[0]):
        forms += _HELP
    return [_fill(form, infinitive, verb, rest) for form in forms]


ING = {verb: form for form, verb in GERUNDS.items()}


def _fill(form: str, asked: str, verb: str, rest: str) -> str:
    if form in _MIND:
        return form.format(f"{ING[verb]} {rest}")
    return form.format(asked[0].upper() + asked[1:] if form.startswith("{}") else asked)


_PARTICIPLES = make_pairs(
    """
    add:added block:blocked book:booked cancel:cancelled change:changed close:closed convert:converted
    copy:copied delete:deleted lock:locked move:moved post:posted remove:removed rename:renamed
    reschedule:rescheduled reset:reset restart:restarted send:sent set:set translate:translated
    transfer:transferred unlock:unlocked update:updated upgrade:upgraded activate:activated forward:forwarded
    sort:sorted
    """
)
_CHANGED = re.compile(
    rf"(?P<verb>{'|'.join(_PARTICIPLES)}) "
    r"(?P<what>(?:the|my|our|this|that) [\w'’.#$-]+(?: [\w'’.#$-]+){0,4}?)"
    r"(?P<rest> (?:to|into|from) [^,;]{1,80})?"
)
_DIRECTED = frozenset(
    """
    add change convert copy forward move rename reschedule send set transfer translate update upgrade
    """.split()
)
"""Verbs behind which it is said what their object becomes, or where it comes to."""
_NO_THING = re.compile(
    r" (?:I|he|it|she|they|we|you|that|which|who|at|by|for|from|in|into|of|on|onto|to|with|using|as|named"
    r"|called)\b"
)
_STATES = make_phrases(
    """
    I'd like {} {}. | I need {} {}. | I want {} {}. | I'd like to have {} {}. | Can I have {} {}? |
    Could I have {} {}? | Can I get {} {}? | I need to have {} {}. | I would like {} {}.
    """
)


def ask_for_state(infinitive: str) -> list[str]:
    """`Set the thermostat to 21` as `I'd like the thermostat set to 21`."""
    match = _CHANGED.fullmatch(infinitive)
    if match is None or _SEVERAL.search(infinitive) or _NO_THING.search(match["what"]):
        return []
    if match["rest"] and match["verb"] not in _DIRECTED:
        return []
    done = f"{_PARTICIPLES[match['verb']]}{match['rest'] or ''}"
    return [form.format(match["what"], done) for form in _STATES]
