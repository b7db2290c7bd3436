"""Names of the fields by which services say something beside their data."""

from __future__ import annotations

REMARKS = """
    note notice info additional_info remark comment message detail information service_note notes info_text
    hint disclaimer footnote memo advisory fine_print display_note user_note caveat usage_note notice_text
    remarks info_message extra_info
""".split()
"""Fields of remarks."""

REMARK_LISTS = "notes notices remarks messages comments hints footnotes disclaimers caveats".split()
"""Fields of lists of remarks."""

REMARK_SUFFIXES = """
    note notes info notice hint remark message comment disclaimer footnote memo caveat advisory remarks
    information info_text note_text notice_text
""".split()
"""Last words of a field whose remark is on one of the result's own: `price_note`."""

ACTIONS = """
    actions available_actions allowed_actions allowed_operations operations supported_operations
    permitted_actions commands capabilities
""".split()
"""Fields by which a system says what can be done with what it gave."""

RELATED_TOOLS = """
    see_also related_tools related related_operations companion_tools also_available more_tools linked_tools
    similar_tools toolset
""".split()
"""Fields by which it names calls on the same things."""

NEXT_TOOLS = """
    next_actions next_steps suggestions suggested_actions follow_ups continue_with shortcuts quick_actions
    up_next proposed_steps
""".split()
"""Fields by which it names calls that may come next."""

NEXT_TOOL = "next_action suggested_action next_step follow_up continue_with shortcut up_next next".split()
"""The same for a single call."""

ACTION_SUFFIXES = "actions operations commands tools calls functions methods endpoints".split()
"""Last words of such a field that names its thing: `order_actions`."""

CALL_NAMES = "name tool action operation call function method id endpoint command".split()
"""Fields of an object that names a call."""

SORTS = """
    sort_options sortable_by sort_fields order_by_options filters filterable_by filter_options facets
    group_by_options refine_by available_filters searchable_fields sort_keys sortable
    available_sorts refinements
""".split()
"""Fields by which a search says how its results could be ordered or narrowed."""

PREFERENCES = """
    featured suggested alternative similar highlighted promoted sponsored pinned spotlight related other
    comparable recommended alternate second
""".split()
"""First words of a field that names another of the records: `featured_hotel`."""

CHOICES = frozenset(
    """accommodation activity album apartment article attraction book car channel class clinic concert
    course departure dish doctor event film flight garage gym hotel house item listing menu movie
    museum option package plan playlist product property provider recipe restaurant result route
    seller service shop show slot song stay store supplier symbol ticket_type tour track trail train
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

UNDOING = frozenset("delete remove cancel clear reset drop stop close logout undo revoke retract".split())
"""First words of calls that no system suggests of itself."""

LEADS = ("", "", "", "\u2022 ", "* ")
"""What stands before a remark that is a line of text, in any language."""

ENGLISH_LEADS = ("", "", "", "Note: ", "Note: ", "Please note: ", "* ", "Info: ", "NB: ")
"""The same in an English text."""

MENDING = frozenset("find locate contact call repair fix replace".split())
"""First words of calls for help, which no system suggests where all is well."""

MEMBERS = "available supported allowed valid possible accepted permitted known selectable all".split()
"""First words of fields that list what an argument may be."""

OTHER_MEMBERS = "other alternative more additional".split()
"""The same of fields that list what it isn't."""

MEMBER_SUFFIXES = "options values choices enum list domain set alternatives variants".split()
"""Last words of such fields: `cabin_options`."""

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
