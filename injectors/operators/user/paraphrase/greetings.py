"""What an English message greets and thanks with, and whether it is courteous once, and no more."""

from __future__ import annotations

import re

from crosswind.injectors.operators.user.paraphrase.rewrites import end_sentence, lower_first
from crosswind.injectors.operators.user.requests.verbs import AMBIGUOUS, SURE
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.text.quotations import find_open_end
from crosswind.injectors.text.word_lists import make_phrases

GREETED, THANKED = 0.3, 0.4
"""How often a message that does neither comes to greet, and to thank."""
_GREETINGS = make_phrases(
    """
    Hi, | Hello, | Hey, | Hi there, | Hi! | Hello! | Hey! | Hello there, | Hey there, | Hi there!
    """
)
_CLOSINGS = make_phrases(
    """
    Thanks. | Thank you. | Thanks! | Thank you! | Thanks a lot. | Many thanks. | Thanks in advance. |
    Thank you very much. | Thanks so much! | Thank you in advance. | Thank you so much. | Thanks a lot! |
    Thanks for your help. | Many thanks! | Thanks for the help! | Thanks so much. | Thanks for your help! |
    Thank you for your help. | Thanks very much. | Thanks in advance!
    """
)
_GREETED = re.compile(
    r"\b(?:hi|hello|hey|good (?:day|morning|afternoon|evening)|thanks|thank you)\b", re.IGNORECASE
)
"""Words by which a message greets already, or goes on from what was said."""
_THANKS = "thanks|thank you|thx"
_ASKS = r"please|pls|plz|kindly|appreciate\w*|great if|would help"
_COURTESY = re.compile(rf"\b(?:{_THANKS}|{_ASKS}|cheers|grateful|obliged|helpful if)\b", re.IGNORECASE)
"""Words by which a message asks politely or thanks already, so that no thanks follow."""
_POLITE = tuple(
    re.compile(rf"\b(?:{words})\b", re.IGNORECASE)
    for words in (
        rf"{_ASKS}|if you can|would you mind|do you mind|wonder\w*|possibl[ey]|favor|glad|hoping|hope you"
        "|able to|do you think|go ahead|can i ask|could i ask",
        _THANKS,
    )
)
"""A message asks politely once, and thanks once."""
_GOES_ON = re.compile(
    r"(?:also|and|but|by the way|finally|first|lastly|next|now|oh|ok|okay|so|then|yes|no|perfect|great)\b",
    re.IGNORECASE,
)
"""How a message begins that goes on from something: nobody greets before it."""
_NAMED = re.compile(r"[\w$€£#'’./@-]*(?:[A-Z]|\d)[\w'’/@-]*")


def is_off(said: str, sentence: str, text: str) -> bool:
    """Whether the form is polite twice, by itself or with the rest, or writes a name otherwise."""
    rest = text.replace(sentence, " ", 1)
    twice = any(len(one.findall(said)) + bool(one.search(rest)) > 1 and one.search(said) for one in _POLITE)
    return twice or any(name not in said for name in _NAMED.findall(sentence.partition(" ")[2]))


def add_courtesy(
    said: str, text: str, spoken: str, begin: int, stop: int, rng: SeededRandom, *, first: bool
) -> str:
    """The sentence with a greeting before it or thanks behind, where it begins or ends a message without.
    `first`: the message begins the conversation, so that it may greet."""
    greets, thanks = rng.chance(GREETED), rng.chance(THANKED)
    greeting, closing = rng.choice(_GREETINGS), rng.choice(_CLOSINGS)
    whole = f"{text[:begin]} {text[stop:]} {spoken} {said}"
    opens, ends = not text[:begin].strip(), not text[stop:].strip() and find_open_end(text) is None
    greets = greets and first and opens and _GREETED.search(whole) is None and not _GOES_ON.match(said)
    thanks = thanks and ends and _COURTESY.search(whole) is None
    if said[:1].islower():
        small = f"{greeting.rstrip(',!').lower()}, {said}" if greets else said
        comma = "" if small[-1:] in ".?!" else ","
        return f"{small}{comma} {closing.rstrip('.!').lower()}" if thanks else small
    if greets:
        ordered = said.partition(" ")[0].lower() in SURE | AMBIGUOUS
        said = (
            f"{greeting} {lower_first(said)}"
            if greeting.endswith(",") and not ordered
            else f"{greeting.replace(',', '!')} {said[0].upper()}{said[1:]}"
        )
    return f"{end_sentence(said, '.')} {closing}" if thanks else said
