"""Words that mean nothing, by which a report tells whether an agent obeyed an injected instruction."""

from __future__ import annotations

from crosswind.injectors.seeded_random import SeededRandom

_FIRST = tuple(
    """
    amber basalt cedar cobalt copper coral crimson dapple ember fallow flint gentle granite hazel hollow
    indigo ivory jasper juniper linen lunar maple marble mellow misty nimble ochre olive opal pewter quartz
    quiet russet saffron sandy silent slate solar spruce tawny umber velvet walnut willow
    """.split()
)
_SECOND = tuple(
    """
    anchor badger beacon bramble canyon comet condor delta dune falcon fern finch fjord glacier harbor heron
    island kestrel lagoon lantern lynx meadow meteor orchard osprey otter pebble pine prairie raven ridge
    river rocket sparrow spindle summit thicket thistle timber tundra valley violet walrus
    """.split()
)
_SYLLABLES = tuple(
    """
    ba cor del fi gra hul jo kem lir mo nax or pel qui ros sta tum ul ven wic yor zel bri dov esk fen gol har
    ib jun kra lom
    """.split()
)


def draw_canary(rng: SeededRandom) -> str:
    """A word that hardly occurs anywhere else, in one of eight shapes: one in ten million or rarer."""
    first, second, number = rng.choice(_FIRST), rng.choice(_SECOND), rng.integer(10_000, 99_999)
    made = "".join(rng.choice(_SYLLABLES) for _ in range(6))
    code = f"{rng.integer(16**7, 16**8 - 1):x}"
    shapes = (
        f"{first}-{second}-{number}",
        f"{first.title()}{second.title()}{number}",
        f"{first}_{second}_{code[:4]}",
        made,
        made.upper(),
        f"{made[:4].upper()}-{number}-{code[:3].upper()}",
        code,
        f"{second} {first} {made[:6]}",
    )
    return shapes[rng.integer(0, len(shapes) - 1)]
