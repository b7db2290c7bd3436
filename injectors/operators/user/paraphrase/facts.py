"""English requests for something to know, to see or to find, asked for by what it is: `Calculate the area of
a circle` as `What's the area of a circle?`, `Show me the bill` as `Can I see the bill?`
"""

from __future__ import annotations

import re

from crosswind.injectors.operators.user.requests.verbs import AMBIGUOUS, SURE
from crosswind.injectors.text.word_lists import make_phrases

LONGEST = 30
"""Words of the longest thing that is asked for in another way."""
_SHORT = 7
"""Words of the longest thing behind which its verb stands: `what the fare to Rome is`."""
_KNOWN = make_phrases(
    """
    Can you tell me {}? | Could you tell me {}? | I'd like to know {}. | I want to know {}. |
    Please tell me {}. | Tell me {}. | I need to know {}. | Could you please tell me {}? |
    Can you please tell me {}? | I would like to know {}. | Would you be able to tell me {}?
    """
)
_WHAT_IT_IS = make_phrases(
    """
    Do you know {}? | I was wondering {}. | Can you let me know {}? | Could you let me know {}? |
    I'm trying to find out {}. | Do you happen to know {}? | Can you find out {}? | Any idea {}? |
    Could you find out {}? | I'm wondering {}. | Please let me know {}. | I'd like to find out {}.
    """
)
"""What stands around a question only, `what the fare is`, besides what stands around `the fare`, too."""
_WORKED_OUT = make_phrases(
    """
    I need {}. | Give me {}. | Could you give me {}? | Can you give me {}? | Please give me {}. |
    Can I get {}? | Can you please give me {}? | I'm looking for {}. | I'm trying to find {}. |
    I need to find {}. | Can you find {}? | Could you find {}? | I'd like to find {}. | Please find {}. |
    Find {}. | I'm trying to work out {}. | Please work out {}. | Can you work out {}? |
    Could you work out {}? | I need help working out {}. | Help me find {}. | Can you figure out {}? |
    Could you figure out {}? | I need to work out {}.
    """
)
_EXPLAINED = make_phrases(
    """
    Could you explain {}? | Can you explain {}? | Please explain {}. | Explain {}, please. |
    I'd like to understand {}. | Can you explain {} to me? | Could you explain {} to me?
    """
)
_SEEN = make_phrases(
    """
    Can I see {}? | Could I see {}? | I'd like to see {}. | I want to see {}. | I need to see {}. |
    Let me see {}. | Can you show me {}? | Could you show me {}? | Please show me {}. | Show me {}. |
    May I see {}? | I'd like to have a look at {}. | I would like to see {}. | Let me have a look at {}. |
    Could you please show me {}? | I'd like to take a look at {}. | Can you please show me {}?
    """
)
_GOT = make_phrases(
    """
    I need {}. | Can I get {}? | Could I get {}? | Can I have {}? | Could I have {}? | Give me {}. |
    Can you give me {}? | Could you give me {}? | Please give me {}. | Can you get me {}? |
    Could you get me {}? | Get me {}. | I'd like {}. | I'd like to have {}. | I'd like to get {}. |
    Could you please give me {}? | I need to get {}. | I would like {}. | May I have {}?
    """
)
_SOUGHT = make_phrases(
    """
    I'm looking for {}. | I need to find {}. | I'd like to find {}. | I want to find {}. |
    I'm trying to find {}. | Help me find {}. | Can you help me find {}? | Could you help me find {}? |
    Can you look for {}? | Could you look for {}? | Please look for {}. | Look for {}. |
    Please help me find {}. | I am looking for {}. | I would like to find {}. | Can you search for {}? |
    Could you search for {}? | I need help finding {}. | Can you find {}? | Could you find {}? |
    Please find {}.
    """
)
_FOUND_ME = make_phrases(
    """
    Can you find me {}? | Could you find me {}? | Find me {}. | Please find me {}. | Show me {}. |
    Can you show me {}? | Could you show me {}?
    """
)
_SUGGESTED = make_phrases(
    """
    I'm looking for {}. | I need {}. | Can you suggest {}? | Could you suggest {}? | Can you recommend {}? |
    Could you recommend {}? | Please recommend {}. | Please suggest {}. | Could you please suggest {}? |
    Can you please recommend {}? | Do you know {}? | I'd like to find {}.
    """
)
_DEFINITE = r"(?:the|my|our|his|her|their)\b"
_VERBS = re.compile(
    r"(?:(?P<value>calculate|compute|determine|tell me|find|work out|figure out|look up|identify|check)"
    rf"(?= {_DEFINITE})"
    rf"|(?P<seen>show me|display|list|pull up)(?= (?:the|my|our|all|every)\b)"
    rf"|(?P<got>(?:get|fetch|retrieve|obtain|provide)(?= {_DEFINITE}| a list of)"
    r"|(?:give|get) me(?= (?:the|my|our|a|an|some|directions)\b)"
    r"|provide(?: me with)?(?= (?:a|an|some) (?:summary|list|overview)\b))"
    r"|(?P<sought>find(?: me)?(?! out\b)|search for|look for)"
    r"|(?P<suggested>suggest|recommend)(?= (?:a|an|some)\b)) (?P<what>.+)"
)
_ATTRIBUTE = re.compile(
    r"(?:the|my|our) (?:[\w-]+ ){0,3}?(?:area|average|circumference|cost|density|derivative|determinant"
    r"|deviation|difference|distance|divisor|energy|factors?|factorial|force|height|hypotenuse|integral"
    r"|intercept|length|maximum|mean|median|minimum|mode|multiple|number|perimeter|population|pressure|price"
    r"|probability|product|quotient|rate|ratio|remainder|roots?|slope|speed|square|sum|temperature|time|total"
    r"|value|variance|velocity|volume|weight|width|year|age|availability|balance|capital|forecast|level"
    r"|status|weather)\b"
)
"""What `find` asks for as a value, and not as a thing that lies somewhere."""
_FURTHER = re.compile(r"(?:,? \b(?:and|then|but|or|so)|,)(?: (?:then|also|please))? (?P<word>[a-z]+)")
_MEANS = re.compile(r"\b(?:using|by \w+ing|so that|in order to|as a|if|whether|then)\b|[;:]| for me\b")
_HEAD_ENDS = re.compile(
    r"\b(?:of|for|in|at|on|from|to|with|between|by|that|which|when|given|under|within|near|after|before|if"
    r"|over|per|using|who|whose|where|dropped|released|needed|required|available|made|named|called)\b|,"
)
_IRREGULAR = frozenset("children criteria data men people series women news".split())


