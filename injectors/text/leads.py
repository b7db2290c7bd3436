"""Leads: the words behind which a text may stand that is to be passed on word for word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from crosswind.injectors.text.tokens import WordKind

_THING = (
    "(?:messages?|notes?|comments?|tweets?|posts?|captions?|contents?|texts?|body|subject|titles?|description"
    "|reply|response|e-?mail|mail|letter|announcement|status|greeting|reminder|review)"
)
_FIELD = "(?:message|caption|content|text|body|subject|title|description)"
_LEADING = rf"""\b(?:
        (?P<list>(?:{_THING}(?:\ +[\w'’]+){{0,6}}(?<!\bid)(?<!\bids)(?<!number)
          |as\ follows|following|verbatim|word\ for\ word)\ *:)
      | (?P<speech>(?:saying|stating|(?:that|which|to|should|must|just|simply)\ (?:says?|reads?|states?)
        | {_THING}\ (?:reads?|reading)|{_FIELD}\ as)(?:\ *[:,])?)
      | with\ (?:the\ |a\ |an\ |this\ )?(?:following\ )?{_THING}(?:\ (?:of|as|being))?
      | (?:send|sends|sending|leave|deliver|convey|transmit|post|publish|write|pass\ on|drop)
        (?:\ (?!the\b|a\b|an\b)[\w@.'’-]+)?\ (?:the|a|an|this)\ (?:following\ |short\ |quick\ )?{_THING}
      | {_FIELD}\ (?:is|being|should\ be|to\ be)
      | (?<!\ba\ )(?<!\bthe\ )(?<!\bmy\ )(?<!\bthis\ )(?<!\bthat\ )(?<!ing\ )tweet
      | (?:reply\ with|respond\ with|answer\ with|echo|jot\ down)
    )(?=[\s\S])"""
LEADS = re.compile(_LEADING, re.IGNORECASE | re.VERBOSE)
"""Words behind which a text may stand that is to be passed on word for word."""
_LEADS_IN_LOWER_CASE = re.compile(_LEADING, re.ASCII | re.VERBOSE)
"""The same for a text in ASCII in lower case: found eight times as fast."""

_KEPT = r"(?:logs?|reports?|records?|register|document|file|enter|note|write\ up|put\ in)"
_OPENED = r"(?:add|create|make|open|raise|submit|send)"
_CASE = (
    "(?:incidents?|issue|ticket|complaint|fault|defect|damage|bug|claim|case|entry|remark|observation|feedback"
    "|finding|task|to-?do|event|squawk|hazard)"
)
_ON = r"(?:\ +[\w'’#/&-]+(?:\.\w+)*,?)"
RECORDED = re.compile(
    rf"""(?<!want\ to\ )(?<!need\ to\ )(?<!like\ to\ )(?<!have\ to\ )(?<!wanted\ to\ )\b
      (?:{_KEPT}\ +(?:up\ +|down\ +|in\ +)?(?:an?|another|one|the|this|that|it|my|our|as|for|on|under
        |to|new|minor|major|\w+\ +{_CASE})\b{_ON}{{0,14}}
      | {_OPENED}\ +(?:an?|another|one|the|this|new)\b{_ON}{{0,4}}?\ +{_CASE}\b{_ON}{{0,10}})
    (?<!\bid)(?<!\bids)(?<!number)\ *:(?=\ +[^\W\d]\S*\s+\S+\s+\S)(?![^\n]*\?)""",
    re.IGNORECASE | re.VERBOSE,
)
"""What is put on record, with an account of it behind a colon: `log a minor incident: the loader scraped it`.
Who wants to report something tells the agent, and asks a question of it."""


_RECORDS = WordKind(
    frozenset(
        "log logs report reports record records register document file enter note write put"
        " add create make open raise submit send".split()
    ).__contains__
)
"""The first word of every match of `RECORDED`."""


def find_recorded(text: str) -> Iterator[re.Match[str]]:
    """The places behind which the account of something begins that is to be put on record."""
    if ": " not in text or (text.isascii() and not _RECORDS.may_stand_in(text)):
        return iter(())
    return RECORDED.finditer(text)


_STEMS = (
    *"message note comment tweet post caption content text body subject title description reply".split(),
    *"response mail email letter announcement status greeting reminder review follow verbatim".split(),
    *("word for word", "say", "stat", "read", "respond with", "answer with", "echo", "jot down"),
)
"""One of these is in every match of `LEADS`: most texts have none, and a search for them is much cheaper."""

_SPOKEN_STEMS = frozenset({"say", "stat", "read"})
_SPEAKING = ("that ", "which ", "to ", "should ", "must ", "just ", "simply ")
"""Words behind which `says` and its like stand, where no word for a message does."""
_FIRST_STEMS = tuple(stem.partition(" ")[0] for stem in _STEMS)
_STEM = WordKind(lambda word: word.startswith(_FIRST_STEMS))


def find_leads(text: str) -> Iterator[re.Match[str]]:
    """The leads of a text: their groups say whether a list follows, or speech."""
    if text.isascii():
        if not _STEM.may_stand_in(text):
            return iter(())
        text = text.lower()
        return _LEADS_IN_LOWER_CASE.finditer(text) if _may_lead(text) else iter(())
    return LEADS.finditer(text) if mentions(text, _STEMS) else iter(())


def _may_lead(text: str) -> bool:
    """Whether a word of a text, in ASCII and in lower case, begins as one of every lead does."""
    for stem in _STEMS:
        at = text.find(stem)
        while at >= 0:
            begins = at == 0 or not (text[at - 1].isalnum() or text[at - 1] == "_")
            if begins and (stem not in _SPOKEN_STEMS or _is_led(text, at)):
                return True
            at = text.find(stem, at + 1)
    return False


def _is_led(text: str, at: int) -> bool:
    """Whether `say`, `state` or `read` there may lead: `saying`, `stating`, `that says`."""
    return text.startswith(("saying", "stating", "status"), at) or text.endswith(_SPEAKING, 0, at)


def mentions(text: str, stems: Iterable[str]) -> bool:
    folded = text.casefold()
    for stem in stems:  # noqa: SIM110 -- `any` takes twice as long
        if stem in folded:
            return True
    return False
