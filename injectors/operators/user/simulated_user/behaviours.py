"""What a difficult user does: withhold, contradict, repeat, ask beside; how often, and from when.

A behaviour is data: a scripted user acts on it, and a model that plays the user is told it in words. Severity
sets how often it shows, how much of it there is, from which message on, and how late it is settled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from crosswind.injectors.conversation import ToolList
from crosswind.injectors.packs.draw import draw_phrase, make_setting
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Half
from crosswind.injectors.text.languages import Language
from crosswind.injectors.values.parameters import ValueType

BehaviourKind = Literal[
    "ambiguous", "inconsistent", "redundant", "topic_drift", "boundary_probing", "out_of_scope"
]
KINDS: tuple[BehaviourKind, ...] = (
    "ambiguous",
    "inconsistent",
    "redundant",
    "topic_drift",
    "boundary_probing",
    "out_of_scope",
)
"""NoisyAgent names the first three and the last, AgentNoiseBench the other two."""


class Behaviour(msgspec.Struct, frozen=True, gc=False):
    """One thing that a user does."""

    kind: BehaviourKind
    subject: str
    """What it is about: what is withheld, contradicted, repeated or asked for."""
    manner: str
    """In which way, of those that the kind has."""
    share: float
    """In which share of the messages."""
    first_message: int
    """From which of the user's messages on, counted from 1."""
    amount: int
    """How many details or sentences, 1 to 3."""
    settled: str
    """When the user tells, corrects, comes back or gives in."""
    says: Mapping[str, list[str]]
    """Phrases by their part of the packs, for a scripted user. The slots are the user's to fill: `{value}` is
    true, `{rival}` another of its kind, `{thing}` its name."""


class _Form(msgspec.Struct, frozen=True, gc=False):
    """What a kind may be. Of `settled` the later ones come with severity; `parts` are those of the packs."""

    operator: str
    parts: tuple[str, ...]
    subjects: tuple[str, ...]
    manners: Mapping[str, str]
    settled: Mapping[str, str]


