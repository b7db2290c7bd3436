"""Irrelevant state by kind of scene: things, looks and surroundings, never a state of the task."""

from __future__ import annotations

HOUSEHOLD_OBJECTS = [
    "bowl",
    "cup",
    "pan",
    "spoon",
    "fork",
    "knife",
    "plate",
    "mug",
    "bottle",
    "can",
    "glass",
    "basket",
    "tray",
    "vase",
    "jar",
    "container",
    "jug",
    "thermos",
    "pitcher",
    "dish",
    "tumbler",
    "sponge",
    "towel",
    "napkin",
    "rack",
    "coaster",
    "utensil",
    "lid",
]
HOUSEHOLD_LOOKS = (
    "cracked",
    "dirty",
    "dusty",
    "sticky",
    "rusty",
    "greasy",
    "smudged",
    "faded",
    "slightly burnt",
    "wrapped in foil",
    "wet on the outside",
    "tipped over",
    "long unused",
)
HOUSEHOLD_SENTENCES = (
    "There is a {} here that looks {}.",
    "In the corner stands a {} that seems {}.",
    "Your eye falls on a {}, apparently {}.",
    "A {} lies about, {}.",
)

GRID_THINGS = (
    "broken crate",
    "sealed door",
    "pile of rubble",
    "faded sign",
    "leaking pipe",
    "loose tile",
    "stack of boxes",
)
GRID_PLACES = (
    "outside the room",
    "beyond the wall",
    "out of reach",
    "behind a collapsed wall",
    "in a blocked corridor",
)

SHOP_CLOTHES = [
    "rompers",
    "jumpsuits",
    "blouses",
    "cardigans",
    "pajamas",
    "loungewear",
    "tunics",
    "hoodies",
    "knitwear",
    "sweaters",
    "basics",
]
SHOP_PRAISE = (
    "new arrivals",
    "selling fast",
    "back in stock",
    "fan favourites",
    "hand-picked",
    "top-rated",
    "trending",
)
SHOP_PRODUCTS = [
    "romper",
    "jumpsuit",
    "blouse",
    "tunic",
    "sweater",
    "hoodie",
    "cardigan",
    "bodysuit",
    "dress",
    "coverall",
    "camisole",
]
SHOP_FLAWS = (
    "overpriced",
    "out of stock",
    "without reviews",
    "with a broken zip",
    "wrongly tagged",
    "with faded colour",
)
SHOP_FEATURES = (
    "fabric: machine wash cold",
    "shipping note: ships within a week",
    "sizing tip: runs half a size large",
    "brand story: known for cosy minimalism",
    "packaging: folded in a paper bag",
    "care: do not iron over the print",
    "layering: wears well under a coat",
    "warehouse tag: popular for errands",
    "seams: delicate stitching",
)

FOREIGN_OPENING = "Elsewhere, a monitor shows a shopping page."
FOREIGN_ENTRIES = ("It lists a {}, {}.", "Below is a {}, {}.", "It also offers a {}, {}.")

DATA_FIELDS: dict[str, tuple[str, ...]] = {
    "ui_theme": ("warm grey", "pale blue", "high contrast"),
    "banner_slot": ("upper left", "lower right", "none"),
    "font_family": ("sans", "serif", "monospaced"),
    "rendered_by": ("layout worker", "edge renderer", "page builder"),
    "cache_zone": ("north hall", "south hall", "attic"),
    "log_channel": ("quiet", "verbose", "sampled"),
    "icon_set": ("rounded", "outlined", "filled"),
    "sort_widget": ("collapsed", "pinned", "floating"),
    "background_noise": ("light rain", "soft hum", "distant traffic"),
    "shelf_label": ("slightly faded", "freshly printed", "handwritten"),
    "room_lighting": ("dimmed", "daylight", "mixed"),
    "footer_text": ("have a pleasant day", "thank you for visiting", "see you soon"),
    "printer_tray": ("half full", "almost empty", "full"),
    "sound_scheme": ("chimes", "clicks", "muted"),
    "menu_style": ("compact", "roomy", "stacked"),
    "window_blinds": ("half open", "closed", "open"),
}
"""Field to its possible values."""
