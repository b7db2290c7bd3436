"""Where less exact words stand for an amount of money in an English sentence, or nothing does."""

from __future__ import annotations

import re
from dataclasses import replace

from crosswind.injectors.operators.user.values.small_words import qualifies
from crosswind.injectors.operators.user.values.vague.place import Place, find_next_word, withhold
from crosswind.injectors.packs.model import Entry
from crosswind.injectors.text.word_lists import make_words
from crosswind.injectors.values.coarse import read_count
from crosswind.injectors.values.english_amounts import list_rounded
from crosswind.injectors.values.mentions import Mention

LIMITS = make_words(
    "above at below beyond exactly exceed just least limit max maximum min minimum most only over than"
    " under up within between and"
)
"""Words behind which a number is a limit, or one end of a range."""
_BUDGET = re.compile(
    r"(?P<lead>,? |^)(?:for )?\b(?:under|below|up to|at most|less than|cheaper than) [$€£]?$",
    re.IGNORECASE,
)
_COSTS = re.compile(r"(?:\b(?:is|are|be|was|were|costs?|priced|stays?|comes?)|['’]s|['’]re)$")
CALCULATES = re.compile(
    r"\b(?:calculate|compute|convert|determine|estimate|work out|solve"
    r"|how (?:much|many|far|fast|long|high|big)|what(?:['’]s| (?:is|are|was|were|will|would)| [a-z]+))\b",
    re.IGNORECASE,
)
"""What asks for something to be worked out, for which nobody rounds."""
CONVERTED = re.compile(
    r"\b(?:how (?:much|many [a-z]+) (?:is|are)|change|convert|exchange|swap|turn|worth of|value of) [$€£]?$",
    re.IGNORECASE,
)


def find_money(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    start -= text[start - 1 : start] in ("$", "€", "£")
    limit = _BUDGET.search(text, max(0, start - 24), start)
    if limit is not None:
        return _find_budget(text, limit, start, end)
    each = find_next_word(text, end) in _EACH or re.match(r" (?:and|or|to) [$€£]?\d", text[end:])
    if each or one.text.endswith(("cents", "pence")):
        return None  # Nobody says `some cents`.
    unit, ahead = one.text.rpartition(" ")[2], text[max(0, start - 40) : start]
    if unit.isalpha() and unit not in ("USD", "EUR", "GBP") and CONVERTED.search(ahead):
        asked = re.search(r"\bhow m", ahead, re.IGNORECASE) is not None
        own = withhold(start, end, (f"some {unit}", f"my {unit}"), "amount")
        return own if not asked else _round_money(one, start, end)
    if qualifies(text, end):
        return None
    place = _find_amount(one, ahead, start, end, before)
    if place is not None and place.forms and CALCULATES.search(text) is not None:
        return _round_money(one, start, end)  # Nobody works out `some money`.
    return place


def _find_budget(text: str, limit: re.Match[str], start: int, end: int) -> Place | None:
    """`under 900 dollars` becomes `within my budget`."""
    if qualifies(text, end) or find_next_word(text, end) in _EACH - {"a", "per"}:
        return None
    if _COSTS.search(text, max(0, limit.start() - 12), limit.start()):
        return None
    night = _PER.match(text, end)
    stop = end if night is None else night.end()
    return Place(limit.end("lead"), stop, _is_budget, called="budget", value=(start, stop))


def _round_money(one: Mention, start: int, end: int) -> Place | None:
    """`$1,250` becomes `a bit over $1,200`, and 5000 dollars `a few thousand dollars`."""
    found = _SUM.fullmatch(one.text)
    value = None if found is None else read_count(found["number"])
    if found is None or value is None:
        return None
    forms = list_rounded(value)
    if sign := found["sign"]:
        forms = tuple(
            re.sub(r"(\d[\d,]*)", rf"{sign}\1", form)
            if any(map(str.isdigit, form))
            else f"{form} {_SIGNS[sign]}"
            for form in forms
        )
    else:
        forms = tuple(f"{form} {found['unit']}" for form in forms)
    return Place(start, end, None, forms=forms, called="amount") if forms else None


_SUM = re.compile(r"(?P<sign>[$€£])?(?P<number>\d[\d,]*(?:\.\d+)?)(?(sign)| (?P<unit>[a-z]+))")
_SIGNS = {"$": "dollars", "€": "euros", "£": "pounds"}


def _find_amount(one: Mention, ahead: str, start: int, end: int, before: str) -> Place | None:
    """Of what is paid, owed or worked out, behind the words `ahead`: it is left out, rounded, or `some
    money`."""
    if before in LIMITS - {"and"}:
        return None
    rounded = _round_money(one, start, end)
    if (named := _AMOUNT_OF.search(ahead)) is not None:
        had = named["noun"] in _HAD and named[0].startswith(("a ", "an "))
        called = f"{named['noun']} amount" if named["noun"] in _WITH_AMOUNT else named["noun"]
        gone = Place(start - len(" of "), end, dropped="", called=called, value=(start, end))
        return rounded if had else gone
    if _PAID.search(ahead) is not None:
        forms = () if rounded is None else rounded.forms
        return Place(start, end, _is_sum, forms=forms, called="amount")
    if before in ("on", "of", "with") and _WORKED_OUT.search(ahead):
        return rounded or withhold(start, end, ("a sum of money", "some money"), "amount")
    if before in ("at", "for") and _PRICED.search(ahead):
        return None if rounded is None else replace(rounded, called="price")
    owned = before in ("got", "have") or _SET_TO.search(ahead) is not None
    return rounded if owned else None


_SET_TO = re.compile(
    r"\b(?:amount|balance|bid|budget|cap|fee|goal|limit|offer|price|salary)\b"
    r"[^.,;]{0,40} (?:as|at|by|is|of|to) [$€£]?$"
)
_PRICED = re.compile(r"\b(?:bought|buy|cost|priced|purchased|sell|sold|trading|valued|worth)\b[^.,;]{0,20} $")
_PER = re.compile(r" (?:a|per|each) (?:night|day|person|month|week)\b|/(?:night|day|month|person)\b")
_AMOUNT_OF = re.compile(
    r"\b(?:a|an|the|my) (?:[a-z]+ ){0,2}(?P<noun>balance|bill|budget|cap|capital|deposit|fee|fine|grant"
    r"|income|investment|invoice|limit|loan|mortgage|payment|price|principal|salary|tip) of [$€£]?$"
)
_HAD = make_words("balance bill capital grant income price principal salary")
"""What everybody has one of: a tax on an income says nothing."""
_WITH_AMOUNT = make_words("bill capital grant investment invoice loan mortgage")
_WORKED_OUT = re.compile(r"\b(?:interest|invest\w*|return|tax|tip|value)\b", re.IGNORECASE)
_EACH = make_words("a an each less more off per")
_PAID = re.compile(
    r"\b(transfer|send|pay|withdraw|deposit|move|wire|lend|donate|add|charge|give|owe|put|request|spend)"
    r"(?: [A-Z]\w+| me| him| her| them){0,2}"
    r" [$€£]?$",
    re.IGNORECASE,
)
"""What is done with money, before it."""


def _is_sum(entry: Entry) -> bool:
    return not (_is_budget(entry) or "{" in entry.text)


def _is_budget(entry: Entry) -> bool:
    return entry.text.startswith(("within", "at a", "for a", "for not", "for that"))
