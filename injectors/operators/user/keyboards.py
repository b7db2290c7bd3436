"""Which keys lie next to which, on the usual layouts of the scripts that have upper and lower case."""

from __future__ import annotations

_LAYOUTS = (
    ("qwertyuiop", "asdfghjkl", "zxcvbnm"),
    ("йцукенгшщзхъ", "фывапролджэ", "ячсмитьбю"),
    ("ςερτυθιοπ", "ασδφγηξκλ", "ζχψωβνμ"),
)
"""Rows of letters from the top, each set half a key to the right of the one above."""


def _neighbours() -> dict[str, str]:
    found: dict[str, str] = {}
    for rows in _LAYOUTS:
        for number, row in enumerate(rows):
            for at, key in enumerate(row):
                near = row[max(0, at - 1) : at] + row[at + 1 : at + 2]
                if number > 0:
                    near += rows[number - 1][at : at + 2]
                if number + 1 < len(rows):
                    near += rows[number + 1][max(0, at - 1) : at + 1]
                found[key] = near
    return found


NEIGHBOURS = _neighbours()
"""Lower-case letter to the letters on the keys around it."""
