"""A user's message that repeats itself and tells what nobody asked."""

from __future__ import annotations

import re

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.model_text import read_lines
from crosswind.injectors.operators.user.asides.draw import (
    AsideDraw,
    Position,
    apply_asides,
    lower_first,
)
from crosswind.injectors.operators.user.asides.fillers import (
    LONG,
    LONGEST_TEXT,
    draw_said,
    goes_on,
)
from crosswind.injectors.operators.user.asides.places import separate
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, UserTarget
from crosswind.injectors.text.caseless import CaselessPattern
from crosswind.injectors.text.languages import Language
from crosswind.injectors.text.sentences import count_words, is_prose
from crosswind.injectors.wording import UnusableText, written_form


@operator(
    "user.redundant",
    site=Site.USER_TEXT,
    recovery=Recovery.IGNORE,
    aliases=("user-redundancy",),
    source="NoisyAgent section 3.1; AgentNoiseBench section 2.2.1 and appendix B (Redundant Information)",
    effect=Effect.ADDS,
    version=13,
)
class RedundantMessage:
    """The user says the values of a longer message, its request or what it asks for again, in a few words,
    or adds what is without use to the task: a greeting, an announcement, a plain remark, thanks. What is a
    courtesy already isn't followed by thanks; a message that thanks or greets does so once. A message of
    less than twenty words gets two phrases at most, one of them in front of it, and is never said again; a
    longer one gets three.

    Severity: the expected share of words that is added (0.5: half as many again), up to a sentence in front
    of the message and one behind it. Sentences are added whole: of messages that are shorter than one, that
    share gets one, and two fifths of it a second. Nothing of the message itself is changed, nothing is
    asked that wasn't asked, and no fact is added.
    """

    def draw(self, target: UserTarget, rng: SeededRandom, severity: float) -> Draw | None:
        if not is_prose(target.text):
            return None
        point = rng.uniform()
        room = severity * count_words(target.text)
        asides = AsideDraw(target, rng, "user.redundant")
        recap = asides.language is not None and rng.chance(_RECAP)
        remark = _Remark(asides, target, rng, recap)
        for first in rng.shuffled((True, False)):
            kept = asides.drawn
            sentence = remark.draw_before() if first else remark.draw_behind()
            if sentence is None:
                continue
            length = count_words(sentence)
            # The last sentence comes with the probability that makes the share right on average.
            chance = max(severity * (_SECOND if asides.count else 1.0), room / length)
            if room < length and point >= chance:
                asides.forget(kept)
                break
            asides.put("before" if first else "behind", sentence)
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


_RECAP, _SECOND = 0.35, 0.25
"""How often something is said again, where it can be; how often a short message gets a second sentence."""
_GREETED, _ANNOUNCED, _REMARKED, _THANKED, _JOINED = 0.5, 0.4, 0.8, 0.45, 0.5
"""How often a message gets a greeting and an announcement, a remark and thanks behind it; how often the two
are one sentence."""


_THANKS = re.compile(r"(?:thanks|thank you|many thanks|thx|ty|cheers)\b", re.IGNORECASE)
"""Thanks that a sentence can go on with behind a comma."""
_COURTEOUS = CaselessPattern(
    r"""\b(?:help|hand|favour|mind|trouble|okay|ok|fine|all\ right|alright|great|lovely|awesome|wonderful
    |perfect|amazing|brilliant|fantastic|nice|handy|useful|welcome|glad|relieved|easier|sav(?:e|es)|spare|thanks
    |happy|hope|hoping|sorry|apologies|please)\b""",
    re.VERBOSE,
)
"""An English phrase that is a courtesy: nobody adds another one."""


_THANKING = CaselessPattern(
    r"""\b(?:thanks|thank\ you|thx|ty|cheers|appreciate\w*|grateful|danke\w*|dank|merci|remercie\w*|gracias
    |agradec\w*|agradezco)\b|谢|感谢|ありがと|感謝|شكر""",
    re.VERBOSE,
)
"""Words that thank: who has said one doesn't thank again."""


class _Remark:
    """What is said in front of a message, or behind it. `recap`: the message itself, where that can be."""

    def __init__(self, asides: AsideDraw, target: UserTarget, rng: SeededRandom, recap: bool) -> None:
        self._asides, self._rng, self._recap = asides, rng, recap
        self._text = _find_said(target)
        self._first = not target.ordinal and not goes_on(self._text)
        self._words = count_words(self._text)
        self._left = 3 if self._words >= LONG else 2
        """How many more phrases the message may get."""
        self._courteous = False
        """Whether one of them was a courtesy."""
        self._thanked = _THANKING.search(target.text) is not None
        """Whether the message thanks by now."""

    def draw_before(self) -> str | None:
        """A greeting of the first message, and what leads up to a request: in English only."""
        if self._asides.language is None or not self._asides.places.before or not self._first:
            return None
        greets = self._rng.chance(_GREETED)
        both = self._words >= LONG and self._left > 1 and self._rng.chance(_ANNOUNCED)
        said = self._draw("opener", "before") if both or not greets else None
        greeting = self._draw("greeting", "before") if greets or said is None else None
        return self._join(greeting, said, at_front=True)

    def draw_behind(self) -> str | None:
        """The message in fewer words or a plain remark, and thanks."""
        if self._asides.language is None or not self._asides.places.behind:
            return None
        remarks, thanks = self._rng.chance(_REMARKED), self._rng.chance(_THANKED)
        said = self._take(self._draw_again())
        if said is None and remarks:
            said = self._draw("chat", "behind")
        thanked = self._draw("thanks", "behind") if said is None or (thanks and not self._courteous) else None
        return self._join(said, thanked)

    def _draw(self, part: str, position: Position) -> str | None:
        """An entry of a part; none where it would be one phrase or one courtesy too many, or where it leads
        up to a message that is shorter."""
        kept = self._asides.drawn
        said = self._asides.draw_at(part, position) if self._left else None
        if said is None:
            return None
        stacked = self._courteous and _COURTEOUS.search(said) is not None
        stacked = stacked or (self._thanked and (part == "thanks" or _THANKING.search(said) is not None))
        if stacked or (part == "opener" and count_words(said) >= self._words):
            self._asides.forget(kept)
            return None
        return self._take(said)

    def _take(self, said: str | None) -> str | None:
        if said is not None:
            self._left -= 1
            self._courteous = self._courteous or _COURTEOUS.search(said) is not None
            self._thanked = self._thanked or _THANKING.search(said) is not None
        return said

    def _draw_again(self) -> str | None:
        language = self._asides.language
        if not self._recap or len(self._text) > LONGEST_TEXT or language is None:
            return None
        slots = draw_said(self._text, language, self._rng)
        return self._asides.draw_recap(slots) if slots else None

    def _join(self, one: str | None, other: str | None, *, at_front: bool = False) -> str | None:
        """Two phrases, in English sometimes in one sentence: "Hi, quick question.", "No rush, thanks!"."""
        if one is None or other is None:
            return one or other
        language = self._asides.language
        joined = self._rng.chance(_JOINED) and language is Language.EN and not set(one) & set(",()?:")
        if joined and one[-1] in ".!" and (at_front or _THANKS.match(other)):
            return f"{one[:-1]}, {lower_first(other)}"
        return f"{one}{separate(one, language)}{other}"


def _find_said(target: UserTarget) -> str:
    return target.own if target.before_contradiction is None else target.before_contradiction


def _make_result(text: str, count: int) -> Result:
    what = "A sentence" if count == 1 else f"{count} sentences"
    return Result(text, f"{what} without any new request or fact came with the user's message.")
