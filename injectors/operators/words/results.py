"""Names of the fields by which services say something beside their data."""

from __future__ import annotations

FRESHNESS: tuple[tuple[str, object], ...] = (
    ("age", None),
    ("cache_age_s", None),
    ("cache", "HIT"),
    ("x_cache", "HIT"),
    ("served_from", "replica"),
    ("from_cache", True),
    ("snapshot_age_seconds", None),
    ("consistency", "eventual"),
)
"""Fields by which caches and replicas say how old an answer is, with what they say; None: an age in
seconds."""

REMARKS = """
    note notice info message announcement banner advisory news update service_note system_message
    notification system_notice service_message server_message system_info reminder
""".split()
"""Fields of remarks."""

SHELL_REMARKS = """
    stderr stderr warning notice motd message tty_output session_message shell_message terminal
""".split()
"""The same beside a command's result."""

DEVICE_REMARKS = """
    notice message info reminder notification advisory display_message system_message note service_note
    status_message
""".split()
"""The same beside a device's answer."""

REMARK_LISTS = """
    notes notices messages notifications announcements news updates system_messages
""".split()
"""Fields of lists of remarks."""

REMARK_HOLDERS = "meta _meta metadata response_metadata system service context".split()
"""Fields that hold what a service says besides."""

NEXT_TOOLS = """
    next_actions suggested_actions available_actions see_also next_steps actions related_tools
    possible_actions recommended_actions quick_actions follow_ups related_operations allowed_actions
    suggestions
""".split()
"""Fields by which a system names its calls that may come next."""

NEXT_TOOL = """
    next_action suggested_action see_also recommended_action next_step suggested_next related_operation
    next_best_action follow_up
""".split()
"""The same for a single call."""

LEADS = ("", "", "", "\u2022 ", "\u2014 ", "(i) ")
"""What stands before a remark that is a line of text, in any language."""

ENGLISH_LEADS = (
    *("", "", "", "", "Note: ", "Info: ", "(i) ", "* ", "-- ", "> ", "FYI: ", "[info] ", "Notice: "),
    *("\u2022 ", "- ", "[i] "),
)
"""The same in an English text."""

FREE_TEXTS: tuple[tuple[str, str, str], ...] = (
    ("order", "gift_message", "Happy birthday, we hope you like it!"),
    ("order", "delivery_note", "The bell doesn't work, so please knock."),
    ("order", "customer_note", "No plastic wrapping if that's possible."),
    ("product", "latest_review", "Nice quality, and it came quickly."),
    ("item", "latest_review", "Exactly as shown in the pictures."),
    ("reservation", "special_requests", "A quiet seat would be lovely."),
    ("hotel", "guest_comment", "Friendly people and a good bed."),
    ("appointment", "visitor_note", "I may be five minutes late."),
    ("issue", "latest_comment", "I can see this as well."),
    ("shipment", "sender_note", "Fragile, this side up."),
)
"""The free text that records of a kind may have besides, by the noun of their tool, with how it begins."""
