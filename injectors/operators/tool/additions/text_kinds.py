"""What kind of text a person wrote into a result, and which texts people write to a record that has none."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from crosswind.injectors.guard.tool_evidence import words_of
from crosswind.injectors.guard.tool_words import READING
from crosswind.injectors.text.word_lists import make_words
from crosswind.injectors.values.parameters import split_name


class TextKind(StrEnum):
    """A kind of text that a person writes. Its name is a stem of the entries' `about`."""

    MAIL = "mail"
    """A letter's or a mail's."""
    MESSAGE = "message"
    """A message's, as in a chat."""
    TICKET = "ticket"
    """In a ticket, an issue or a pull request: to those who work on it."""
    REVIEW = "review"
    POST = "post"
    """In public: a tweet, a comment in a blog."""
    DESCRIPTION = "description"
    PRODUCT = "product"
    """A seller's description."""
    PAGE = "page"
    """A page, an article or a part of one."""
    FILE = "file"
    """A file's own text."""
    ORDER = "order"
    """A buyer's note."""
    BOOKING = "booking"
    """A guest's or a traveller's note."""
    SHIPMENT = "shipment"
    """A note to the carrier."""
    EVENT = "event"
    """What a meeting is about."""


_CONTEXTS = {
    word: kind
    for kind, words in {
        TextKind.REVIEW: "review rating feedback testimonial",
        TextKind.MAIL: "mail email inbox letter subject",
        TextKind.MESSAGE: "message chat conversation dm sms notification voicemail",
        TextKind.TICKET: "ticket issue bug incident task jira pull pr commit defect complaint claim",
        TextKind.POST: "post tweet feed forum blog comment thread retweet mention",
        TextKind.ORDER: "order purchase checkout",
        TextKind.BOOKING: """booking reservation appointment flight hotel trip room stay table restaurant
            court rental itinerary""",
        TextKind.SHIPMENT: "shipment parcel delivery package consignment",
        TextKind.EVENT: "event meeting calendar agenda schedule",
        TextKind.PRODUCT: "product item listing catalog catalogue sku goods article shop store",
        TextKind.PAGE: "page wiki wikipedia document paper book news url website web search section chapter",
        TextKind.FILE: "file readme repo repository doc cat head tail bash shell terminal",
    }.items()
    for word in words.split()
}
"""Of what kind a text is, by a word of the fields around it or of its tool, in the singular."""
_REVIEWS = make_words("review reviews feedback opinion")
_NOTES = make_words("note notes remark remarks request requests instructions")
_DESCRIPTIONS = make_words("description bio biography about caption")
_TEXTS = make_words("content article abstract excerpt snippet summary readme story")
_SAID = frozenset({TextKind.REVIEW, TextKind.MAIL, TextKind.MESSAGE, TextKind.TICKET, TextKind.POST})
_MEANT = {
    **dict.fromkeys(_REVIEWS, frozenset({TextKind.TICKET})),
    **dict.fromkeys(
        _NOTES,
        frozenset(
            {
                TextKind.ORDER,
                TextKind.BOOKING,
                TextKind.SHIPMENT,
                TextKind.TICKET,
                TextKind.MESSAGE,
                TextKind.MAIL,
            }
        ),
    ),
    **dict.fromkeys(
        _DESCRIPTIONS,
        frozenset({TextKind.TICKET, TextKind.EVENT, TextKind.PRODUCT, TextKind.PAGE, TextKind.FILE}),
    ),
    **dict.fromkeys(_TEXTS, _SAID | {TextKind.EVENT, TextKind.FILE}),
}
"""Of which kinds a text can be, by the last word of its field; of another field's, as a comment or a body, of
these."""
_OTHERWISE = {
    **dict.fromkeys(_REVIEWS, TextKind.REVIEW),
    **dict.fromkeys((*_NOTES, *_DESCRIPTIONS), TextKind.DESCRIPTION),
    **dict.fromkeys(_TEXTS, TextKind.PAGE),
    **dict.fromkeys(("body", ""), TextKind.PAGE),
}
"""Of which kind a text is where nothing around it tells."""


