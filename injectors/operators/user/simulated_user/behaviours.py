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
from crosswind.injectors.packs.model import Entry
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
    """What a kind may be. Of `settled` the later ones come with severity; `parts` are those of the packs.
    Each manner and each way of settling has several wordings."""

    operator: str
    parts: tuple[str, ...]
    subjects: tuple[str, ...]
    manners: Mapping[str, tuple[str, ...]]
    settled: Mapping[str, tuple[str, ...]]


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
            "leave_out": (
                "you talk vaguely and leave {amount} of that kind out: {subject}",
                "you don't mention {subject} and keep {amount} of that sort back",
                "you stay vague about {subject}, with {amount} missing",
            ),
            "point": (
                "instead of {subject} you say 'that one' or 'the usual', and leave {amount} open",
                "you point at {subject} with 'it' or 'the same as ever', and leave {amount} to be guessed",
                "you refer to {subject} by 'you know which', and hold back {amount}",
            ),
            "assume": (
                "you talk as if the assistant knew {subject} already, and leave {amount} out",
                "you take it for granted that {subject} are on file, and skip {amount}",
                "you forget that nobody else can know {subject}, and omit {amount}",
            ),
        },
        {
            "asked": (
                "Asked for something that you know, you tell it exactly.",
                "If the assistant wants to know more, you give the exact answer.",
                "Any question about it gets a precise reply, as far as you know.",
            ),
            "one_by_one": (
                "To a question you tell exactly what it asks for, and no more than that.",
                "You answer precisely what was asked and volunteer nothing else.",
                "Each question gets its own answer, and only that.",
            ),
            "asked_twice": (
                "You tell it exactly only if the assistant asks again.",
                "It takes a second question until you are exact.",
                "The first question you dodge, the second you answer precisely.",
            ),
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
            "claim": (
                "you contradict yourself about {subject}: you name another one of its kind as well",
                "you give {subject} in two versions that can't both be true",
                "you say one thing and then its opposite where {subject} comes up",
            ),
            "doubt": (
                "you say that you are in doubt about {subject}, between the true one and another",
                "you waver over {subject}: the right one, or some other",
                "you can't quite decide on {subject} and mention a wrong one beside the right one",
            ),
        },
        {
            "same_message": (
                "Before the message ends you settle it: what is written above is right, you say.",
                "You correct it yourself before you send: the version above is the true one.",
                "The last thing you say on it is the truth as it stands above.",
            ),
            "next_message": (
                "If somebody asks you settle it, and in your next message at the latest: what is written "
                "above is right, you say.",
                "You clear it up when asked, or else with your following message, in favour of what stands "
                "above.",
                "One message later, or sooner on request, you confirm what you were given above.",
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
            "ramble": (
                "you ramble about {subject}, in {amount} that nobody needs",
                "you chat on about {subject}, with {amount} too many",
                "you spend {amount} on {subject} although it is of no use here",
            ),
            "repeat": (
                "you go back to {subject} again and again, in {amount} more",
                "you repeat {subject} in other words, in {amount}",
                "you come round to {subject} once more, for {amount}",
            ),
        },
        {
            "around": (
                "What you want stands somewhere in between, whole.",
                "The request itself is in the middle of it, complete.",
                "Somewhere among all that you make your request in full.",
            ),
            "behind": (
                "What you want comes first, whole.",
                "You begin with the request, in full.",
                "The complete request goes at the top.",
            ),
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
            "ask": (
                "you drift off and ask {amount} about {subject}",
                "you wander from the point with {amount} on {subject}",
                "you put in {amount} about {subject}, which leads away from the task",
            ),
            "muse": (
                "you drift off and think aloud about {subject}, with {amount} in it",
                "you lose the thread and muse on {subject}, {amount} included",
                "you get carried away by {subject} and wonder aloud, in {amount}",
            ),
        },
        {
            "same_message": (
                "You come back to your wish in the same message.",
                "By the end of the message you are back on the task.",
                "The same message returns to what you came for.",
            ),
            "next_message": (
                "You come back to your wish in the same message, or in the next one.",
                "You return to the task there and then, or one message later.",
                "At your following turn, if not earlier, you are back with what you came for.",
            ),
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
            "policy": (
                "you try how far the assistant goes, with {amount} about {subject}",
                "you test the limits by {amount} about {subject}",
                "you push a little, with {amount} aimed at {subject}",
            ),
            "knowledge": (
                "you test what the assistant knows, with {amount} that nobody could answer surely",
                "you ask {amount} to which hardly anybody has the answer",
                "you want to hear what can't be known, in {amount}",
            ),
        },
        {
            "at_once": (
                "A refusal you accept at once, and go on with your wish as it is.",
                "If the assistant declines you drop it, and keep to your request.",
                "You take no for an answer and carry on.",
            ),
            "beforehand": (
                "You say beforehand that a no is fine, and go on with your wish as it is.",
                "You add that it may be declined, and your request stays the same.",
                "You make it plain that refusing is all right, and carry on as planned.",
            ),
            "second_try": (
                "After a refusal you try once more, then accept it and go on with your wish.",
                "Refused, you ask a second time, and then let it be.",
                "One more try after a no is all, then you return to your request.",
            ),
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
            "ask": (
                "you also ask for {subject}, in {amount}, though such an assistant can hardly do it",
                "you want {subject} on top, in {amount}, though that is hardly the assistant's line",
                "you slip in a request for {subject}, {amount} long, that has no place here",
            ),
            "mention": (
                "you mention in {amount} that you could do with help with {subject}, too",
                "you let it be known, in {amount}, that {subject} would be welcome as well",
                "you hint in {amount} that {subject} should be seen to",
            ),
        },
        {
            "at_once": (
                "Told so, you leave it. Your wish comes first.",
                "You let it go as soon as you hear that it can't be done. The request itself has priority.",
                "A word that it isn't possible is enough for you. What you came for matters more.",
            ),
            "beforehand": (
                "You say that it may be left undone. Your wish comes first.",
                "You add that this part is optional. The request itself has priority.",
                "You leave no doubt that it can be skipped. What you came for matters more.",
            ),
        },
    ),
}
_OFTEN = {
    0.25: ("now and then", "once in a while", "from time to time", "every so often", "here and there"),
    0.5: ("about half of the time", "in about every other message", "as often as not", "every second time"),
    0.75: ("mostly", "more often than not", "most of the time", "in nearly all that you write"),
    1.0: ("in every message", "whenever you write", "all the time", "each time you speak", "always"),
}
_SINCE = {
    1: (
        "from the start",
        "right from the beginning",
        "as soon as you begin",
        "from your first words on",
    ),
    2: ("from your second message on", "once you have made a start", "as of your second turn"),
    3: (
        "from your third message on, once things have got going",
        "after two messages",
        "as of your third turn, with the conversation under way",
    ),
}
_SENTENCES_OF_MANNER = (
    "{often}, {since}, {manner}.",
    "{since}, {often}, {manner}.",
    "{manner}. You do so {often}, {since}.",
    "{manner} ({often}, {since}).",
)
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
                rng,
                setting,
                form.operator,
                part,
                slots=_SLOTS,
                type=ValueType.WORD,
                used=names,
                accept=_fits_any,
            )
            if found is not None:
                says.setdefault(part, []).append(found.text)
                names.append(found.entry)
    return Behaviour(kind, subject, manner, share, first, amount, settled, says), names


def _fits_any(entry: Entry) -> bool:
    """Whether it may be said beside any request: what a scripted user asks for isn't known."""
    return entry.asks is None


def describe_behaviour(behaviour: Behaviour, rng: SeededRandom) -> str:
    """The behaviour as a model that plays the user is told it, in one of many wordings."""
    form = _FORMS[behaviour.kind]
    amount = _AMOUNTS.get(behaviour.kind, _SENTENCES)[behaviour.amount]
    told = rng.choice(_SENTENCES_OF_MANNER).format(
        often=rng.choice(_OFTEN[behaviour.share]),
        since=rng.choice(_SINCE[behaviour.first_message]),
        manner=rng.choice(form.manners[behaviour.manner]).format(subject=behaviour.subject, amount=amount),
    )
    return f"{told[0].upper()}{told[1:]} {rng.choice(form.settled[behaviour.settled])}"
