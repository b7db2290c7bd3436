"""How a word is mistyped: a neighbouring key, letters swapped, dropped or doubled, a common misspelling."""

from __future__ import annotations

from collections.abc import Callable

from crosswind.injectors.operators.user.keyboards import NEIGHBOURS
from crosswind.injectors.operators.user.misspellings import COMMON
from crosswind.injectors.streams import Stream
from crosswind.injectors.text.entities import MEANING_WORDS


def mistyped(word: str, rng: Stream) -> tuple[str, str | None]:
    """A kind of typo and the word with it; None where no kind gives a word that is both other and
    harmless."""
    for kind in rng.shuffled(list(_KINDS)):
        typed = _KINDS[kind](word, rng)
        if typed is not None and typed != word and typed.lower() not in MEANING_WORDS:
            return kind, typed
    return "none", None


def _adjacent(word: str, rng: Stream) -> str | None:
    at = rng.integer(1, len(word) - 1)
    near = NEIGHBOURS.get(word[at].lower())
    if near is None:
        return None
    letter = rng.choice(near)
    return word[:at] + (letter.upper() if word[at].isupper() else letter) + word[at + 1 :]


def _swap(word: str, rng: Stream) -> str | None:
    at = rng.integer(1, len(word) - 2)
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def _drop(word: str, rng: Stream) -> str | None:
    at = rng.integer(1, len(word) - 1)
    return word[:at] + word[at + 1 :]


def _double(word: str, rng: Stream) -> str | None:
    at = rng.integer(1, len(word) - 1)
    return word[: at + 1] + word[at:]


def _misspell(word: str, rng: Stream) -> str | None:
    spelt = COMMON.get(word.lower())
    return spelt.capitalize() if spelt and word[0].isupper() else spelt


_KINDS: dict[str, Callable[[str, Stream], str | None]] = {
    "adjacent key": _adjacent,
    "swapped": _swap,
    "dropped": _drop,
    "doubled": _double,
    "misspelt": _misspell,
}
