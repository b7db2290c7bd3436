"""Names of the fields by which services say something beside their data."""

from __future__ import annotations

REMARKS = """
    note notice info additional_information remark comment message description disclaimer caveat
    service_note remarks footnote display_text status_message annotation details advice
    explanation hint fine_print
""".split()
"""Fields of remarks."""

REMARK_LISTS = """
    notes notices remarks messages comments disclaimers caveats footnotes service_messages
""".split()
"""Fields of lists of remarks."""

REMARK_SUFFIXES = "note notes notice remark comment message description details".split()
"""Last words of a field whose remark is on one of the result's own: `price_note`."""

REMARK_KINDS = (
    ("type", "info"),
    ("type", "note"),
    ("type", "advice"),
    ("level", "low"),
    ("level", "notice"),
    ("priority", "low"),
    ("severity", "low"),
    ("kind", "note"),
    ("category", "general"),
)
REMARK_TEXTS = "message description content body".split()
"""Fields of a remark that is an object: what kind it is of, and its sentence."""

PROMOTIONS = "suggestion recommendation tip info message hint suggested note related_suggestion".split()
"""Fields of remarks that name another of the records."""

ACTIONS = """
    actions available_actions allowed_actions supported_actions allowed_operations available_operations
    supported_operations operations permitted_operations possible_operations available_commands
    possible_actions permitted_actions supported_commands available_tools available_functions
""".split()
"""Fields by which a system says what can be done with what it gave."""

VERBS = """
    capabilities allowed_operations available_operations supported_operations operations actions
    available_actions allowed_actions possible_actions permitted_actions
""".split()
"""The same of fields that hold verbs alone."""

LINKS, LINK_LISTS = "_links links hrefs".split(), "links relations related_links".split()
"""Fields by which it links to that."""

RELATED_TOOLS = """
    see_also related_tools associated_functions related other_tools linked_methods associated_operations
    connected_calls companion_commands refer_to
""".split()
RELATED_TOOL = "see_also related related_call refer_to".split()
"""Fields by which it names calls on the same things, and a single one."""

NEXT_TOOLS = """
    next_steps suggested_tools recommended_tools next_actions suggested_actions follow_up_steps
    suggested_operations possible_steps follow_ups continue_with proceed_with
    suggestions recommended_functions further_steps
""".split()
"""Fields by which it names calls that may come next."""

NEXT_TOOL = """
    next_step suggested_tool recommended_tool next_action suggested_action follow_up_step follow_up
    suggested_operation continue_with proceed_with possible_step
    recommended_command
""".split()
"""The same for a single call."""

HINTS = "hint tip help hint_text usage_hint help_text suggestion note info".split()
"""Fields that name a call in a sentence."""

ENVELOPES = "meta _meta metadata".split()
"""Objects in which a service puts what it says of its answer as a whole."""

BASES = ("/", "/api/", "/v1/", "/v2/", "/api/v1/", "/api/v2/", "/rest/")
"""How the paths of links begin."""

READ_HINTS = (
    "See {} for more.",
    "More details: {}",
    "Related: {}",
    "{} has the details.",
    "Details come from {}.",
    "{} gives more.",
    "More with {}",
)
ACT_HINTS = (
    "You can also use {}.",
    "Also available: {}",
    "To continue, use {}.",
    "{} is possible as well.",
    "Continue with {}",
)
"""What they say of a call that reads, and of another one."""

OWN_ACTIONS = ("{}_actions", "available_{}_actions", "allowed_{}_actions", "{}_operations")
"""The names of actions that say on what they are: `order_actions`."""

RECORDS = frozenset(
    """account alarm appointment article booking cart claim contact customer device document email event file
    flight invoice issue job message order package payment playlist post product project recipe reminder
    reservation shipment subscription task ticket trip tweet user watchlist""".split()
)
"""Plain nouns for a record as a whole, with which names of fields begin."""

SORTS = """
    sort_options sortable_by sort_fields order_by_options filterable_by filter_options
    available_filters searchable_fields sort_keys sortable_fields filterable_fields
    available_sorts sort_by_options
""".split()
"""Fields by which a search says how its results could be ordered or narrowed."""

PREFERENCES = """
    featured suggested alternative highlighted promoted sponsored recommended top popular
""".split()
"""First words of a field that names another of the records: `featured_hotel`."""

CHOICES = frozenset(
    """accommodation activity album apartment article attraction book car channel class clinic concert
    course departure dish doctor film flight garage gym hotel house listing movie
    museum option package plan playlist product property provider recipe restaurant result route
    seller shop show song stay store supplier symbol ticket_type tour track trail train
    trip vehicle venue video""".split()
)
"""What somebody chooses among."""

CHANGING = frozenset(
    """add book buy cancel change close create delete find log make modify move open pay place reserve
    schedule sell send set start submit track trigger update upload upgrade""".split()
)
"""First words of names by which a call changes something."""

SAYS_NO_SUBJECT = frozenset("id ids number name details info type code list status".split())
"""Last words of a name that don't say what it is on."""

NO_SUBJECTS = frozenset(
    """now_playing refills_remaining opens open_now brightness departs arrives in_stock armed attendees
    playback recipient order_type""".split()
)
"""Names that no field's name begins with."""

NO_NOUNS = frozenset(
    """live realtime tentative binding provisional indicative adjusted moderated deduplicated snapshot
    poll_after recheck_in stale_after refreshed_every from_cache refresh_due_in subject_to_change""".split()
)
"""Names of fields before which no noun can stand."""

UNDOING = frozenset("delete remove cancel clear reset drop stop close logout undo revoke retract".split())
"""First words of calls that no system suggests of itself."""

LEADS = ("", "", "", "\u2022 ", "* ")
"""What stands before a remark that is a line of text, in any language."""

ENGLISH_LEADS = ("", "", "", "Note: ", "Note: ", "Please note: ", "* ", "Info: ", "NB: ")
"""The same in an English text."""

MENDING = frozenset("find locate contact call repair fix replace inflate".split())
"""First words of calls for help, which no system suggests where all is well."""

STARTING = frozenset("start activate enable play resume begin launch".split())
"""First words of calls that no system suggests for what is running."""

SEARCHING = frozenset("search find list browse query lookup filter".split())
"""First words of calls that look for records."""

MEMBERS = "available supported allowed valid accepted possible".split()
"""First words of fields that list what an argument may be."""

OTHER_MEMBERS = "other alternative".split()
"""The same of fields that list what it isn't."""

NEUTRAL_MEMBERS = "allowed_values valid_values accepted_values parameter_options supported_values".split()
"""Fields that list it by the argument's own name, which may be no English one."""

NEUTRAL_OTHERS = "other_values alternative_values other_options".split()
"""The same of what it isn't."""

PARAMETERS = frozenset(
    """algorithm cabin category channel class color colour condition country cuisine currency diet difficulty
    direction filter format frequency gender genre granularity interval language level material metric method
    mode model operation option period plan platform priority quality range region role season severity size
    sort source speed status style system temperature tier timeframe type unit view
    visibility""".split()
)
"""Last words of arguments' names of which other English names are made."""

AUTHORED = frozenset(
    """body content comment comments review reviews description summary bio caption feedback remark remarks
    post tweet readme reply article abstract excerpt snippet note notes biography story about""".split()
)
"""Last words of fields that hold what a person wrote."""

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