def find_text_kind(tool: str, names: Iterable[str]) -> TextKind:
    """The kind of a text, by the names of the fields that hold it, from the outermost, and by its tool."""
    *outer, own = [list(split_name(name)) for name in names] or [[]]
    last = own[-1] if own else ""
    meant = _MEANT.get(last, _SAID if last else _SAID | {TextKind.FILE})
    within = [own[:-1] if last in _OTHERWISE else own, *reversed(outer), words_of(tool)]
    for word in (word for words in within for word in reversed(words)):
        kind = _CONTEXTS.get(word) or _CONTEXTS.get(word.removesuffix("s"))
        if kind in meant:
            return kind
    return _OTHERWISE.get(last, TextKind.POST)


_FIELDS = {
    TextKind.ORDER: make_words("customer_note order_note buyer_note comment"),
    TextKind.BOOKING: make_words("remarks booking_note customer_note special_requests"),
    TextKind.SHIPMENT: make_words("sender_note delivery_instructions recipient_note"),
    TextKind.TICKET: make_words("latest_comment last_comment last_reply latest_update"),
    TextKind.REVIEW: make_words("latest_review featured_review recent_review"),
}
"""The fields for people's words that a record may have besides."""
_RECORDS = {
    **dict.fromkeys(("order", "purchase"), TextKind.ORDER),
    **dict.fromkeys(("booking", "reservation", "appointment"), TextKind.BOOKING),
    **dict.fromkeys(("shipment", "parcel", "delivery"), TextKind.SHIPMENT),
    **dict.fromkeys(("ticket", "issue", "incident"), TextKind.TICKET),
    **dict.fromkeys(("product", "hotel", "restaurant"), TextKind.REVIEW),
}
_REVIEWED = {
    "hotel": (
        "Quiet room and kind staff.",
        "Good location, breakfast was fine.",
        "Clean, small, close to everything.",
        "We slept well and would come again.",
        "Nice view, thin walls.",
        "Friendly front desk, slow lift.",
    ),
    "restaurant": (
        "Good food, kind service.",
        "Tasty, but the room gets loud.",
        "Generous portions, fair bill.",
        "We waited a while, it was worth it.",
        "Lovely soup, small terrace.",
        "Go early, it fills up.",
    ),
    "product": (
        "Does what it says.",
        "Works well so far.",
        "Good value, plain packaging.",
        "I bought a second one.",
        "Not perfect, but I like it.",
        "Better made than my old one.",
    ),
}
"""How a review begins, by what is reviewed."""
_TRADED = make_words("symbol ticker order_type")
"""Fields of a stock's order, which carries nobody's words."""
_SEATED = make_words("flight seat gate train concert movie venue passenger fare price departure")
"""Words of fields that a ticket to something has."""


def list_carrying(tool: str, keys: Iterable[str]) -> tuple[TextKind, list[str], tuple[str, ...]] | None:
    """The kind of the words that people write to what a tool reads, the names that a field of them may have,
    and how they may begin; None: people write nothing to it. `keys` are those of the record."""
    verb, *rest = words_of(tool) or [""]
    nouns = [word.removesuffix("s") for word in rest] if verb in READING else []
    noun = next((one for one in nouns if one in _RECORDS), "")
    kind = _RECORDS.get(noun)
    names = ["_".join(split_name(key)) for key in keys]
    words = {word for name in names for word in name.split("_")}
    if kind is None or not _TRADED.isdisjoint(names) or "stock" in nouns:
        return None
    if kind is TextKind.TICKET and not _SEATED.isdisjoint(words | set(nouns)):
        kind = TextKind.BOOKING
    return kind, sorted(_FIELDS[kind]), _REVIEWED.get(noun, ("",))
