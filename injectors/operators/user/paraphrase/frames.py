"""Which of the packs' frames carry a request: the one that a frame makes do it must be able to."""

from __future__ import annotations

import re

from crosswind.injectors.operators.user.requests.extraction import Doer, Request
from crosswind.injectors.packs.model import Entry
from crosswind.injectors.text.languages import Language

_SLOT = "{request}"
LONG = 12
"""Words of a request behind which a frame doesn't go on."""

_ENDED = re.compile(r"[.?!。？！؟…]\Z")
_CLAUSE = re.compile(r"[.:?!;—]")
_AGENT = re.compile(r"\b(?:you|your|u|someone|somebody|anyone|service|bank)\b", re.IGNORECASE)
_COMMAND = re.compile(
    r"(?:\A|\b(?:and|kindly|please|pls|now|hey|yeah|up|short|mind|over|then|next),?)\s*\Z", re.IGNORECASE
)
_USER = re.compile(
    r"\b(?:I|we|my|our|us|me|gotta|let['’]s|shall we)\b|\b(?:need|love|want) to\b", re.IGNORECASE
)
_FOR_ME = re.compile(r"\b(?:for me|for us|on my behalf)\b", re.IGNORECASE)
_ME = re.compile(r"\b(?:me|us)\b", re.IGNORECASE)
_BRIEF = 9
"""Words of a request behind which it can be said for whom it is."""
_SPOKEN_FOR = re.compile(r"\b(?:for|I|we|me|us)\b")
_HELP = re.compile(r"\b(?:help\w*|hand|assist\w*)\b", re.IGNORECASE)
_FACT = re.compile(
    r"\b(?:husband|wife|holiday|travels|machine|asked to|decided|recommended|customer|chat|writing|duty"
    r"|trying to)\b"
    r"|\b(?:Do|namely|among the jobs)\b|through this|thats? ok|position to|on you now|owe you|[Tt]icket"
    r"|high time|the bank|in my life|this project|\b[Ww]e\b|\b[Ww]e'|\bus\b|\b[Oo]ur\b|taking on"
)
"""Frames that say something of the user's circumstances, or don't read well around a long request."""
_BEFORE_PRONOUN_DE = re.compile(r"(?:[Bb]itte|mal) \{")
"""What stands behind a German pronoun, not before it."""
_OF_SPEAKER = {
    Language.FR: re.compile(r"-(?:moi|nous|le|la|les)\b"),
    Language.JA: re.compile("(?:教える|見せる|知らせる)$"),
    Language.AR: re.compile(r" لي\b"),
}
"""What is done for the speaker, or ordered, in a form that no frame carries: `et réveille-moi`."""
_FOR_SPEAKER_ES = re.compile(r"\w+[aeií]r(?:me|nos)\b")
"""What nobody needs to do to themselves: `mostrarme las facturas`."""
_ORDERED = frozenset(
    """
    activate delete disable display edit enable generate get list locate modify move open plot query remove
    rename set sort start stop submit turn update upload write
    """.split()
)
"""What a user tells an agent to do, and doesn't say to do themselves."""
_GREETING = re.compile(r"(?:hi|hello|hey|so|next|now|then)\b", re.IGNORECASE)


_GREETS = re.compile(
    r"(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|morning|hallo|guten|hola|buen[oa]s|bonjour"
    r"|salut)\b"
    r"|你好|您好|こんにちは|مرحب",
    re.IGNORECASE,
)


def greets(entry: Entry) -> bool:
    """Whether the frame greets, as a conversation's first message may."""
    return _GREETS.match(entry.text) is not None


def find_doer(frame: str) -> Doer:
    """Who does the request in a frame."""
    before = _CLAUSE.split(frame.partition(_SLOT)[0])[-1]
    if _AGENT.search(before) or _COMMAND.search(before):
        return Doer.AGENT
    return Doer.USER if _USER.search(before) else Doer.EITHER


def fits(entry: Entry, request: Request, language: Language, *, alone: bool, small: bool) -> bool:
    """Whether the frame carries the request. `alone`: nothing else is in the message; `small`: its user types
    without capitals."""
    behind = entry.text.partition(_SLOT)[2]
    asked = request.infinitive
    long = len(asked.split()) > LONG or "," in asked or " and " in asked
    if language is not Language.EN:
        if not alone and (entry.text[0].islower() or not _ENDED.search(entry.text)):
            return False  # A small letter behind a full stop, or a sentence that runs into the next one.
        mine = _OF_SPEAKER.get(language)
        if _BEFORE_PRONOUN_DE.search(entry.text) and asked.startswith(("mir ", "uns ", "mich ")):
            return False
        if entry.text.startswith("Necesito") and _FOR_SPEAKER_ES.match(asked):
            return False
        return (mine is None or not mine.search(asked)) and not (long and len(behind.strip(" .?!？。！")) > 3)
    if (long and len(behind.split()) > 1) or (behind[:1] == "," and asked[-1:].isdigit()):
        return False
    return _reads_well(entry.text, request, alone=alone, small=small) and _has_doer(entry.text, request)


def _reads_well(frame: str, request: Request, *, alone: bool, small: bool) -> bool:
    """Whether the frame says no more than the request, and goes with what stands before it."""
    if _FACT.search(frame) or (_GREETING.match(frame) and (request.opening or request.start)):
        return False
    bare = frame[0].islower() or frame[-1].isalpha()
    return (alone and small) or not bare


def _has_doer(frame: str, request: Request) -> bool:
    """Whether the frame makes the right one do it, and doesn't say twice for whom."""
    doer, asked = find_doer(frame), request.infinitive
    if _says_for_whom(frame, asked):
        return False
    if _ME.search(asked) and doer is Doer.EITHER:
        return frame.startswith(("Is it possible", "Would it be possible"))
    if request.doer is Doer.USER:
        return doer is Doer.USER
    if doer is Doer.USER and asked.partition(" ")[0] in _ORDERED:
        return False
    return Doer.EITHER in (request.doer, doer) or doer is request.doer


def _says_for_whom(frame: str, asked: str) -> bool:
    """Whether the frame says for whom it is, or speaks of help, where the request does or is long."""
    if _HELP.search(frame):
        return _HELP.search(asked) is not None or _ME.search(asked) is not None
    long = len(asked.split()) > _BRIEF
    return _FOR_ME.search(frame) is not None and (long or _SPOKEN_FOR.search(asked) is not None)
