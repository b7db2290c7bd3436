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

REMARKS = "note notes info notice message _note additional_info service_note remarks info_message".split()
"""Fields of remarks."""

LEADS = ("", "", "", "\u2022 ", "\u2014 ", "(i) ")
"""What stands before a remark that is a line of text, in any language."""

ENGLISH_LEADS = ("Note: ", "Info: ", "Hint: ", "Notice: ", "NB: ", "hint: ", "note: ", "Please note: ", "")
"""The same in an English text."""
