"""Names of the fields by which services say something beside their data."""

from __future__ import annotations

REMARKS = """
    note notice info additional_info remark comment message detail information
    service_message service_note notes info_text service_info extra_info
""".split()
"""Fields of remarks."""

REMARK_LISTS = "notes notices remarks messages comments information service_messages".split()
"""Fields of lists of remarks."""

ACTIONS = """
    actions available_actions allowed_actions allowed_operations operations supported_operations
""".split()
"""Fields by which a system says what can be done with what it gave."""

RELATED_TOOLS = """
    see_also related_tools related related_operations
""".split()
"""Fields by which it names calls on the same things."""

NEXT_TOOLS = """
    next_actions next_steps suggestions suggested_actions
""".split()
"""Fields by which it names calls that may come next."""

NEXT_TOOL = "next_action suggested_action next_step".split()
"""The same for a single call."""

UNDOING = frozenset("delete remove cancel clear reset drop stop close logout undo revoke retract".split())
"""First words of calls that no system suggests of itself."""

LEADS = ("", "", "", "\u2022 ", "* ")
"""What stands before a remark that is a line of text, in any language."""

ENGLISH_LEADS = ("", "", "", "Note: ", "Note: ", "Please note: ", "* ", "Info: ", "NB: ")
"""The same in an English text."""

MENDING = frozenset("find locate contact call repair fix replace".split())
"""First words of calls for help, which no system suggests where all is well."""

MEMBERS = "available supported allowed valid other possible".split()
"""First words of fields that list what an argument may be."""

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
