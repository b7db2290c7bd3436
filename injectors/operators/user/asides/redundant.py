"""A user's message that repeats itself and tells what nobody asked."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.model_text import read_lines
from crosswind.injectors.operators.user.asides.draw import (
    AsideDraw,
    Position,
    apply_asides,
)
from crosswind.injectors.operators.user.asides.fillers import LONGEST_TEXT, draw_said
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, UserTarget
from crosswind.injectors.text.sentences import count_words, is_prose
from crosswind.injectors.wording import UnusableText, written_form


@operator(
    "user.redundant",
    site=Site.USER_TEXT,
    recovery=Recovery.IGNORE,
    aliases=("user-redundancy",),
    source="NoisyAgent section 3.1; AgentNoiseBench section 2.2.1 and appendix B (Redundant Information)",
    effect=Effect.ADDS,
    version=6,
)
class RedundantMessage:
    """The user sums up the values of a longer message or says its request again, in a few words, or adds a
    remark without use to the task: why they ask, or what about their day.

    Severity: the expected share of words that is added (0.5: half as many again), up to a sentence in front
    of the message and one behind it. Sentences are added whole: of messages that are shorter than one, that
    share gets one, and three fifths of it a second. Nothing of the message itself is changed, nothing is
    asked that wasn't asked, and no fact is added.
    """

    def draw(self, target: UserTarget, rng: SeededRandom, severity: float) -> Draw | None:
        if not is_prose(target.text):
            return None
        point = rng.uniform()
        room = severity * count_words(target.text)
        asides = AsideDraw(target, rng, "user.redundant")
        for first in rng.shuffled((True, False)):
            position, sentence = _draw_sentence(asides, target, rng, first)
            if sentence is None:
                continue
            length = count_words(sentence)
            # The last sentence comes with the probability that makes the share right on average.
            chance = max(severity * (_SECOND if asides.count else 1.0), room / length)
            if room < length and point >= chance:
                asides.forget()
                break
            asides.put(position, sentence)
            room -= length
        return asides.finish()

    def apply(self, target: UserTarget, draw: Draw) -> Result:
        return _make_result(apply_asides(target.text, draw), len(draw["asides"]))


@written_form("user.redundant")
class RedundantMessageWording:
    """As many sentences as the rule would add, at its places. The message itself doesn't change."""

    ahead = False

    def ask(self, target: UserTarget, draw: Draw, severity: float) -> tuple[str, str] | None:
        task = (
            f"Write {len(draw['asides'])} short sentences, each on a line of its own, that this user might "
            "add to the message: some that repeat what it says in other words, some about their day that "
            "have nothing to do with it. Ask nothing, order nothing, add no fact, state no wish."
        )
        return task, target.text if target.before_contradiction is None else target.before_contradiction

    def apply(self, target: UserTarget, draw: Draw, text: str) -> Result:
        found = read_lines(text, len(draw["asides"]), like=target.text)
        if any("?" in line for line in found):
            raise UnusableText("the model asked something that the user didn't")
        return _make_result(apply_asides(target.text, draw, found), len(found))


_RECAP, _SECOND = 0.4, 0.6
"""How often something is said again, where it can be; how often a short message gets a second sentence."""


def _draw_sentence(
    asides: AsideDraw, target: UserTarget, rng: SeededRandom, first: bool
) -> tuple[Position, str | None]:
    """What leads up to the message (`first`; in English only), or a remark or a recap behind it."""
    recaps = rng.chance(_RECAP)
    if first:
        return "before", asides.draw_at("opener", "before") if asides.places.before else None
    position = asides.draw_position() if asides.places.behind else None
    if position is None:
        return "behind", None
    recap = _draw_recap(asides, target, rng) if recaps else None
    return position, recap or asides.draw_at("chat", position)


def _draw_recap(asides: AsideDraw, target: UserTarget, rng: SeededRandom) -> str | None:
    """A value of the user's or the request once more, in few words."""
    text = target.own if target.before_contradiction is None else target.before_contradiction
    if asides.language is None or len(text) > LONGEST_TEXT:
        return None
    slots = draw_said(text, asides.language, rng)
    return None if slots is None else asides.draw_recap(slots)


def _make_result(text: str, count: int) -> Result:
    what = "A sentence" if count == 1 else f"{count} sentences"
    return Result(text, f"{what} without any new request or fact came with the user's message.")
