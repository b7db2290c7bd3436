"""What a tool's result says, and whether what was shown instead still says it: the audit's own reading."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

NO_JSON: Any = object()

_FAULT_FIELDS = ("error", "errors", "incomplete", "partial", "stale", "truncated", "uncertain")
_FAULT_WORDS = re.compile(
    r"\berror\b|\bfailed\b|timed out|unavailable|\bhttp [45]\d\d\b|malformed response|\[truncated\]"
    r"|\[uncertain reading\]",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")


def value_of(text: str) -> Any:
    """The JSON object or array that the text is; NO_JSON for anything else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return NO_JSON
    return value if isinstance(value, dict | list) else NO_JSON


@lru_cache(4096)
def keeps(clean: str, shown: str) -> bool:
    """Whether everything that the clean result says is still said, in its place and order."""
    said, now = value_of(clean), value_of(shown)
    if said is NO_JSON:
        left = iter(_WORD.findall(shown))
        return all(word in left for word in _WORD.findall(clean))
    if now is NO_JSON:
        return False
    try:
        return _within(said, now)
    except RecursionError:
        return clean in shown


def _within(said: Any, now: Any) -> bool:
    if isinstance(said, dict):
        return isinstance(now, dict) and all(key in now and _within(said[key], now[key]) for key in said)
    if isinstance(said, list):
        if not isinstance(now, list):
            return False
        at = 0
        for one in said:
            while at < len(now) and not _within(one, now[at]):
                at += 1
            if at == len(now):
                return False
            at += 1
        return True
    return repr(said) == repr(now)


def shows_that_it_is_wrong(clean: str, shown: str, before: str | None = None) -> bool:
    """Whether who sees `shown` alone can tell that it isn't the result. `before` is what stood there when it
    was destroyed, if not the clean result: what other noise said of faults tells nothing.

    It is no JSON where JSON was due; it says of itself, in a field or in words that the result doesn't have,
    that something went wrong; or each changed value is disputed by another field that is named for it.
    """
    said, now = value_of(clean), value_of(shown)
    if said is not NO_JSON and now is NO_JSON:
        return True
    if now is not NO_JSON:
        admitted = _admits(now, said) and (before is None or _admits(now, value_of(before)))
        return admitted or (said is not NO_JSON and _is_disputed(said, now))
    return bool(_fault_words(shown) - _fault_words(clean) - _fault_words(before or ""))


def _fault_words(text: str) -> set[str]:
    """The words that speak of a fault. A true result may have some, of which others tell nothing."""
    return {word.lower() for word in _FAULT_WORDS.findall(text)}


def _admits(now: Any, said: Any) -> bool:
    last = now[-1] if isinstance(now, list) and now else now
    before = said[-1] if isinstance(said, list) and said else said
    known = before if isinstance(before, dict) else {}
    return isinstance(last, dict) and any(field in last and field not in known for field in _FAULT_FIELDS)


def _is_disputed(said: Any, now: Any) -> bool:
    """Whether every value that is not the true one has a new neighbour, named for it, that says another."""
    try:
        changes = list(_changes(said, now))
    except RecursionError:
        return False
    return bool(changes) and all(changes)


def _changes(said: Any, now: Any) -> Iterator[bool]:
    if isinstance(said, dict) and isinstance(now, dict):
        new = [key for key in now if key not in said]
        for key in said:
            if key not in now:
                yield False
            elif isinstance(said[key], dict | list):
                yield from _changes(said[key], now[key])
            elif repr(said[key]) != repr(now[key]):
                yield any(one.startswith(key) and repr(now[one]) != repr(now[key]) for one in new)
    elif isinstance(said, list) and isinstance(now, list) and len(said) == len(now):
        for one, other in zip(said, now, strict=True):
            yield from _changes(one, other)
    elif repr(said) != repr(now):
        yield False


def canonical(arguments: str) -> str:
    """A call's arguments, whatever the order of their fields."""
    value = value_of(arguments or "{}")
    return arguments.strip() if value is NO_JSON else json.dumps(value, sort_keys=True, ensure_ascii=False)
