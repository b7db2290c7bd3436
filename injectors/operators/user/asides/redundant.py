"""A user's message that repeats itself and tells what nobody asked."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.model_text import read_lines
from crosswind.injectors.operators.user.asides.draw import AsideDraw, Position, apply_asides
from crosswind.injectors.operators.user.asides.fillers import list_sentences
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, UserTarget
from crosswind.injectors.text.sentences import count_words, is_prose
from crosswind.injectors.wording import UnusableText, written_form

MOST = 6
"""No more sentences than this are added, however long the message is."""


@operator(
    "user.redundant",
    site=Site.USER_TEXT,
    recovery=Recovery.IGNORE,
    aliases=("user-redundancy",),
    source="NoisyAgent section 3.1; AgentNoiseBench section 2.2.1 and appendix B (Redundant Information)",
    effect=Effect.ADDS,
    version=2,
)
class RedundantMessage:
    """The user repeats a sentence of their own or adds small talk that has nothing to do with the goal.

    Severity: the expected share of words that is added (0.5: half as many again). Sentences are added whole:
    of messages that are shorter than one, that share gets one. Nothing of the message itself
    is changed, nothing is asked that wasn't asked, and no fact is added.
    """

    def draw(self, target: UserTarget, rng: SeededRandom, severity: float) -> Draw | None:
        text = target.text
        if not is_prose(text):
            return None
        point = rng.uniform()
        room = severity * count_words(text)
        asides = AsideDraw(target, rng, "user.redundant")
        before = target.before_contradiction
        said: list[str] | None = None if asides.places.behind else []
        repeats = rng.chance(0.5)
        for _ in range(MOST):
            if repeats and said is None:
                said = list_sentences(text, asides.language, before)
            own = rng.choice(said) if repeats and said else None
            repeats = not repeats
            position, sentence = _draw_sentence(asides, own)
            if sentence is None:
                break
            length = count_words(sentence)
            # The last sentence comes with the probability that makes the share right on average.
            chance = room / length if asides.count else max(severity, room / length)
            if room < length and point >= chance:
                asides.forget()
                break
            if said and own is not None:
                said.remove(own)
            asides.put(position, sentence)
            room -= length
            if room <= 0:
                break
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


def _draw_sentence(asides: AsideDraw, own: str | None) -> tuple[Position, str | None]:
    """A sentence of the user's own once more, behind the message, or small talk at any place of it."""
    position = asides.draw_position()
    if own is not None and asides.language is not None:
        if position in ("before", "between"):
            position = "behind"
        return position, asides.draw_own("again", own)
    return asides.draw_at("chat", position)


def _make_result(text: str, count: int) -> Result:
    what = "A sentence" if count == 1 else f"{count} sentences"
    return Result(text, f"{what} without any new request or fact came with the user's message.")
