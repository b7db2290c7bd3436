"""Names of the fields by which systems say their content again, and the words for it."""

from __future__ import annotations

from crosswind.injectors.text.word_lists import make_phrases

MESSAGES = """
    message msg detail note outcome response_message summary description feedback acknowledgement
    status_message user_message reply notice comment result_message confirmation
""".split()
"""Fields of a sentence on how a call went."""
ECHOES = """
    request params parameters requested input inputs arguments args given received asked form_data submitted
    payload body provided options_used job_input
""".split()
QUERIES = [*ECHOES, *"query filter criteria searched selection lookup scope matched_on asked_for".split()]
"""Fields that hold what was asked for, of a call that changes something and of one that reads."""
CALLED = """
    command operation action method function procedure task invoked executed tool call rpc
""".split()
"""Fields that hold the name of the call that was carried out."""
SELF = "href self url_path uri path resource ref permalink endpoint canonical".split()
"""Fields of a record's own address."""
PLACES = """
    position index rank row ordinal seq idx nr item_number order_in_list running_number entry
""".split()
"""Fields of a record's place in a list."""
TYPES = "type object resource_type kind entity entity_type record_type of_type item_kind".split()
"""Fields of what a record is."""
PRINTED = "stdout output raw_output printed out console".split()
"""Fields of what a command printed."""
EXITS = "exit_code returncode rc exit retval".split()
"""Fields of how it ended."""
READINGS = "readings signals values measurements channels points telemetry samples gauges".split()
"""Fields that list a device's readings."""
LABELS = "display_name label caption heading headline shown_as".split()
NAMES = "display_name label title caption shown_as list_name".split()
"""Fields of a name for display, of one record and of each of a list."""
SUFFIXES = "display formatted label readable printed fmt str string".split()
"""Behind a field's name: what it holds as a text for people."""
JOINED = "display list joined csv line".split()
"""The same for a list of words in one text."""
COUNTS = """
    count total total_count num_results size total_items length returned matches hits found entries n
    number_of_items
""".split()
"""Fields that say how many a list has."""
EXCERPTS = "excerpt preview snippet teaser beginning first_words lead abstract".split()
HEADINGS = make_phrases(
    """
    Summary | Key points | In brief | Highlights | Overview | At a glance | Main points | Recap | In short |
    Short version | Notes | Digest
    """
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
