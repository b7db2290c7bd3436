"""A text is searched for leads only where a word of it begins as one does: none may be missed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from crosswind.injectors.text.leads import LEADS, find_leads

WORDS = (
    *(
        "message",
        "e-mail",
        "email",
        "mail",
        "status",
        "state",
        "states",
        "stating",
        "says",
        "saying",
        "reads",
    ),
    *(
        "bread",
        "nobody",
        "body",
        "retweet",
        "tweet",
        "following",
        "as follows:",
        "verbatim:",
        "echo",
        "Subject",
    ),
    *(
        "that",
        "which",
        "to",
        "should",
        "with",
        "the",
        "a",
        "send",
        "Ann",
        "is",
        "reading",
        "reply with",
        "as",
    ),
    *("jot down", "word for word:", "respond with", "hello", "2", "_", ":", "\n"),
)


@given(st.lists(st.sampled_from(WORDS), max_size=12), st.sampled_from((" ", "-", "_", "")))
def test_every_lead_is_found(words: list[str], between: str) -> None:
    text = between.join(words)
    assert [one.span() for one in find_leads(text)] == [one.span() for one in LEADS.finditer(text)]
