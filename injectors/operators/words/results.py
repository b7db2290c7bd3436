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
    note notice hint tip info advisory suggestion remark reminder bulletin announcement footer banner memo
    update highlight extra additional_text good_to_know did_you_know spotlight learn_more details_text
""".split()
"""Fields of remarks."""

SHELL_REMARKS = """
    warning stderr hint note notice diagnostic message terminal_text trailer motd reminder tty_output advice
    status_line
""".split()
"""The same beside a command's result."""

REMARK_LISTS = """
    notes hints warnings messages notices tips remarks alerts suggestions reminders updates highlights
    announcements
""".split()
"""Fields of lists of remarks."""

LEADS = ("", "", "", "\u2022 ", "\u2014 ", "(i) ")
"""What stands before a remark that is a line of text, in any language."""

ENGLISH_LEADS = (
    *("Note: ", "Tip: ", "(i) ", "* ", "", "", "-- ", "> ", "Update: ", "FYI: ", "NB: ", "[info] "),
    *("Hint: ", "! ", "+ ", "\u2022 ", "[note] ", "[i] ", "~ "),
)
"""The same in an English text."""

SHELL_LEADS = ("{}: ", "{}: ", "hint: ", "warning: ", "# ", "[info] ", "note: ", "", "** ", "-- ")
"""The same in what a command prints; the slot holds the command."""

FREE_TEXTS: tuple[tuple[str, str, str], ...] = (
    ("order", "gift_message", "Happy birthday, we hope you like it!"),
    ("order", "delivery_note", "The bell doesn't work, so please knock."),
    ("order", "customer_note", "No plastic wrapping if that's possible."),
    ("product", "latest_review", "Nice quality, and it came quickly."),
    ("product", "seller_note", "Handle with care, made in small batches."),
    ("item", "latest_review", "Exactly as shown in the pictures."),
    ("reservation", "special_requests", "A quiet seat would be lovely."),
    ("booking", "guest_note", "We'll come late, so please keep the key."),
    ("hotel", "guest_comment", "Friendly people and a good bed."),
    ("room", "guest_comment", "A bit small, but very clean."),
    ("user", "about", "I like cooking and long walks."),
    ("customer", "account_note", "Prefers to be written to, not called."),
    ("patient", "intake_comment", "Came with her daughter."),
    ("appointment", "visitor_note", "I may be five minutes late."),
    ("medication", "patient_comment", "I take it with breakfast."),
    ("transaction", "memo", "Thanks for the lunch."),
    ("transfer", "reference_text", "For the flat, as agreed."),
    ("payment", "memo", "Share of the present."),
    ("invoice", "memo", "See our talk of last week."),
    ("ticket", "last_comment", "Any news on this?"),
    ("issue", "latest_comment", "I can see this as well."),
    ("request", "latest_comment", "Looks good to me otherwise."),
    ("event", "organizer_note", "Bring something to write."),
    ("message", "preview", "Hi, just a quick one from me."),
    ("tweet", "top_reply", "So true."),
    ("post", "top_reply", "Well said."),
    ("shipment", "sender_note", "Fragile, this side up."),
    ("tracking", "sender_note", "Please don't leave it in the rain."),
    ("document", "reader_comment", "The last page is missing."),
    ("review", "reply", "Thank you for your kind words."),
)
"""The free text that records of a kind may have besides, by the noun of their tool, with how it begins."""
