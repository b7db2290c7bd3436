"""A text is searched for leads only where a word of it begins as one does: none may be missed."""

from __future__ import annotations

from itertools import product

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


def test_every_lead_is_found() -> None:
    texts = [between.join(pair) for between in (" ", "-", "_", "") for pair in product(WORDS, repeat=2)]
    texts += map(" ".join, product(WORDS, repeat=3))
    for text in texts:
        found = [one.span() for one in find_leads(text)]
        assert found == [one.span() for one in LEADS.finditer(text)], text
