"""Which words go before an English aside, and what closes it: neither says what the aside says already."""

from __future__ import annotations

import re

_COURTESY = re.compile(
    r"\b(?:bother|doable|favou?r|if|mind|option|please|possible|thanks|trouble|would you)\b", re.IGNORECASE
)
_ADDING = re.compile(r"\b(?:also|another|as well|besides|favou?r|more|on top|other|too)\b", re.IGNORECASE)
_TIME = re.compile(
    r"\b(?:after(?:wards)?|done|finished|lastly|later|once|ready|then|when|while)\b", re.IGNORECASE
)
"""When it is to be done: "Once that's done, call me once it has worked." """
_KINDS = (_COURTESY, _ADDING, _TIME)


def is_courteous(said: str) -> bool:
    """Whether it asks politely already."""
    return _COURTESY.search(said) is not None


def goes_before(lead: str, said: str) -> bool:
    """Whether words can lead up to an aside: one courtesy, one word of addition, one time."""
    return not any(kind.search(lead) and kind.search(said) for kind in _KINDS)