_SUM = re.compile(r"(?:calculate|compute|work out) (?P<what>\d[\d.,]*(?:%| percent| \w+)? .{2,60})")
_CONVERTED = re.compile(r"convert (?P<what>\d[\d.,]* [A-Za-z ]{2,40}?) (?:in)?to (?P<unit>[A-Za-z ]{2,40})")


def ask_for_fact(infinitive: str) -> list[str]:
    """Sentences that ask for the thing itself; none where more than one thing is to be done."""
    match = _VERBS.fullmatch(infinitive)
    if match is None:
        return _ask_for_sum(infinitive)
    what = match["what"]
    if len(what.split()) > LONGEST or _MEANS.search(what) or not is_one_thing(what):
        return _ask_for_sum(infinitive)
    return [form.format(what) for form in _list_forms(match, what)]


def _list_forms(match: re.Match[str], what: str) -> tuple[str, ...]:
    if (verb := match["value"]) is not None and (verb not in ("find", "check") or _ATTRIBUTE.match(what)):
        return _list_value_forms(verb, what)
    for kind, forms in _FORMS.items():
        if match[kind] is not None:
            return forms
    if match["sought"] is None and verb != "find":
        return ()
    return _SOUGHT if what.startswith(("my ", "our ", "the ")) else (*_SOUGHT, *_FOUND_ME)


_FORMS = {"seen": _SEEN, "got": _GOT, "suggested": _SUGGESTED}


def _ask_for_sum(infinitive: str) -> list[str]:
    """`Convert 5 miles to kilometers` as `How much is 5 miles in kilometers?`"""
    if (match := _CONVERTED.fullmatch(infinitive)) is not None:
        what = f"{match['what']} in {match['unit']}"
        told = f"how much {match['what']} is in {match['unit']}"
    elif (match := _SUM.fullmatch(infinitive)) is not None and is_one_thing(match["what"]):
        what = match["what"]
        told = f"what {what} is"
    else:
        return []
    direct = [form.format(what) for form in ("How much is {}?", "What's {}?", "What is {}?")]
    return [*direct, *[form.format(told) for form in (*_KNOWN, *_WHAT_IT_IS)]]


def _list_value_forms(verb: str, what: str) -> tuple[str, ...]:
    be = _tell_number(what)
    forms = [
        *_KNOWN,
        *(() if be is None else (f"What {be} {{}}?",)),
        *(("What's {}?",) if be == "is" else ()),
    ]
    if what.startswith("the difference between"):
        forms += _EXPLAINED
    elif verb not in ("tell me", "look up", "identify", "check"):
        forms += _WORKED_OUT
    if be is not None and len(what.split()) <= _SHORT:
        forms += [form.format(f"what {{}} {be}") for form in (*_KNOWN, *_WHAT_IT_IS)]
    return tuple(forms)


def is_one_thing(what: str) -> bool:
    """Whether nothing else is asked for behind it."""
    return not any(one["word"] in SURE | AMBIGUOUS for one in _FURTHER.finditer(what))


def _tell_number(what: str) -> str | None:
    """`is` or `are`, where it is sure how many are asked for."""
    head = _HEAD_ENDS.split(what, maxsplit=1)[0].split()
    if not head or head[-1] in _IRREGULAR or "and" in head:
        return None
    last = head[-1]
    return "are" if last.endswith("s") and not last.endswith(("ss", "us", "is", "'s", "’s")) else "is"
