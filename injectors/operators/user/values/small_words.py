"""English words that begin a phrase, and where one ends."""

from __future__ import annotations

import re

from crosswind.injectors.operators.user.values.vague.place import find_next_word
from crosswind.injectors.text.word_lists import make_words

DETERMINERS = make_words(
    "a an the this that these those my our your his her their its any some each every no"
)
GO_ON = make_words(
    """
    about above across after again against all along also am among an and any are around as at be because
    been before below between both but by can could currently did do does during each either for from had
    has have he her him his how i if in inside instead into is it its just keep last later like make may
    maybe me might must my near next no not now of off on only onto or our out outside over per please put
    right she should since so some such than thanks that the their them then there these they this those
    through till to today together tomorrow tonight too under until up using via was we were what when
    where which while who whose why will with within without worth would you your
    """
)
"""Words behind which a value ends its phrase: what stands before them qualifies no noun."""

NO_PLURALS = "(?!(?:is|was|has|does|as|this|its|wants|needs|seems|says|diabetes|always|perhaps|yes)\\b)"
"""As a pattern: what ends like a plural behind a number, and isn't what it counts: `Order ID 8812 has`."""


_PARTICIPLE = re.compile(
    r" [a-z]{2,}(?:ed|en|ing) (?:after|at|before|between|by|during|from|in|on|since|to|with|within)\b"
)


def qualifies(text: str, end: int) -> bool:
    """Whether what ends there stands before a noun. What was done or is done, and when or where, is none:
    `in Ohio filed after 2015`."""
    after = find_next_word(text, end)
    return after != "" and after[0].islower() and after not in GO_ON and not _PARTICIPLE.match(text, end)


def is_small_word(word: str) -> bool:
    """Whether it is a determiner, a preposition or its like, behind which a new phrase begins."""
    return word in DETERMINERS or word in GO_ON
