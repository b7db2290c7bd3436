"""An episode's scripted user who behaves as the gateway's interaction pattern says (NoisyAgent, eq. 5).

The gateway draws the behaviours when the user's session is opened: what the user withholds, contradicts,
repeats and asks beside, how often, and from which message on. The wish stays, and so do the facts: what is
withheld is told when asked for, and what is contradicted is settled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from crosswind.simulators.draws import Draws
from crosswind.simulators.environment import Episode, unblocked

Behaviour = Mapping[str, Any]
"""As `POST /api/sessions` tells it: kind, manner, share, first_message, amount, settled and says."""

EVASIONS = (
    "You know which one I mean.",
    "The one from the other day, of course.",
    "It should all be in your files, shouldn't it?",
    "Hm, I thought you could see that.",
    "Well, mine.",
    "Can't you look that up yourself?",
)
"""What a user says who answers only when asked again."""

_MARKS = ".!?"


class DifficultUser:
    """One side of the talk: what the episode's own user says, said in the pattern's way."""

    def __init__(self, episode: Episode, behaviours: Sequence[Behaviour], draws: Draws) -> None:
        self._episode, self._draws = episode, draws
        # What is left out can't be contradicted.
        self._behaviours = sorted(behaviours, key=lambda one: bool(one["kind"] != "ambiguous"))
        self._facts: Mapping[str, str] = getattr(episode, "facts", {})
        self._messages = 0
        self._withheld: dict[str, str] = {}
        """What was left out, by the fact's name, as the user would have said it."""
        self._evade = False
        """Whether the user stays vague when first asked."""
        self._owed: list[str] = []
        """What the user says at the beginning of the next message."""
        self._told: set[str] = set()
        """The phrases that were used: none comes twice."""

    async def opening(self) -> str:
        return self._speak(self._episode.opening)

    async def reply(self, text: str) -> str | None:
        """The answer to the assistant's text; None: the conversation is over. What is in doubt is settled
        first."""
        own = await unblocked(
            self._episode.reply, text
        )  # The episode hears what its own user would have heard, too.
        asked = own is not None or "?" in text
        if asked and self._withheld:
            if self._evade:
                self._evade = False
                return self._speak(self._draws.choice(EVASIONS))
            return self._speak(self._reveal(text))
        if own is None:
            return self._speak("") if self._owed else None
        return self._speak(own)

    def _reveal(self, question: str) -> str:
        """What was left out: what is asked for, or all of it."""
        told = list(self._withheld)
        if any(one["settled"] == "one_by_one" for one in self._behaviours):
            named = [name for name in told if name in question.lower()]
            told = (named or told)[:1]
        return " ".join(self._tell(name) for name in told)

    def _tell(self, name: str) -> str:
        """A fact that was left out, in a phrase of the pattern's."""
        hiding = next((one for one in self._behaviours if one["kind"] == "ambiguous"), None)
        phrase = self._choose(hiding, "reveal") if hiding else ""
        return _fill(phrase or "It is {value}", {"value": self._withheld.pop(name), "thing": name})

    def _speak(self, text: str) -> str:
        """A message of the user's: what is owed, the text, and what the pattern makes of it."""
        self._messages += 1
        owed, self._owed = self._owed, []
        said = " ".join(filter(None, (*owed, text)))
        for one in self._behaviours:
            if text and self._messages >= one["first_message"] and self._draws.chance(one["share"]):
                said = _ACTS[one["kind"]](self, said, one)
        return said

    def _withhold(self, said: str, one: Behaviour) -> str:
        """Leave out facts that stand behind their names: "order #17" becomes "my order"."""
        if self._messages > 1:
            return said
        for name, value in list(self._facts.items())[: one["amount"]]:
            found = re.search(rf'(?:\b(?:my|the) )?\b{re.escape(name)} ("?{re.escape(value)}"?)', said)
            if found is not None:
                self._withheld[name] = found[1]
                which = "that name" if name == "name" else f"my {name}"
                said = f"{said[: found.start()]}{which}{said[found.end() :]}"
        self._evade = bool(self._withheld) and one["settled"] == "asked_twice"
        return said

    def _contradict(self, said: str, one: Behaviour) -> str:
        """Name another value of a fact's kind behind the true one, and settle it."""
        named = [(name, value) for name, value in self._facts.items() if value in said]
        for name, value in named:
            rival = draw_rival(value, self._draws)
            if rival is None:
                continue
            claim, settle = (self._choose(one, part) for part in (one["manner"], "settle"))
            if not claim or not settle:
                return said
            slots = {"value": value, "rival": rival, "thing": name}
            said = f"{said} {_fill(claim, slots)}"
            if one["settled"] == "same_message":
                return f"{said} {_fill(settle, slots)}"
            self._owed.append(_fill(settle, slots))
            return said
        return said

    def _repeat(self, said: str, one: Behaviour) -> str:
        """Say it again, or tell of the day, around it or behind it."""
        value = next((value for value in self._facts.values() if value in said), None)
        again = self._choose(one, "again") if one["manner"] == "repeat" else ""
        chat = self._take(one, "chat", one["amount"] - bool(again))
        more = [_fill(again, {"value": value})] if again and value else []
        if one["settled"] == "around" and chat:
            return " ".join((_end(chat[0]), said, *map(_end, (*more, *chat[1:]))))
        return " ".join((said, *map(_end, (*more, *chat))))

    def _drift(self, said: str, one: Behaviour) -> str:
        """Ask something else, and come back to the wish."""
        name = next(iter(self._facts), "request")
        back = _fill(self._choose(one, "return"), {"thing": name.replace("_", " ")})
        asked = [_end(text) for text in self._take(one, "question", one["amount"])]
        if not asked:
            return said
        if one["settled"] == "next_message":
            return " ".join((*asked, said))  # The wish itself leads back.
        return " ".join((said, *asked, back))

    def _probe(self, said: str, one: Behaviour) -> str:
        """Try the assistant's limits."""
        if one["settled"] == "second_try" and self._messages > 2:
            return said  # It was tried once more, and that is it.
        return self._ask_beside(said, one["manner"], one, "yield")

    def _wish(self, said: str, one: Behaviour) -> str:
        """Ask for what no assistant of the kind can do."""
        return self._ask_beside(said, "errand", one, "leave")

    def _ask_beside(self, said: str, part: str, one: Behaviour, closing: str) -> str:
        beside = " ".join(_end(text) for text in self._take(one, part, one["amount"]))
        if beside and one["settled"] == "beforehand":
            beside = _close(beside, self._choose(one, closing))
        return f"{said} {beside}".rstrip()

    def _choose(self, one: Behaviour, part: str) -> str:
        """One of the phrases of a part that weren't said yet; empty where there is none."""
        return next(iter(self._take(one, part, 1)), "")

    def _take(self, one: Behaviour, part: str, count: int) -> list[str]:
        """Phrases of a part that weren't said yet, `count` at most."""
        phrases = [phrase for phrase in one["says"].get(part, ()) if phrase not in self._told]
        taken = self._draws.sample(phrases, min(max(count, 0), len(phrases)))
        self._told.update(taken)
        return taken


