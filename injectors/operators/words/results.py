"""Names of the fields by which services say something beside their data."""

from __future__ import annotations

REMARKS = """
    note notice info disclaimer additional_info remark footnote advisory comment message detail hint
    information caveat service_message usage_terms remarks
""".split()
"""Fields of remarks."""

REMARK_LISTS = "notes notices remarks disclaimers messages footnotes hints advisories comments".split()
"""Fields of lists of remarks."""

REMARK_HOLDERS = "meta _meta metadata response_metadata info".split()
"""Fields that hold what a service says besides."""

ACTIONS = """
    actions available_actions allowed_actions possible_actions supported_actions permitted_actions
    available_operations
""".split()
"""Fields by which a system says what can be done with what it gave."""

RELATED_TOOLS = "see_also related_tools related_operations related_calls related_actions".split()
"""Fields by which it names calls on the same things."""

NEXT_TOOLS = "next_actions next_steps suggested_actions recommended_actions suggestions".split()
"""Fields by which it names calls that may come next."""

NEXT_TOOL = "next_action suggested_action next_step recommended_action".split()
"""The same for a single call."""

UNDOING = frozenset("delete remove cancel clear reset drop stop close logout undo revoke retract".split())
"""First words of calls that no system suggests of itself."""

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
