"""Which words go before an English aside, and what closes it: neither says what the aside says already."""

from __future__ import annotations

import re

_COURTESY = re.compile(
    r"\b(?:bother|doable|favou?r|if|mind|please|possible|thanks|trouble|would you)\b", re.IGNORECASE
)
_ADDS = re.compile(r"\b(?:also|and|another|besides|favou?r|more|on top|other)\b", re.IGNORECASE)
_ADDED = re.compile(r"\b(?:also|another|as well|besides|more|on top|too)\b", re.IGNORECASE)
"""What says that something comes on top: of words before an aside, and of the aside."""
_TIME = re.compile(
    r"\b(?:after(?:wards)?|done|finished|lastly|later|once|ready|then|when|while)\b", re.IGNORECASE
)
"""When it is to be done: "Once that's done, call me once it has worked." """
_PAIRS = ((_COURTESY, _COURTESY), (_ADDS, _ADDED), (_TIME, _TIME))


def is_courteous(said: str) -> bool:
    """Whether it asks politely already."""
    return _COURTESY.search(said) is not None


def goes_before(lead: str, said: str) -> bool:
    """Whether words can lead up to an aside: one courtesy, one word of addition, one time."""
    return not any(before.search(lead) and within.search(said) for before, within in _PAIRS)