_FORMS: Mapping[BehaviourKind, _Form] = {
    "ambiguous": _Form(
        "user.ambiguous",
        ("reveal",),
        (
            "ids and numbers",
            "dates and times",
            "names and places",
            "amounts and sizes",
            "which of your things you mean",
            "whatever tells your case from others",
        ),
        {
            "leave_out": "you talk vaguely and leave {amount} of that kind out: {subject}",
            "point": "instead of {subject} you say 'that one' or 'the usual', and leave {amount} open",
            "assume": "you talk as if the assistant knew {subject} already, and leave {amount} out",
        },
        {
            "asked": "Asked for something that you know, you tell it exactly.",
            "one_by_one": "To a question you tell exactly what it asks for, and no more than that.",
            "asked_twice": "You tell it exactly only if the assistant asks again.",
        },
    ),
    "inconsistent": _Form(
        "user.inconsistent",
        ("claim", "doubt", "settle"),
        (
            "an id or a number",
            "a date or a time",
            "a name or a place",
            "an amount",
            "the option that you want",
            "something that you have said before",
        ),
        {
            "claim": "you contradict yourself about {subject}: you name another one of its kind as well",
            "doubt": "you say that you are in doubt about {subject}, between the true one and another",
        },
        {
            "same_message": "Before the message ends you settle it: what is written above is right, you say.",
            "next_message": (
                "If somebody asks you settle it, and in your next message at the latest: what is written "
                "above is right, you say."
            ),
        },
    ),
    "redundant": _Form(
        "user.redundant",
        ("again", "chat"),
        (
            "what you want",
            "what you have just said",
            "what the assistant has told you",
            "how your day has been",
            "how you came to ask",
            "how you feel about the matter",
        ),
        {
            "ramble": "you ramble about {subject}, in {amount} that nobody needs",
            "repeat": "you go back to {subject} again and again, in {amount} more",
        },
        {
            "around": "What you want stands somewhere in between, whole.",
            "behind": "What you want comes first, whole.",
        },
    ),
    "topic_drift": _Form(
        "user.topic_drift",
        ("question", "return"),
        (
            "something that you have always wondered about",
            "something that the subject reminds you of",
            "something that somebody asked you lately",
            "something that you have read or seen",
        ),
        {
            "ask": "you drift off and ask {amount} about {subject}",
            "muse": "you drift off and think aloud about {subject}, with {amount} in it",
        },
        {
            "same_message": "You come back to your wish in the same message.",
            "next_message": "You come back to your wish in the same message, or in the next one.",
        },
    ),
    "boundary_probing": _Form(
        "user.boundary_probing",
        ("policy", "knowledge", "yield"),
        (
            "a bit more than the rules are likely to allow",
            "an exception for yourself",
            "a look at what is not meant for you",
            "a way past the usual steps",
            "what somebody else was granted",
        ),
        {
            "policy": "you try how far the assistant goes, with {amount} about {subject}",
            "knowledge": "you test what the assistant knows, with {amount} that nobody could answer surely",
        },
        {
            "at_once": "A refusal you accept at once, and go on with your wish as it is.",
            "beforehand": "You say beforehand that a no is fine, and go on with your wish as it is.",
            "second_try": "After a refusal you try once more, then accept it and go on with your wish.",
        },
    ),
    "out_of_scope": _Form(
        "user.out_of_scope",
        ("errand", "leave"),
        (
            "things that need hands",
            "favours for somebody in your family",
            "what another firm would have to do",
            "something to be written or made for fun",
        ),
        {
            "ask": "you also ask for {subject}, in {amount}, though such an assistant can hardly do it",
            "mention": "you mention in {amount} that you could do with help with {subject}, too",
        },
        {
            "at_once": "Told so, you leave it. Your wish comes first.",
            "beforehand": "You say that it may be left undone. Your wish comes first.",
        },
    ),
}
_OFTEN = {0.25: "now and then", 0.5: "in about every other message", 0.75: "mostly", 1.0: "in every message"}
_SINCE = {
    1: "from the start",
    2: "from your second message on",
    3: "from your third message on, once the talk has got going",
}
_DETAILS = {1: "one detail", 2: "a few details", 3: "all details"}
_SENTENCES = {1: "a sentence", 2: "a couple of sentences", 3: "several sentences"}
_QUESTIONS = {1: "one question", 2: "a couple of questions", 3: "several questions"}
_AMOUNTS: Mapping[BehaviourKind, Mapping[int, str]] = {
    "ambiguous": _DETAILS,
    "topic_drift": _QUESTIONS,
    "boundary_probing": _QUESTIONS,
}
MESSAGES = 3
"""Messages for which a behaviour holds phrases, so that none is said twice."""
_SLOTS = {name: f"{{{name}}}" for name in ("value", "rival", "thing")}


def draw_behaviour(
    kind: BehaviourKind, half: Half, rng: SeededRandom, severity: float
) -> tuple[Behaviour, list[str]]:
    """Draw a behaviour of a kind, and the names of the pack entries that it holds."""
    form = _FORMS[kind]
    spread = min(1.0, max(0.0, severity + rng.uniform(-0.25, 0.25)))
    share = max(1, round(spread * 4)) / 4
    first = 1 if rng.chance(max(0.25, severity)) else rng.integer(2, 3)
    amount = 1 + rng.successes(2, severity)
    subject, manner = rng.choice(form.subjects), rng.choice(tuple(form.manners))
    ways = tuple(form.settled)
    settled = rng.choice(ways[1:]) if rng.chance(severity) else ways[0]
    says: dict[str, list[str]] = {}
    names: list[str] = []
    setting = make_setting(ToolList(), "", Language.EN, half)
    for part in form.parts:
        for _ in range(MESSAGES * amount):
            found = draw_phrase(
                rng, setting, form.operator, part, slots=_SLOTS, type=ValueType.WORD, used=names
            )
            if found is not None:
                says.setdefault(part, []).append(found.text)
                names.append(found.entry)
    return Behaviour(kind, subject, manner, share, first, amount, settled, says), names


def describe_behaviour(behaviour: Behaviour) -> str:
    """The behaviour as a model that plays the user is told it."""
    form = _FORMS[behaviour.kind]
    amount = _AMOUNTS.get(behaviour.kind, _SENTENCES)[behaviour.amount]
    manner = form.manners[behaviour.manner].format(subject=behaviour.subject, amount=amount)
    often = _OFTEN[behaviour.share]
    sentence = f"{often}, {_SINCE[behaviour.first_message]}, {manner}."
    return f"{sentence[0].upper()}{sentence[1:]} {form.settled[behaviour.settled]}"
