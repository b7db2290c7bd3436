"""What packs are made of: languages, domains, and for each operator its parts, their slots and how many
entries of each are wanted."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from crosswind.injectors.text.languages import Language


class Domain(StrEnum):
    """What a conversation is about. `GENERAL` fits everywhere."""

    GENERAL = "general"
    SHOPPING = "shopping"
    TRAVEL = "travel"
    FILES = "files"
    CODE = "code"
    BANKING = "banking"
    MESSAGING = "messaging"
    SEARCH = "search"
    DEVICES = "devices"
    HEALTH = "health"
    SUPPORT = "support"
    DATA = "data"


class Address(StrEnum):
    """How a phrase addresses its reader, in languages that have two ways: "du" and "Sie", "你" and "您"."""

    INFORMAL = "informal"
    FORMAL = "formal"
    OTHER = "other"
    """A third way, such as Spanish "vos". No entry has it: such a user gets those that address nobody."""


class Asked(StrEnum):
    """What a user's message asks for."""

    FACT = "fact"
    """To find out, work out or show something: a question or a search."""
    QUESTION = "question"
    """A fact, by a question: `what`, `how many`."""
    SEARCH = "search"
    """A fact, by an order: `find`, `show`, `calculate`."""
    CALCULATE = "calculate"
    """A fact that is worked out: `calculate`, or a question in words of mathematics."""
    LEARN = "learn"
    """A fact that is known or looked up, by a question."""
    FIND = "find"
    """A fact that is looked up, by an order: `find`, `show`."""
    ACTION = "action"
    """To change, send, make or order something."""
    TASK = "task"
    """An action on anything but a device."""
    BOOK = "book"
    """A task: to book, order or buy."""
    SEND = "send"
    """A task: to send, post or share."""
    CONTROL = "control"
    """An action on a device: `turn on`, `lock`, `play`, or another one where the message names a device."""


DRAWN_SLOTS = frozenset({"uuid", "time", "int", "hex", "one"})
"""Slots that the generator fills, wherever the conversation has nothing to fill them with."""

CONVERSATION_SLOTS = frozenset(
    {"value", "rival", "thing", "which", "coarse", "request", "option", "chosen", "tool", "canary"}
)


class Form(StrEnum):
    """What the entries of a part are."""

    PHRASE = "phrase"
    """Words of a user or a service."""
    FIELD = "field"
    """A key, and a value as JSON text."""
    TOOL = "tool"
    """A tool's name as the key, its description and a parameter."""
    LINE = "line"
    """A line that a system prints beside its answer."""


class Wanted(NamedTuple):
    """How many entries of a part complete packs have: English ones and those of other languages, the general
    one and those of a domain."""

    general: int
    domain: int = 0
    foreign_general: int = 0
    foreign_domain: int = 0

    def of(self, language: Language, domain: Domain) -> int:
        return self[2 * (language is not Language.EN) + (domain is not Domain.GENERAL)]


@dataclass(frozen=True, slots=True)
class Part:
    """One kind of entry of an operator. `needs` are the slots that each entry has, `may` those that it can
    have besides."""

    operator: str
    name: str
    wanted: Wanted
    needs: frozenset[str] = frozenset()
    may: frozenset[str] = frozenset()
    form: Form = Form.PHRASE

    @property
    def of_user(self) -> bool:
        return self.operator.startswith("user.")


