"""Names of the fields by which services say something beside their data."""

from __future__ import annotations

REMARKS = """
    note notice info remark hint tip advisory guidance caveat reminder fyi annotation bulletin disclaimer
    good_to_know additional_info service_message system_message
""".split()
"""Fields of remarks."""

REMARK_LISTS = """
    notes notices remarks hints tips advisories reminders caveats info_messages annotations bulletins
    announcements
""".split()
"""Fields of lists of remarks."""

REMARK_HOLDERS = "meta _meta metadata response_metadata system service context".split()
"""Fields that hold what a service says besides."""

NEXT_TOOLS = """
    next_actions see_also next_steps related_tools possible_calls recommended_operations follow_ups
    suggestions quick_links also_available other_endpoints further_methods shortcuts often_used_next
    available_transitions companion_tools
""".split()
"""Fields by which a system names its calls that may come next."""

NEXT_TOOL = """
    next_action suggested_call see_also recommended_operation next_step default_next related_endpoint
    shortcut follow_up continue_with
""".split()
"""The same for a single call."""

LEADS = ("", "", "", "\u2022 ", "* ")
"""What stands before a remark that is a line of text, in any language."""

ENGLISH_LEADS = ("", "", "", "Note: ", "Note: ", "Please note: ", "* ", "Info: ", "NB: ")
"""The same in an English text."""

MEMBERS = "available supported allowed valid other possible".split()
"""First words of fields that list what an argument may be."""

AUTHORED = frozenset(
    """body content comment comments review reviews description summary bio caption feedback remark remarks
    post tweet readme reply article abstract excerpt snippet note notes biography story about""".split()
)
"""Last words of fields that hold what a person wrote."""

_ON_STAYS = ("latest_review", "guest_feedback", "featured_review", "guest_comment", "visitor_opinion")
_FOR_STAYS = ("guest_note", "customer_request", "arrival_remark", "special_instructions", "guest_message")
_ON_TICKETS = ("latest_comment", "last_reply", "reporter_remark", "customer_feedback", "last_message")
_ON_WARES = ("latest_review", "buyer_opinion", "featured_review", "buyer_comment", "shopper_feedback")
_WITH_PARCELS = ("sender_note", "delivery_instructions", "courier_remark", "recipient_request")
FREE_TEXTS: dict[str, tuple[str, ...]] = {
    "order": ("customer_note", "gift_message", "packing_request", "card_message", *_WITH_PARCELS[1:]),
    "product": _ON_WARES,
    "item": _ON_WARES,
    "restaurant": _ON_STAYS,
    "hotel": _ON_STAYS,
    "reservation": _FOR_STAYS,
    "booking": _FOR_STAYS,
    "appointment": _FOR_STAYS,
    "issue": _ON_TICKETS,
    "ticket": _ON_TICKETS,
    "shipment": _WITH_PARCELS,
    "customer": ("last_message", "latest_comment", "customer_feedback", "contact_remark"),
}
"""The fields for people's free text that records of a kind may have besides, by the noun of their tool."""

FREE_BEGINNINGS: dict[str, tuple[str, ...]] = {
    "review": (
        "Nice quality, and it came quickly.",
        "Exactly as shown in the pictures.",
        "Good, but a bit smaller than I thought.",
        "We would come back any time.",
        "Does what it should, nothing more.",
        "My sister has had one for years.",
        "Four stars, since the box was damaged.",
        "Better than the last one that I tried.",
    ),
    "comment": (
        "I can see this as well.",
        "Worth it, if you ask me.",
        "Still the same for me today.",
        "No complaints so far.",
        "It took a while, but all went well.",
        "Same here since last week.",
        "The people there were very kind.",
        "Can only agree with the others.",
    ),
    "note": (
        "The bell doesn't work, so please knock.",
        "No plastic wrapping if that's possible.",
        "I may be five minutes late.",
        "Please don't ring, the baby is asleep.",
        "The entrance is round the corner.",
        "If I'm out, the neighbours can take it.",
        "It's for my brother, he knows about it.",
        "Fragile, this side up.",
    ),
    "message": (
        "Happy birthday, we hope you like it!",
        "Thanks for the quick answer yesterday.",
        "All the best from all of us.",
        "Sorry, I was away for a few days.",
        "Here is what I promised you.",
        "It was lovely to see you again.",
        "I couldn't reach you by phone.",
        "Hope that this finds you well.",
    ),
}
FREE_BEGINNINGS |= {
    **dict.fromkeys(("request", "remark", "instructions"), FREE_BEGINNINGS["note"]),
    **dict.fromkeys(("feedback", "opinion"), FREE_BEGINNINGS["review"]),
    "reply": FREE_BEGINNINGS["message"],
}
"""How such texts begin, by the last word of their field."""

MESSAGES = frozenset(
    """message messages inbox mail email emails mails chat conversation thread review reviews comment comments
    post posts reply replies feedback tweet tweets letter ticket tickets issue issues""".split()
)
"""Words of tools and fields whose texts people write to one another."""

PAGES = frozenset(
    """page pages website url browse browser fetch wikipedia wiki article articles news blog readme document
    documents file files cat head tail review reviews post posts email mail message messages letter""".split()
)
"""Words of tools whose text is a page's or a file's."""

COMMANDS = frozenset(
    "bash shell terminal command cat ls cd grep pwd wc du tail diff mv cp mkdir touch git pytest".split()
)
"""Words of tools that run commands."""
