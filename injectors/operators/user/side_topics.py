"""Side questions by the field of a message: none bears on a task, names a value or orders a thing."""

from __future__ import annotations

FIELDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "travel": (
        (
            "flight",
            "flying",
            "airline",
            "suitcase",
            "luggage",
            "hotel",
            "train",
            "trip",
            "travel",
            "airport",
            "seat",
        ),
        (
            "do planes usually serve warm meals on long routes?",
            "is the window side quieter than the aisle?",
            "why do ears hurt when a plane goes down?",
            "do people still send postcards when they travel?",
            "how do pilots find their way at night?",
            "which is greener, taking the train or the bus?",
        ),
    ),
    "shopping": (
        ("order", "product", "parcel", "delivery", "shop", "item", "buy", "kettle", "refund", "package"),
        (
            "is cardboard better for the environment than paper?",
            "how do couriers plan their routes?",
            "why do so many shops use blue in their logos?",
            "do people still look into printed catalogues?",
            "what do big warehouses look like inside?",
            "is it true that shops play slow music on purpose?",
        ),
    ),
    "any": (
        (),
        (
            "do you think it will rain over the weekend?",
            "what do people mostly talk to you about?",
            "have you heard of a good book lately?",
            "how do you tell a crow from a raven?",
            "is coffee or tea healthier in the long run?",
            "why is the sea salty and a lake mostly isn't?",
        ),
    ),
}
"""Field to the words that tell it, and its questions."""

TURNS_AWAY = ("By the way,", "Something else that came to my mind:", "While we are talking,", "Oh,")
"""How the user leaves the subject."""

COMES_BACK = (
    "But what I asked for comes first.",
    "Anyway, that can wait, back to my request.",
    "Well, never mind that, my request is what matters.",
    "That is just curiosity, please see to my request.",
)
"""How the user returns to it."""


def field_of(text: str) -> str:
    """The field whose words the message uses; `any` where it uses none."""
    lowered = text.lower()
    fields = (name for name, (words, _) in FIELDS.items() if any(word in lowered for word in words))
    return next(fields, "any")
