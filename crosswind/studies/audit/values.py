"""What a tool's result says, and whether what was shown instead still says it: the audit's own reading."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

NO_JSON: Any = object()

_FAULT_FIELD = re.compile(
    r"error|fault$|exception$|traceback|incomplete|partial|stale|truncated|uncertain|omitted|degraded|timed_?out"
    r"|warnings?$|failures|missing|unresolved|unavailable|not_?loaded|skipped|terminated|limit_?exceeded"
    r"|(?:pending|failed|deferred|dropped|awaiting|lost|absent|without|hidden|collapsed|expandable|excluded|masked"
    r"|lazy|silent|offline|unread|invalid|unselected)_?(?:fields|signals|sensors|readings|values)|not_?reporting|waiting_?for"
    r"|unfetched|could_?not_?load|not_?(?:sampled|included|expanded|available)|no_?(?:data|answer)|left_?out|(?:summary|preview)_?only"
    r"|rest_?available|more_?fields|has_?(?:more|next)|more_?(?:results|available)|remaining|^_?next|next_?link|links$|paging|end_?cursor",
    re.IGNORECASE,
)
_WHOLE_FIELD = re.compile(r"(?:is_?)?complete|exhaustive|(?:is_?)?last(?:_?page)?", re.IGNORECASE)
_NUMBER_FIELD = re.compile(r"status|status_?code|code|(?:exit|return)_?code", re.IGNORECASE)
_MESSAGE_FIELDS = frozenset(("detail", "message", "msg", "title", "reason"))
_FAULT_WORDS = re.compile(
    r"error|fail|exception|traceback|exceeded|too many|rate limit|time(?:d |-)?out|unavailable|cannot|can't"
    r"|could not|unable to|invalid|not (?:permitted|ready|running|shown)|denied|refused|forbidden|unauth"
    r"|authorization required|\bhttp [45]\d\d\b|<title>[45]|malformed response|truncated|omitted"
    r"|limit reached|more lines|killed|core dumped|stale file|busy|closed|\[uncertain reading\]",
    re.IGNORECASE,
)
_CUT_END = re.compile(r"((?:\.\.\.|…)[^\n]{0,60}|\[[^\[\]]+\]|<[^<>]+>|\([^()]+\)|--[^\n]+)\s*\Z")
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
    return repr(said) == repr(now) or _goes_on(said, now)


def _goes_on(said: Any, now: Any) -> bool:
    """Whether a running text has more behind it, as if its author had written on: it says what it said."""
    if not isinstance(said, str) or not isinstance(now, str) or not now.startswith(said):
        return False
    is_running = len(said.split()) >= LEAST_RUNNING or len(_WIDE.findall(said)) >= LEAST_WIDE
    return is_running and now[len(said) :][:1].isspace()


LEAST_RUNNING, LEAST_WIDE = 6, 12
"""Words of a running text; characters of one in a script that parts no words."""
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")


def shows_that_it_is_wrong(clean: str, shown: str, before: str | None = None) -> bool:
    """Whether who sees `shown` alone can tell that it isn't the result. `before` is what stood there when it
    was destroyed, if not the clean result: what other noise said of faults tells nothing.

    It is no JSON where JSON was due; or it says of itself, in a field or in words that the result doesn't
    have, that something went wrong.
    """
    said, now = value_of(clean), value_of(shown)
    if said is not NO_JSON and now is NO_JSON:
        return True
    if now is not NO_JSON:
        return _admits(now, said) and (before is None or _admits(now, value_of(before)))
    told = _fault_words(shown) - _fault_words(clean) - _fault_words(before or "")
    return bool(told) or _stops_short(clean.strip(), shown.strip())


def _stops_short(clean: str, shown: str) -> bool:
    """Whether a text is the beginning of the clean one, and ends in a mark or within a word of its prose; or
    has a mark where its middle was."""
    end = _CUT_END.search(shown)
    if end is not None and clean.startswith(shown[: end.start()].rstrip()) and not clean.endswith(end[1]):
        return True
    for dots in ("[...]", "[…]", "...", "…"):
        head, found, tail = shown.partition(dots)
        if found and dots not in clean and clean.startswith(head.rstrip()) and clean.endswith(tail.lstrip()):
            return True
    rest = clean[len(shown) :]
    torn = clean.startswith(shown) and shown[-1:].isalpha() and rest[:1].isalpha()
    return torn and len(shown.split()) > 8


def _fault_words(text: str) -> set[str]:
    """The words that speak of a fault. A true result may have some, of which others tell nothing."""
    return {word.lower() for word in _FAULT_WORDS.findall(text)}


def _admits(now: Any, said: Any) -> bool:
    last = now[-1] if isinstance(now, list) and now else now
    before = said[-1] if isinstance(said, list) and said else said
    known = before if isinstance(before, dict) else {}
    if not isinstance(last, dict):
        return False
    if any(
        _is_fault(field, value) and not _is_fault(field, known.get(field)) for field, value in last.items()
    ):
        return True
    if _MESSAGE_FIELDS.intersection(last) and not (isinstance(said, dict) and said.keys() & last.keys()):
        return True
    inner = _inner_text(last), _inner_text(known)
    return bool(all(inner)) and shows_that_it_is_wrong(inner[1], inner[0])


def _is_fault(field: str, value: Any) -> bool:
    """Whether a member says that something went wrong, or that there is more."""
    if value is False and _WHOLE_FIELD.fullmatch(field):
        return True
    if value in (None, False, "", [], {}):
        return False
    if _FAULT_FIELD.search(field):
        return True
    if not _NUMBER_FIELD.fullmatch(field) or isinstance(value, bool) or not isinstance(value, int | str):
        return False
    number = int(value) if str(value).lstrip("-").isdecimal() and len(str(value)) < 6 else 0
    return number != 0 if field.lower().startswith(("exit", "return")) else 400 <= number < 600


def _inner_text(value: dict[str, Any]) -> str:
    """The texts of an MCP result's parts; empty where it is none."""
    parts = value.get("content")
    if not isinstance(parts, list):
        return ""
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, dict) and "text" in part)


def canonical(arguments: str) -> str:
    """A call's arguments, whatever the order of their fields."""
    value = value_of(arguments or "{}")
    return arguments.strip() if value is NO_JSON else json.dumps(value, sort_keys=True, ensure_ascii=False)
