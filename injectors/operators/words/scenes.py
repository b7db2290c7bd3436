"""Irrelevant state by kind of scene: things, looks and surroundings, never a state of the task."""

from __future__ import annotations

from crosswind.injectors.text.word_lists import make_phrases

HOUSEHOLD_OBJECTS = """
    bowl cup pan spoon fork knife plate mug bottle can glass basket tray vase jar container jug thermos
    pitcher dish tumbler sponge towel napkin rack coaster utensil lid
""".split()
HOUSEHOLD_LOOKS = make_phrases(
    """
    cracked | dirty | dusty | sticky | rusty | greasy | smudged | faded | slightly burnt | wrapped in foil |
    wet on the outside | tipped over | long unused
    """
)
HOUSEHOLD_SENTENCES = (
    "There is a {} here that looks {}.",
    "In the corner stands a {} that seems {}.",
    "Your eye falls on a {}, apparently {}.",
    "A {} lies about, {}.",
)

GRID_THINGS = make_phrases(
    """
    broken crate | sealed door | pile of rubble | faded sign | leaking pipe | loose tile | stack of boxes
    """
)
GRID_PLACES = (
    "outside the room",
    "beyond the wall",
    "out of reach",
    "behind a collapsed wall",
    "in a blocked corridor",
)

SHOP_CLOTHES = """
    rompers jumpsuits blouses cardigans pajamas loungewear tunics hoodies knitwear sweaters basics
""".split()
SHOP_PRAISE = make_phrases(
    """
    new arrivals | selling fast | back in stock | fan favourites | hand-picked | top-rated | trending
    """
)
SHOP_PRODUCTS = """
    romper jumpsuit blouse tunic sweater hoodie cardigan bodysuit dress coverall camisole
""".split()
SHOP_FLAWS = make_phrases(
    """
    overpriced | out of stock | without reviews | with a broken zip | wrongly tagged | with faded colour
    """
)
SHOP_FEATURES = make_phrases(
    """
    fabric: machine wash cold | shipping note: ships within a week | sizing tip: runs half a size large |
    brand story: known for cosy minimalism | packaging: folded in a paper bag |
    care: do not iron over the print | layering: wears well under a coat |
    warehouse tag: popular for errands | seams: delicate stitching
    """
)
