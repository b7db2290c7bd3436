"""Read and check text that a language model wrote. Each function raises UnusableText where the text doesn't
fit the task.
"""

from __future__ import annotations

import json
import re
from typing import Any

from crosswind.injectors.wording import UnusableText

LONGEST_LINE = 240
"""Characters of one sentence that is added."""

_FENCED = re.compile(r"```\w*\n(.*?)\n?```", re.DOTALL)
_BULLET = re.compile(r"^(?:[-*•]|\d{1,2}[.)])\s+")
_REFUSAL = re.compile(
    r"\bas an? (?:ai|language model)\b|\blanguage model\b|\bi(?:['’]m| am) (?:sorry|unable)\b"
    r"|\bi (?:can['’]?t|cannot|won['’]t) (?:help|assist|do|write|provide|fulfil)",
    re.IGNORECASE,
)
_LONE_WORD = re.compile(r"[A-Za-z'’]+[.!?]*")
_PARTICULAR = re.compile(r"[\d@#_$€£¥\\/<>{}\[\]\"“”«»„`]")
"""Marks of ids, amounts, addresses, quotations and code."""


def read_text(text: str, longest: int, *, like: str = "") -> str:
    """The text without fences and quotation marks around it, of `longest` characters at most. It replaces the
    text `like`, and may say what that says."""
    whole = text.strip()
    if (fenced := _FENCED.fullmatch(whole)) is not None:
        whole = fenced[1].strip()
    for opening, closing in ('""', "“”", "«»"):
        bare = whole[1:-1]
        if whole[:1] == opening and whole[-1:] == closing and opening not in bare and like[:1] != opening:
            whole = bare.strip()
    if not whole:
        raise UnusableText("the model wrote nothing")
    if len(whole) > longest:
        raise UnusableText(f"the model wrote {len(whole)} characters where {longest} are the most")
    if _REFUSAL.search(whole) and not _REFUSAL.search(like):
        raise UnusableText("the model refused to write")
    return whole


def read_lines(text: str, count: int, *, like: str = "") -> list[str]:
    """The first `count` lines, without the bullets before them."""
    whole = read_text(text, 4 * LONGEST_LINE * max(1, count), like=like)
    found = [_BULLET.sub("", line.strip()) for line in whole.splitlines() if line.strip()]
    if len(found) < count:
        raise UnusableText(f"the model wrote {len(found)} lines where {count} were asked for")
    if any(len(line) > LONGEST_LINE for line in found[:count]):
        raise UnusableText(f"the model wrote a line of more than {LONGEST_LINE} characters")
    if any(_LONE_WORD.fullmatch(line) for line in found[:count]):
        raise UnusableText("the model wrote a single word where a sentence was asked for")
    return found[:count]


def read_general_lines(text: str, count: int, *, like: str = "") -> list[str]:
    """The first `count` lines, none of which names anything in particular."""
    return [check_general(line) for line in read_lines(text, count, like=like)]


def check_general(line: str) -> str:
    """Check that a line names nothing in particular, so that it can't be taken for a fact of the task."""
    if (found := _PARTICULAR.search(line)) is not None:
        raise UnusableText(f"the model named something in particular ({found.group()!r} in {line!r:.80})")
    return line


def read_json(text: str, kind: type) -> Any:
    """The text as a JSON value of that type."""
    try:
        value = json.loads(read_text(text, 20_000))
    except (ValueError, RecursionError) as error:
        raise error if isinstance(error, UnusableText) else UnusableText("the model wrote no JSON") from None
    if not isinstance(value, kind):
        raise UnusableText(f"the model wrote a JSON {type(value).__name__}, not a {kind.__name__}")
    return value


def check_length(text: str, before: str, share: float) -> str:
    """Check that the text is at most that share longer or shorter than the one before."""
    if abs(len(text) - len(before)) > max(1.0, share * len(before)):
        raise UnusableText(f"the model wrote {len(text)} characters in place of {len(before)}")
    return text
