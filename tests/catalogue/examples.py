"""The page of examples: for each language, ten texts of each operator on users' messages.

`python -m tests.catalogue.examples` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from crosswind.gateway.protocols.codec import SessionReader, codecs
from crosswind.gateway.protocols.history import hide_nothing
from crosswind.injectors import registry
from crosswind.injectors.conversation import Site
from crosswind.injectors.engine.plan import NOISY, Assignment, Seed, make_plan
from crosswind.injectors.operator import Registered
from crosswind.injectors.profiles.load import parse
from crosswind.injectors.text.languages import Language
from crosswind.studies.conversations import RecordedConversation
from crosswind.studies.preview.events import PreviewEvent, preview_events
from tests import ROOT

PAGE = ROOT / "docs" / "noise-examples.md"
SEEDS = 6
"""As many seeds are tried until an operator acts on a message."""

HEAD = """\
# What users say under noise

Each operator on users' messages, on ten messages in each language, at severity 1, with the first seed under
which it acts. Nothing is chosen or edited: `make catalogue` writes this page. "–" stands where it does not
act, with the reason where an event gives one. The messages and tools are in `tests/catalogue/`.
"""

TOOLS: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "hotel": (
        "book_room",
        "Book a hotel room",
        {
            "hotel": "The hotel's name",
            "check_in": {"type": "string", "format": "date"},
            "nights": {"type": "integer"},
            "breakfast": {"type": "boolean"},
        },
    ),
    "bank": (
        "transfer_money",
        "Transfer money to a payee",
        {
            "amount": {"type": "number"},
            "currency": {"type": "string", "enum": ["EUR", "USD", "GBP"]},
            "source_account": {"type": "string", "enum": ["checking", "savings"]},
            "payee": "Who gets it",
            "purpose": "The text on the statement",
        },
    ),
    "git": (
        "open_pull_request",
        "Open a pull request in the repository",
        {"source_branch": "", "target_branch": "", "assignee": "", "label": {"enum": ["urgent", "minor"]}},
    ),
    "clinic": (
        "reschedule_appointment",
        "Move a patient's appointment",
        {"doctor": "", "date": {"type": "string", "format": "date"}, "time": {"type": "string"}},
    ),
    "library": (
        "renew_loan",
        "Renew the loan of a book",
        {"title": "", "weeks": {"type": "integer"}, "card_number": {"type": "string", "pattern": "^L-\\d+$"}},
    ),
    "home": (
        "set_heating",
        "Set the temperature of a room",
        {"room": "", "temperature": {"type": "number"}, "time": {"type": "string", "format": "time"}},
    ),
    "rail": (
        "search_trains",
        "Search train connections",
        {
            "origin": "",
            "destination": "",
            "date": {"type": "string", "format": "date"},
            "class": {"enum": ["first", "second"]},
            "seat": {"enum": ["window", "aisle"]},
        },
    ),
    "database": (
        "run_report",
        "Report on the customers table",
        {"limit": {"type": "integer"}, "year": {"type": "integer"}, "sort_by": {"enum": ["country", "name"]}},
    ),
    "courier": (
        "redirect_parcel",
        "Track a parcel, or redirect it to another address",
        {"tracking_id": {"type": "string"}, "address": ""},
    ),
    "calendar": (
        "create_event",
        "Create a meeting in the calendar",
        {
            "attendee": "",
            "date": {"type": "string", "format": "date"},
            "time": {"type": "string"},
            "minutes": {"type": "integer"},
            "room": "",
        },
    ),
}
"""By agent: the tool that it has, with the description and the parameters."""


def messages() -> dict[str, dict[str, str]]:
    """By language and agent, what the user says."""
    document: dict[str, dict[str, str]] = yaml.safe_load(
        Path(__file__).with_name("messages.yaml").read_text("utf-8")
    )
    return document


def show(operator: str, agent: str, text: str) -> PreviewEvent | None:
    """What the operator does to the message: the first seed under which it acts, else what kept it."""
    name, about, given = TOOLS[agent]
    properties = {
        each: {"type": "string", **(schema if isinstance(schema, dict) else {"description": schema})}
        for each, schema in given.items()
    }
    parameters = {"type": "object", "properties": properties}
    tool = {"type": "function", "function": {"name": name, "description": about, "parameters": parameters}}
    body = {"model": "m", "messages": [{"role": "user", "content": text}], "tools": [tool]}
    codec = codecs()["chat"]
    split = codec.split(json.dumps(body).encode())
    assert split is not None
    recorded = RecordedConversation.of_request(
        "example", codec, codec.read(split, SessionReader(codec), hide_nothing)
    )
    profile = parse(f"name: example\nrules: [{{operator: {operator}, severity: 1.0}}]", "example")
    last = None
    for seed in range(SEEDS):
        plan = make_plan(profile, Seed(seed, agent), Assignment(NOISY))
        for event in preview_events(plan, recorded):
            if event.after is not None:
                return event
            last = event
    return last


def operators() -> list[Registered]:
    return [
        one
        for name, one in sorted(registry.operators().items())
        if one.site is Site.USER_TEXT and not one.origin
    ]


def write_page() -> str:
    return "\n".join([HEAD, *_write_messages(), *_write_operators()]) + "\n"


def _write_messages() -> Iterator[str]:
    yield "## The messages\n"
    for language in Language:
        yield f"### {language.value}\n"
        yield from (f"{number}. {text}" for number, text in enumerate(messages()[language].values(), 1))
        yield ""


def _write_operators() -> Iterator[str]:
    for operator in operators():
        yield f"## `{operator.name}`\n"
        for language in Language:
            yield f"### {operator.name}, {language.value}\n"
            for number, (agent, text) in enumerate(messages()[language].items(), 1):
                yield f"{number}. {_write(show(operator.name, agent, text))}"
            yield ""


def _write(event: PreviewEvent | None) -> str:
    if event is None:
        return "–"
    if event.after is None:
        return f"– ({event.note})"
    return event.after.replace("\n", "  \n   ")


if __name__ == "__main__":
    PAGE.write_text(write_page(), encoding="utf-8")
    print(PAGE)
