"""Less exact words for a very value: where a place lies, and what people call a file."""

from __future__ import annotations

import re
from collections.abc import Iterator

_ADDRESS = re.compile(r"\d{1,5}[A-Za-z]? ([A-Z][\w'.-]*(?: [A-Z][\w'.-]*){0,3})")
_CALLED = {
    **dict.fromkeys(("doc", "docx", "md", "odt", "pdf", "rtf"), ("document",)),
    **dict.fromkeys(("csv", "xls", "xlsx"), ("sheet", "spreadsheet")),
    **dict.fromkeys(("jpg", "jpeg", "png"), ("picture",)),
}
_LEAST_LETTERS = 3
_PAPERS = frozenset("agenda contract invoice letter log manual minutes notes plan proposal report".split())


def list_wider(text: str, place: str) -> tuple[str, ...]:
    """Where a place lies: the street of an address. A country says too little of a city."""
    if (street := _ADDRESS.fullmatch(place)) is not None:
        return (street[1],)
    return ()


def list_titles(name: str) -> Iterator[str]:
    """What people call a file whose name is made of words: `the quarterly report file`."""
    stem, _, kind = name.rpartition("/")[2].rpartition(".")
    words = re.split(r"[_ -]", stem)
    if stem and all(word.isascii() and word.isalpha() and len(word) >= _LEAST_LETTERS for word in words):
        title = " ".join(words).lower()
        if kind == "log" or words[-1].lower() in _PAPERS:
            yield f"the {title}{'' if words[-1].lower() in _PAPERS else ' log'}"
            return
        yield f"the {title} file"
        yield from (f"my {title} {noun}" for noun in _CALLED.get(kind, ()))
