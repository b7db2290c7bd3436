"""Words by which requests choose, in groups: who means one may first say another of its group.

No digits, no names: a wrong value must never be taken for a fact. Words that say what is to be done (cancel,
return) are left out, so that not even a reader of half the message does harm.
"""

from __future__ import annotations

_GROUPS = """
    red blue green yellow black white grey brown pink purple orange silver golden
    small large big
    smaller larger bigger
    smallest largest biggest
    cheap expensive
    cheaper dearer
    short long
    shorter longer
    light heavy
    old new
    older newer
    upper lower
    front back
    early late
    earlier later
    morning afternoon evening
    economy business
    window aisle
    outbound inbound
    single double
    round square
    cotton wool linen leather
    wooden metal plastic glass
    hot cold
    soft firm
    Monday Tuesday Wednesday Thursday Friday Saturday Sunday
    January February March April June July August September October November December
"""

OTHERS: dict[str, tuple[str, ...]] = {
    word: tuple(other for other in line.split() if other != word)
    for line in _GROUPS.strip().splitlines()
    for word in line.split()
}
"""Word to those that it can be mistaken for."""