def _slots(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ONE = _slots("one")
_OPEN = _slots("thing which one")
_REMARKED = _slots("option chosen tool") | DRAWN_SLOTS

PARTS: dict[tuple[str, str], Part] = {
    (part.operator, part.name): part
    for part in (
        Part("user.topic_drift", "question", Wanted(40, 40, 30, 30), may=_ONE),
        Part("user.topic_drift", "return", Wanted(16, 0, 10)),
        Part("user.topic_drift", "lead", Wanted(16)),
        Part("user.topic_drift", "shift", Wanted(20), may=_ONE),
        Part("user.boundary_probing", "policy", Wanted(20, 20, 15, 15), may=_ONE),
        Part("user.boundary_probing", "knowledge", Wanted(20, 20, 15, 15), may=_ONE),
        Part("user.boundary_probing", "yield", Wanted(15, 0, 9)),
        Part("user.boundary_probing", "lead", Wanted(16)),
        Part("user.out_of_scope", "errand", Wanted(40, 40, 30, 30), may=_ONE),
        Part("user.out_of_scope", "leave", Wanted(16, 0, 10), may=_ONE),
        Part("user.out_of_scope", "lead", Wanted(16)),
        Part("user.redundant", "again", Wanted(28, 0, 10), may=_slots("value request thing one")),
        Part("user.redundant", "chat", Wanted(44, 40, 30, 30), may=_ONE),
        Part("user.redundant", "thanks", Wanted(16, 0, 10), may=_ONE),
        Part("user.redundant", "greeting", Wanted(16), may=_ONE),
        Part("user.redundant", "opener", Wanted(36), may=_ONE),
        Part("user.cost_cue", "cue", Wanted(40, 40, 30, 30), may=_ONE),
        Part("user.speed_cue", "cue", Wanted(40, 40, 30, 30), may=_ONE),
        Part("user.inconsistent", "same", Wanted(24, 0, 7), _slots("value rival")),
        Part("user.inconsistent", "correction", Wanted(60, 0, 6), _slots("value"), _slots("rival thing one")),
        Part("user.inconsistent", "claim", Wanted(15, 15, 12, 12), _slots("rival"), _slots("thing")),
        Part("user.inconsistent", "settle", Wanted(15, 15, 10, 10), _slots("value"), _slots("thing rival")),
        Part("user.inconsistent", "doubt", Wanted(10, 10, 8, 8), _slots("value rival"), _slots("thing")),
        Part("user.ambiguous", "vague", Wanted(54, 0, 11), may=_slots("thing coarse")),
        Part("user.ambiguous", "offer", Wanted(72, 0, 18, 15), may=_OPEN),
        Part("user.ambiguous", "lack", Wanted(16), may=_OPEN),
        Part("user.ambiguous", "within", Wanted(20), may=_OPEN),
        Part("user.ambiguous", "note", Wanted(20), _slots("thing"), _ONE),
        Part("user.ambiguous", "reveal", Wanted(20, 20, 15, 15), _slots("value"), _slots("thing")),
        Part("user.paraphrase", "frame", Wanted(24, 0, 5), _slots("request")),
        Part("tool.misleading", "remark", Wanted(40, 40, 30, 30), may=_REMARKED),
        Part("tool.misleading", "field", Wanted(100), may=DRAWN_SLOTS, form=Form.FIELD),
        Part("tool.redundant", "field", Wanted(16), may=DRAWN_SLOTS, form=Form.FIELD),
        Part("tool.redundant", "record", Wanted(5), may=DRAWN_SLOTS, form=Form.FIELD),
        Part("tool.redundant", "line", Wanted(28), may=DRAWN_SLOTS, form=Form.LINE),
        Part("state.irrelevant", "field", Wanted(60), may=DRAWN_SLOTS, form=Form.FIELD),
        Part("state.irrelevant", "record", Wanted(32), may=DRAWN_SLOTS, form=Form.FIELD),
        Part("state.irrelevant", "line", Wanted(24), may=DRAWN_SLOTS, form=Form.LINE),
        Part("schema.redundant_tool", "tool", Wanted(40, 40, 30, 30), form=Form.TOOL),
        Part("tool.prompt_injection", "instruction", Wanted(40, 0, 30), _slots("canary")),
    )
}

OPERATORS = tuple(dict.fromkeys(part.operator for part in PARTS.values()))

BORROWED = {
    "schema.bloat": ("schema.redundant_tool",),
    "user.interaction_pattern": tuple(name for name in OPERATORS if name.startswith("user.")),
}
"""Operators that draw the phrases of others."""

ENGLISH_GENERAL = frozenset(("user.interaction_pattern",))
"""Operators that draw from `en/general` only: they act before a conversation shows language and domain."""

WANTED_DOMAINS: dict[Language, tuple[Domain, ...]] = {
    Language.EN: tuple(Domain),
    Language.DE: (Domain.GENERAL, Domain.SHOPPING, Domain.TRAVEL, Domain.SUPPORT),
    Language.ES: (Domain.GENERAL, Domain.SHOPPING, Domain.TRAVEL, Domain.MESSAGING),
    Language.ZH: (Domain.GENERAL, Domain.SHOPPING, Domain.TRAVEL, Domain.SUPPORT),
    Language.FR: (Domain.GENERAL,),
    Language.JA: (Domain.GENERAL,),
    Language.AR: (Domain.GENERAL,),
}


def count_wanted(part: Part, language: Language, domain: Domain) -> int:
    """How many entries of a part a complete pack has."""
    return part.wanted.of(language, domain) if domain in WANTED_DOMAINS[language] else 0
