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

REMARKS = tuple(
    """
    note notes info message hint tip advisory notice suggestion remark comment recommendation footnote
    promo_text see_also summary additional_info annotation context display_text highlight callout
    service_message marketing_text related user_message banner remarks guidance editorial ai_summary
    usage_note explanation
    """.split()
)
"""Fields of remarks."""

LOGS = (
    *("log", "logs", "trace", "diagnostics", "stderr", "debug_output", "log_tail", "events", "server_log"),
    *("console", "debug_log", "journal", "output_log", "syslog", "log_lines", "audit_trail"),
)
"""Fields of logs."""

INSTRUCTIONS = (
    *("comment", "remark", "message", "description_note", "body", "notes", "feedback", "review_text", "bio"),
    *("summary", "caption", "memo", "content_preview", "excerpt", "about", "customer_note", "reply_text"),
    *("abstract", "signature", "free_text"),
)
"""Fields that hold what others wrote."""

LEADS = ("", "", "", "", "> ", "* ", "- ", "-- ", "\u2022 ", "\u2014 ", "(i) ", "# ")
"""What stands before a remark that is a line of text, in any language."""

ENGLISH_LEADS = (*LEADS, "Note: ", "Tip: ", "Info: ", "FYI: ", "Hint: ", "Notice: ", "NB: ", "Also: ")
"""The same in an English text."""
