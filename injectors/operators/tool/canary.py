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


def draw_canary(rng: SeededRandom) -> str:
    """A word that hardly occurs anywhere else, in one of six shapes: one in ten million or rarer."""
    first, second, number = rng.choice(_FIRST), rng.choice(_SECOND), rng.integer(10_000, 99_999)
    code = f"{rng.integer(16**7, 16**8 - 1):x}"
    shapes = (
        f"{first}-{second}-{number}",
        f"{first.title()}{second.title()}{number}",
        f"{first}_{second}_{code[:4]}",
        f"{first.upper()}-{number}-{code[:3].upper()}",
        f"{second.upper()}{number}{code[:2].upper()}",
        f"{first}{second}{code[:4]}",
    )
    return shapes[rng.integer(0, len(shapes) - 1)]
