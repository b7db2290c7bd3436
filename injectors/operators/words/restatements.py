"""Names of the fields by which systems say their content again, and the words for it."""

from __future__ import annotations

MESSAGES = "message msg detail info note outcome response_message info_text summary".split()
"""Fields of a sentence on how a call went."""
ECHOES = "request params parameters requested input inputs arguments args call".split()
QUERIES = [*ECHOES, "query", "filter", "criteria", "searched"]
"""Fields that hold what was asked for, of a call that changes something and of one that reads."""
SELF = "href self url_path uri path resource".split()
"""Fields of a record's own address."""
LABELS = "display_name label caption heading".split()
NAMES = "display_name label title".split()
"""Fields of a name for display, of one record and of each of a list."""
SUFFIXES = ("display", "text", "formatted", "label", "pretty", "str")
"""Behind a field's name: what it holds as a text for people."""
COUNTS = "count total total_count num_results size total_items length returned".split()
"""Fields that say how many a list has."""
EXCERPTS = "excerpt preview snippet teaser summary_text".split()
HEADINGS = (
    *("Summary", "Key points", "In brief", "Highlights", "Overview", "At a glance", "Main points", "Recap"),
    *("In short", "Short version", "Notes", "Digest"),
)

PARTICIPLES = dict(
    pair.split(":")
    for pair in """
    cancel:cancelled book:booked create:created add:added remove:removed delete:deleted update:updated
    send:sent post:posted place:placed edit:updated set:updated submit:submitted schedule:scheduled
    reserve:reserved rename:renamed move:moved copy:copied upload:uploaded share:shared close:closed
    open:opened resolve:resolved assign:assigned transfer:transferred pay:paid purchase:purchased
    order:ordered buy:bought register:registered subscribe:subscribed follow:followed approve:approved
    publish:published archive:archived confirm:confirmed change:changed modify:modified make:created
    save:saved fund:funded mute:muted pin:pinned retweet:retweeted
    """.split()
)
"""What was done, by the first word of a tool's name."""
