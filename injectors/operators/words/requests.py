"""Words of requests that noise blurs or contradicts."""

from __future__ import annotations

VAGUER: dict[str, str] = {
    "exactly": "",
    "precisely": "",
    "specifically": "",
    "the exact": "the",
    "the precise": "the",
    "the specific": "the",
    "the correct number": "the correct information",
    "the right number": "the right information",
    "the full name": "the name",
    "with my reservation": "",
    "with my booking": "",
    "on my account": "",
    "immediately": "soon",
    "right away": "soon",
    "as soon as possible": "when it suits",
    "asap": "soon",
    "right now": "",
    "straight away": "soon",
    "urgently": "soon",
    "as precisely as possible": "",
    "in particular": "",
    "in detail": "",
    "step by step": "",
    "carefully": "",
    "thoroughly": "",
    "strictly": "",
}
"""Lower-case phrase to the vaguer one that replaces it. Only words that limit or describe, never the request.
"""

COMPARED = ("larger", "smaller", "bigger", "longer", "shorter", "newer", "older", "cheaper")
"""`the larger one` becomes `the other one`, which leaves open which."""

OWNED = frozenset(
    """
    account article booking case customer flight invoice item order package parcel product reservation
    ticket appointment card claim contract device meeting policy prescription subscription trip
    """.split()  # noqa: SIM905
)
"""Nouns that an id follows, of what is the user's: `order #W1` becomes `my order` where it is withheld."""

NAMED = OWNED | frozenset(
    """
    alert bed branch build bus cluster commit department deployment doctor employee event game gate incident
    instance issue job match message node patient player pod process room server service session task team
    terminal train transaction user vehicle visit ward
    """.split()  # noqa: SIM905
)
"""Nouns that an id follows. `patient P-7` becomes `the patient`."""

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

CURRENCIES = "USD|EUR|GBP|INR|JPY|CNY|dollars|euros|pounds|rupees|yen|yuan"

BEFORE_COUNTS = frozenset(
    """
    about add and are around book bring buy for find get have invite is list make move need of order pack
    play print reserve schedule send show take want with
    """.split()  # noqa: SIM905
)
"""Words behind which `3 nights` can become `some nights`."""

PLACES = frozenset(
    {"address", "city", "country", "destination", "location", "origin", "place", "region", "town"}
)
"""Parameters of tools that take a place."""

HEDGES = (
    ", if that makes sense",
    ", if you see what I mean",
    ", if that is the right word",
    ", or however you would put it",
)
"""Put at the end of a request: the user is vague about the words, and takes nothing back."""

DETERMINERS = frozenset({"my", "the", "this", "that", "our", "your", "his", "her", "their"})

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
"""Words by which requests choose: who means one may first say another of its group.

No digits, no names: a wrong value must never be taken for a fact. Words that say what to do (cancel, return)
are left out, so that not even a reader of half the message does harm.
"""

BELIEFS = {
    "many": (("a single one", "several"), ("hardly any", "quite a few"), ("several", "none at all")),
    "much": (("next to nothing", "a great deal"), ("very little", "rather a lot")),
}
"""Pairs of beliefs about a quantity that can't both be true. No figures: a wrong number could be taken for a
fact."""
