"""Keyboards: which keys lie beside a key, how near, and which hand strikes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from crosswind.injectors.text.languages import Language

BESIDE, ABOVE = 1.0, 0.45
"""How likely a neighbour in the same row is struck, and one in the row above or below: fingers slip sideways
more than they misjudge a row."""


@dataclass(frozen=True)
class Keyboard:
    """Rows of letters from the top, each set some keys to the right of the top one."""

    rows: tuple[str, ...]
    offsets: tuple[float, ...] = (0.0, 0.25, 0.75)
    neighbours: dict[str, tuple[tuple[str, ...], tuple[float, ...]]] = field(
        init=False, default_factory=dict, compare=False
    )
    left: frozenset[str] = field(init=False, compare=False)
    """The letters that the left hand strikes."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "left", frozenset("".join(row[:5] for row in self.rows)))
        places = {
            key: (row, at + self.offsets[row])
            for row, keys in enumerate(self.rows)
            for at, key in enumerate(keys)
        }
        for key, (row, at) in places.items():
            near = {
                other: BESIDE if row == other_row else ABOVE
                for other, (other_row, place) in places.items()
                if other != key and abs(row - other_row) <= 1 and abs(at - place) <= 1.0
            }
            self.neighbours[key] = tuple(near), tuple(near.values())


_QWERTY = Keyboard(("qwertyuiop", "asdfghjkl", "zxcvbnm"))
_LAYOUTS = {
    Language.DE: Keyboard(("qwertzuiopü", "asdfghjklöä", "yxcvbnm")),
    Language.FR: Keyboard(("azertyuiop", "qsdfghjklm", "wxcvbn")),
    Language.ES: Keyboard(("qwertyuiop", "asdfghjklñ", "zxcvbnm")),
    Language.AR: Keyboard(("ضصثقفغعهخحجد", "شسيبلاتنمكط", "ئءؤرىةوزظ")),
}
_OTHERS = (
    Keyboard(("йцукенгшщзхъ", "фывапролджэ", "ячсмитьбю")),
    Keyboard(("ςερτυθιοπ", "ασδφγηξκλ", "ζχψωβνμ")),
)
"""Of scripts that there are no packs for: Russian and Greek."""


@lru_cache(256)
def find_keyboard(language: Language | None, letter: str) -> Keyboard:
    """The keyboard on which people write this letter in that language."""
    usual = _LAYOUTS.get(language, _QWERTY) if language else _QWERTY
    return next((one for one in (usual, *_OTHERS) if letter.lower() in one.neighbours), usual)
