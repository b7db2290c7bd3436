"""Names of the fields by which services say something beside their data."""

from __future__ import annotations

REMARKS = """
    note notice info remark hint tip advisory guidance caveat reminder fyi annotation bulletin disclaimer
    good_to_know additional_info service_message system_message
""".split()
"""Fields of remarks."""

REMARK_LISTS = """
    notes notices remarks hints tips advisories reminders caveats info_messages annotations bulletins
    announcements
""".split()
"""Fields of lists of remarks."""

REMARK_HOLDERS = "meta _meta metadata response_metadata system service context".split()
"""Fields that hold what a service says besides."""

NEXT_TOOLS = """
    next_actions see_also next_steps related_tools possible_calls recommended_operations follow_ups
    suggestions quick_links also_available other_endpoints further_methods shortcuts often_used_next
    available_transitions companion_tools
""".split()
"""Fields by which a system names its calls that may come next."""

NEXT_TOOL = """
    next_action suggested_call see_also recommended_operation next_step default_next related_endpoint
    shortcut follow_up continue_with
""".split()
"""The same for a single call."""

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
