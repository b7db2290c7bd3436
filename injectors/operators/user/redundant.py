"""Redundancy in a user's message: it repeats itself and tells what nobody asked."""

from __future__ import annotations

import re

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.user.small_talk import CONTEXT, REPEATS
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, UserTarget
from crosswind.injectors.text.json_payload import is_container, parsed

REPEATED_WORDS = range(3, 26)
"""Only sentences of so many words are repeated: shorter ones are greetings, or the ends of abbreviations."""

MOST = 12
"""No more sentences than this are added, however long the message is."""

_BREAK = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n")
_WORD = re.compile(r"\w+")


@operator(
    "user.redundant",
    site=Site.USER_TEXT,
    recovery=Recovery.IGNORE,
    aliases=("user-redundancy",),
    source="NoisyAgent section 3.1; AgentNoiseBench section 2.2.1 and appendix B (Redundant Information)",
)
class Redundant:
    """The user repeats a sentence of their own or adds small talk that has nothing to do with the goal.

    Severity: the expected share of words that is added (0.5: half as many again). Sentences are added whole,
    so a short message at low severity gets either one short sentence or none. Nothing of the message itself
    is changed, nothing is asked that wasn't asked, and no fact is added.
    """

    def draw(self, target: UserTarget, rng: Stream, severity: float) -> Draw | None:
        text = target.text
        words = _length(text)
        if words == 0 or is_container(parsed(text)):
            return None
        point = rng.uniform()
        place = rng.choice(("before", "after"))
        room = severity * words
        chosen: dict[str, list[str]] = {"before": [], "after": []}
        for sentence, own in _candidates(text, rng)[:MOST]:
            length = _length(sentence)
            # The last sentence comes with the probability that makes the share right on average.
            if room < length and point >= room / length:
                break
            chosen["after" if own else place].append(sentence)
            room -= length
            if room <= 0:
                break
        return chosen if any(chosen.values()) else None

    def apply(self, target: UserTarget, draw: Draw) -> Result:
        joint = "\n" if "\n" in target.text else " "
        pieces = (" ".join(draw["before"]), target.text, " ".join(draw["after"]))
        count = len(draw["before"]) + len(draw["after"])
        what = "A sentence" if count == 1 else f"{count} sentences"
        note = f"{what} without any new request or fact came with the user's message."
        return Result(joint.join(piece for piece in pieces if piece), note)


def _length(text: str) -> int:
    return len(_WORD.findall(text))


def _candidates(text: str, rng: Stream) -> list[tuple[str, bool]]:
    """Sentences in the order of use, each with whether it repeats the user's own: the two kinds by turns."""
    context = [(sentence, False) for sentence in rng.shuffled(CONTEXT)]
    own = [sentence.strip() for sentence in _BREAK.split(text) if _length(sentence) in REPEATED_WORDS]
    repeats = [(rng.choice(REPEATS).replace("{}", sentence), True) for sentence in rng.sample(own, 4)]
    first, second = (context, repeats) if rng.chance(0.5) else (repeats, context)
    mixed: list[tuple[str, bool]] = []
    for at in range(len(context)):
        mixed += first[at : at + 1] + second[at : at + 1]
    return mixed
