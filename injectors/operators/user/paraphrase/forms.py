"""Forms of sentences, written as one text with a bar between them."""

from __future__ import annotations


def read_forms(text: str) -> tuple[str, ...]:
    return tuple(" ".join(form.split()) for form in text.split("|"))
