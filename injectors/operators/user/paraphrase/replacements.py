"""Rules that put other words in the place of a part of a sentence."""

from __future__ import annotations

import re

Rules = tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]
"""Patterns, each with what may stand in the place of its first match."""


def compile_rules(*rules: tuple[str, tuple[str, ...]]) -> Rules:
    return tuple((re.compile(pattern), forms) for pattern, forms in rules)


def replace_by_rules(sentence: str, rules: Rules) -> list[str]:
    """The sentence by each rule that changes it."""
    found = [pattern.sub(form, sentence, count=1) for pattern, forms in rules for form in forms]
    return [one for one in found if one != sentence]
