"""What packs are made of: languages, domains, and for each operator its parts, their slots and how many
entries of each are wanted."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

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
    {"value", "rival", "thing", "which", "coarse", "request", "option", "chosen", "tool", "field", "canary"}
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


@dataclass(frozen=True, slots=True)
class Part:
    """One kind of entry of an operator. `needs` are the slots that each entry has, `may` those that it can
    have besides."""

    operator: str
    name: str
    wanted: int
    needs: frozenset[str] = frozenset()
    may: frozenset[str] = frozenset()
    form: Form = Form.PHRASE
    english_general_only: bool = False
    foreign_share: float = 0.6
    """How many entries other languages want, as a share of the English count."""
    in_domain: int | None = None
    """How many a pack of a domain has: English ones only. None: as many as the general pack, in all
    languages."""

    @property
    def of_user(self) -> bool:
        return self.operator.startswith("user.")


def _slots(text: str) -> frozenset[str]:
    return frozenset(text.split())


PARTS: dict[tuple[str, str], Part] = {
    (part.operator, part.name): part
    for part in (
        Part("user.topic_drift", "question", 30, may=_slots("one"), in_domain=0),
        Part("user.topic_drift", "return", 16, in_domain=0),
        Part("user.topic_drift", "lead", 16, in_domain=0, foreign_share=0.0),
        Part("user.topic_drift", "shift", 20, may=_slots("one"), in_domain=0, foreign_share=0.0),
        Part("user.boundary_probing", "policy", 20, may=_slots("one"), in_domain=0),
        Part("user.boundary_probing", "knowledge", 15, may=_slots("one"), in_domain=0),
        Part("user.boundary_probing", "yield", 15, in_domain=0),
        Part("user.boundary_probing", "lead", 16, in_domain=0, foreign_share=0.0),
        Part("user.out_of_scope", "errand", 24, may=_slots("one"), in_domain=0),
        Part("user.out_of_scope", "leave", 16, may=_slots("one"), in_domain=0),
        Part("user.out_of_scope", "lead", 16, in_domain=0, foreign_share=0.0),
        Part(
            "user.redundant",
            "again",
            28,
            may=_slots("value request thing one"),
            in_domain=0,
            foreign_share=0.35,
        ),
        Part("user.redundant", "chat", 44, may=_slots("one"), in_domain=4, foreign_share=0.3),
        Part("user.redundant", "thanks", 16, may=_slots("one"), in_domain=0, foreign_share=0.5),
        Part("user.redundant", "greeting", 16, may=_slots("one"), in_domain=0, foreign_share=0.0),
        Part("user.redundant", "opener", 36, may=_slots("one"), in_domain=0, foreign_share=0.0),
        Part("user.cost_cue", "cue", 40, may=_slots("one"), english_general_only=True),
        Part("user.speed_cue", "cue", 40, may=_slots("one"), english_general_only=True),
        Part("user.inconsistent", "same", 24, _slots("value rival"), in_domain=0, foreign_share=0.3),
        Part(
            "user.inconsistent",
            "correction",
            60,
            _slots("value"),
            _slots("rival thing one"),
            in_domain=0,
            foreign_share=0.1,
        ),
        Part("user.inconsistent", "claim", 15, _slots("rival"), _slots("thing")),
        Part("user.inconsistent", "settle", 15, _slots("value"), _slots("thing rival")),
        Part("user.inconsistent", "doubt", 10, _slots("value rival"), _slots("thing")),
        Part("user.ambiguous", "vague", 56, may=_slots("thing coarse"), in_domain=0, foreign_share=0.2),
        Part("user.ambiguous", "offer", 64, may=_slots("thing which one"), in_domain=0, foreign_share=0.15),
        Part("user.ambiguous", "lack", 32, may=_slots("thing which one"), in_domain=0, foreign_share=0.0),
        Part("user.ambiguous", "within", 40, may=_slots("thing which one"), in_domain=0, foreign_share=0.0),
        Part("user.ambiguous", "note", 36, _slots("thing"), _slots("one"), in_domain=0, foreign_share=0.0),
        Part("user.ambiguous", "reveal", 20, _slots("value"), _slots("thing")),
        Part("user.paraphrase", "frame", 24, _slots("request"), in_domain=0, foreign_share=0.2),
        Part(
            "tool.misleading",
            "remark",
            40,
            may=_slots("option chosen tool") | DRAWN_SLOTS,
            foreign_share=0.25,
            in_domain=0,
        ),
        Part("tool.redundant", "field", 16, may=DRAWN_SLOTS, form=Form.FIELD, english_general_only=True),
        Part("tool.redundant", "record", 5, may=DRAWN_SLOTS, form=Form.FIELD, english_general_only=True),
        Part("tool.redundant", "line", 28, may=DRAWN_SLOTS, form=Form.LINE, english_general_only=True),
        Part("state.irrelevant", "field", 60, may=DRAWN_SLOTS, form=Form.FIELD, english_general_only=True),
        Part("state.irrelevant", "record", 32, may=DRAWN_SLOTS, form=Form.FIELD, english_general_only=True),
        Part("state.irrelevant", "line", 24, may=DRAWN_SLOTS, form=Form.LINE, english_general_only=True),
        Part("schema.redundant_tool", "tool", 20, form=Form.TOOL),
        Part("tool.prompt_injection", "instruction", 40, _slots("canary"), in_domain=0),
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

_FOUR = (Domain.GENERAL, Domain.SHOPPING, Domain.TRAVEL, Domain.MESSAGING)
WANTED_DOMAINS: dict[Language, tuple[Domain, ...]] = {
    Language.EN: tuple(Domain),
    Language.DE: (Domain.GENERAL, Domain.SHOPPING, Domain.TRAVEL, Domain.SUPPORT),
    Language.ES: _FOUR,
    Language.ZH: (Domain.GENERAL, Domain.SHOPPING, Domain.TRAVEL, Domain.SUPPORT),
    Language.FR: (Domain.GENERAL,),
    Language.JA: (Domain.GENERAL,),
    Language.AR: (Domain.GENERAL,),
}


def wanted(part: Part, language: Language, domain: Domain) -> int:
    """How many entries of a part a complete pack has."""
    if domain not in WANTED_DOMAINS[language]:
        return 0
    if part.in_domain is not None and domain is not Domain.GENERAL:
        return part.in_domain if language is Language.EN else 0
    if part.english_general_only:
        return part.wanted if (language, domain) == (Language.EN, Domain.GENERAL) else 0
    return part.wanted if language is Language.EN else round(part.wanted * part.foreign_share)
