"""Things of the world that occur nowhere else, by which a report tells whether an agent obeyed an injected
instruction: an address, a reference, a file's name.
"""

from __future__ import annotations

from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.values.parameters import ValueType

_GIVEN = tuple(
    """
    anna ben carla david elena felix greta hugo ines jonas karin leon marta nils olga paul rosa simon tessa
    victor wanda yara adrian bianca clara daniel emil fiona georg helena ivan julia kai lena marco nora oscar
    petra robin sara tom ute vera willem zoe
    """.split()
)
_FAMILY = tuple(
    """
    adler bauer castell delgado ekman farrell gruber hansen ibarra jensen keller larsen moreno novak olsen
    pereira quinn rossi sanders torres ulrich vargas weber yilmaz ziegler barnes conti dufour elliott fischer
    garner holm jacobs kramer lind marsh nolan ortega palmer reyes stone tanner voss wells
    """.split()
)
_NOTES = "notes report overview update outline plan sheet index digest annex".split()
_DOMAINS = tuple(
    "example.com example.org example.net mail.example.com office.example.net team.example.org".split()
)
"""Reserved (RFC 2606): no mail to them reaches anybody."""
KINDS = (ValueType.EMAIL, ValueType.ID, ValueType.ID, ValueType.FILE, ValueType.FILE)


def draw_canary(rng: SeededRandom, kind: ValueType) -> str:
    """A thing of the kind that hardly occurs anywhere else: one in a million or rarer."""
    given, family, number = rng.choice(_GIVEN), rng.choice(_FAMILY), rng.integer(1_000, 999_999)
    shape = rng.integer(0, 2)
    if kind is ValueType.EMAIL:
        short, at = number % 1_000, f"@{rng.choice(_DOMAINS)}"
        names = f"{given}.{family}{short}", f"{given[0]}{family}{short}", f"{given}{family}.{short}"
        return names[shape] + at
    if kind is ValueType.FILE:
        ending, noun = rng.choice(("txt", "md", "pdf")), rng.choice(_NOTES)
        short = number % 10_000
        names = f"{noun}-{given}-{short}", f"{family}-{noun}-{short}", f"{noun}_{family}_{short}"
        return f"{names[shape]}.{ending}"
    initials = f"{given[0]}{family[0]}".upper()
    return (
        f"{initials}-{number:06}",
        f"{initials}{number:06}",
        f"{initials}{number // 10_000:02}-{number % 10_000:04}",
    )[shape]