_ACTS: Mapping[str, Callable[[DifficultUser, str, Behaviour], str]] = {
    "ambiguous": DifficultUser._withhold,
    "inconsistent": DifficultUser._contradict,
    "redundant": DifficultUser._repeat,
    "topic_drift": DifficultUser._drift,
    "boundary_probing": DifficultUser._probe,
    "out_of_scope": DifficultUser._wish,
}


def draw_rival(value: str, draws: Draws) -> str | None:
    """Another value of the same form: one of its digits is another one; None where it has none."""
    places = [at for at, letter in enumerate(value) if letter.isdigit()]
    if not places:
        return None
    at = draws.choice(places)
    other = draws.choice([digit for digit in "123456789" if digit != value[at]])
    return f"{value[:at]}{other}{value[at + 1 :]}"


def _fill(phrase: str, slots: Mapping[str, str]) -> str:
    for name, value in slots.items():
        phrase = phrase.replace(f"{{{name}}}", value)
    return _end(phrase)


def _end(phrase: str) -> str:
    """The phrase with a mark behind which another sentence may stand."""
    return phrase if phrase.endswith((*_MARKS, ")", "…")) else f"{phrase}."


def _close(said: str, closing: str) -> str:
    """A sentence with what closes it, which may begin with a comma or a dash and continue it."""
    if closing.startswith(","):
        return _end(said.rstrip(_MARKS) + closing)
    if closing.startswith(("–", "-")):
        return _end(f"{said.rstrip(_MARKS)} {closing}")
    return f"{said} {_end(closing)}" if closing else said
