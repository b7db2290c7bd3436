"""A user's message that repeats itself and tells what nobody asked."""

from __future__ import annotations

import re
from itertools import zip_longest

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.model_text import read_lines
from crosswind.injectors.operators.user.sentences import is_prose, split_sentences
from crosswind.injectors.operators.words.asides import REPEATS, SMALL_TALK
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, UserTarget
from crosswind.injectors.wording import UnusableText, written_form

REPEATED_WORDS = range(3, 26)
"""Only sentences of so many words are repeated: shorter ones are greetings, or the ends of abbreviations."""

MOST = 12
"""No more sentences than this are added, however long the message is."""

_WORD = re.compile(r"\w+")


@operator(
    "user.redundant",
    site=Site.USER_TEXT,
    recovery=Recovery.IGNORE,
    aliases=("user-redundancy",),
    source="NoisyAgent section 3.1; AgentNoiseBench section 2.2.1 and appendix B (Redundant Information)",
    effect=Effect.ADDS,
)
class RedundantMessage:
    """The user repeats a sentence of their own or adds small talk that has nothing to do with the goal.

    Severity: the expected share of words that is added (0.5: half as many again). Sentences are added whole,
    so a short message at low severity gets either one short sentence or none. Nothing of the message itself
    is changed, nothing is asked that wasn't asked, and no fact is added.
    """

    def draw(self, target: UserTarget, rng: SeededRandom, severity: float) -> Draw | None:
        text = target.text
        if not is_prose(text):
            return None
        point = rng.uniform()
        place = rng.choice(("before", "after"))
        room = severity * _count_words(text)
        chosen: dict[str, list[str]] = {"before": [], "after": []}
        for sentence, own in _draw_candidates(target, rng)[:MOST]:
            length = _count_words(sentence)
            # The last sentence comes with the probability that makes the share right on average.
            if room < length and point >= room / length:
                break
            chosen["after" if own else place].append(sentence)
            room -= length
            if room <= 0:
                break
        return chosen if any(chosen.values()) else None

    def apply(self, target: UserTarget, draw: Draw) -> Result:
        return _surround(target.text, draw["before"], draw["after"])


@written_form("user.redundant")
class RedundantMessageWording:
    """As many sentences as the rule would add, at its places. The message itself doesn't change."""

    ahead = False

    def ask(self, target: UserTarget, draw: Draw, severity: float) -> tuple[str, str] | None:
        count = len(draw["before"]) + len(draw["after"])
        task = (
            f"Write {count} short sentences, each on a line of its own, that this user might add to the "
            "message: some that repeat what it says in other words, some about their day that have nothing "
            "to do with it. Ask nothing, order nothing, add no fact, state no wish."
        )
        return task, _find_uncontradicted(target)

    def apply(self, target: UserTarget, draw: Draw, text: str) -> Result:
        count = len(draw["before"])
        found = read_lines(text, count + len(draw["after"]), like=target.text)
        if any("?" in line for line in found):
            raise UnusableText("the model asked something that the user didn't")
        return _surround(target.text, found[:count], found[count:])


def _surround(text: str, before: list[str], after: list[str]) -> Result:
    joint = "\n" if "\n" in text else " "
    count = len(before) + len(after)
    what = "A sentence" if count == 1 else f"{count} sentences"
    note = f"{what} without any new request or fact came with the user's message."
    return Result(joint.join(piece for piece in (" ".join(before), text, " ".join(after)) if piece), note)


def _count_words(text: str) -> int:
    return len(_WORD.findall(text))


def _find_uncontradicted(target: UserTarget) -> str:
    return target.text if target.before_contradiction is None else target.before_contradiction


def _draw_candidates(target: UserTarget, rng: SeededRandom) -> list[tuple[str, bool]]:
    """Draw sentences in the order of use, small talk and repetitions by turns, each with whether it repeats
    the user's own. Of a text that was contradicted only the sentences are repeated that were there before
    it: the others may be the false half.
    """
    text = target.text
    talk = [(sentence, False) for sentence in rng.shuffled(SMALL_TALK)]
    sentences = [text[start:end].strip() for start, end in split_sentences(text)]
    said = [sentence for sentence in sentences if _count_words(sentence) in REPEATED_WORDS]
    drawn = [(rng.choice(REPEATS), sentence) for sentence in rng.sample(said, 4)]
    if (before := _find_uncontradicted(target)) != text:
        own = {before[start:end].strip() for start, end in split_sentences(before)}
        drawn = [(how, sentence) for how, sentence in drawn if sentence in own]
    repeats = [(how.replace("{}", sentence), True) for how, sentence in drawn]
    first, second = (talk, repeats) if rng.chance(0.5) else (repeats, talk)
    return [one for pair in zip_longest(first, second) for one in pair if one is not None]
