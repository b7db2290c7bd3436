"""Tool payloads as JSON, where they are JSON: parsing that never raises, and what a faulty payload looks
like."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from crosswind.injectors.text.word_lists import make_phrases

NOT_JSON: Any = object()
"""What `parsed` gives for text that isn't JSON (None is a JSON value)."""

_FAULTS = """
    error errors errorcode errormessage odataerror iserror fault exception traceback stale uncertain
    incomplete incompleteresults partial ispartial degraded truncated istruncated omitted timedout warning
    warnings failures missing unresolved unavailablefields notloaded skippedfields terminatedearly
    limitexceeded hasmore hasnextpage moreresults moreavailable remaining next links paging nextcursor
    nextpagetoken nexttoken nextlink nextmarker odatanextlink endcursor
    missingfields pendingfields failedfields deferredfields fetcherrors lookupfailures skippedsections
    couldnotload droppedfields unavailable awaitingfields unfetched enrichmenterrors lostfields
    absentfields withoutfields unavailablesignals nodata readerrors notreporting lostsignals
    pendingsignals unreadvalues invalidsignals droppedsignals waitingfor offlinesensors silentsignals
    absentsignals notsampled lostreadings noanswer withoutreadings unreadsignals omittedfields
    expandablefields hiddenfields collapsedfields notincluded summaryonly excludedfields morefields
    notexpanded leftout unselectedfields maskedfields previewonly lazyfields restavailable
    errordetails loaderrors failedreadings sensorerrors silentsensors missingreadings notavailable
    partialfailure partialresult partialerrors datawarning datawarnings warningmessage problems faults
    sensorfaults readwarnings
"""
FAULT_KEYS = frozenset(_FAULTS.split())
"""Top-level fields by which a destroyed JSON result says that it is one, without case and separators."""

WHOLE_KEYS = frozenset({"complete", "iscomplete", "exhaustive", "lastpage", "islast"})
"""Top-level fields that are false where a part of a JSON result is missing."""

MESSAGE_KEYS = frozenset({"detail", "message", "msg", "title", "reason"})
"""Fields that say what went wrong, where they stand in place of all others."""

STATUS_KEYS = frozenset({"status", "statuscode", "code", "exitcode", "returncode"})
"""Fields with the number of an error: an HTTP status from 400 on, or what a process returned."""

FAULT_PHRASES = make_phrases(
    """
    timed out | timeout | deadline exceeded | truncated | omitted | http 4 | http 5 | error | fail |
    unavailable | exception | traceback | denied | refused | forbidden | not permitted | <title>4 | <title>5 |
    authorization required | unauthorized | unauthenticated | too many | rate limit | exceeded | not ready |
    not running | cannot | can't | could not | unable to | invalid | malformed response |
    [uncertain reading] | killed | core dumped | stale file | busy | closed | not shown | more lines |
    limit reached
    """
)
"""Words (lower case) by which a destroyed result that is plain text says that it is one."""

_SPACE = " \t\n\r"
_ENDS = {"{": "}", "[": "]", '"': '"', **dict.fromkeys("-0123456789", "")}
_WORDS = frozenset(("true", "false", "null", "NaN", "Infinity"))
"""JSON's white space, how its values begin and end, and those that are words, as Python reads them."""

REMEMBERED = 16_384
"""Characters of the longest text whose value is remembered for a while."""

MOST_BRACKETS = 200
"""Objects and arrays in a value that is compared as a whole: deeper nesting could not be followed."""


def parse_json(text: str) -> Any:
    """The JSON value, or NOT_JSON. Numbers that Python can't hold and nesting that it can't follow count
    as no JSON. Not to be changed: one result is looked at by every rule that may act on it, and by the
    guard after each."""
    return _short(text) if len(text) <= REMEMBERED else _parse(text)


def _parse(text: str) -> Any:
    bare = text.strip(_SPACE)
    end = _ENDS.get(bare[:1])
    if bare not in _WORDS and (end is None or not bare.endswith(end)):
        return NOT_JSON  # Prose, most often, or cut off: two decoders would raise.
    try:
        # Three times as fast as the standard library, with the same values. The latter decides what this
        # decoder refuses.
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        pass
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return NOT_JSON


_short = lru_cache(64)(_parse)


def is_container(value: Any) -> bool:
    """Whether a parsed value is an object or an array: what tools answer with, rather than prose that
    happens to parse."""
    return isinstance(value, (dict, list))


def holds_all(noisy: Any, clean: Any) -> bool:
    """Whether every value of `clean` stands unchanged at its place in `noisy`, which may hold more.

    Arrays may have gained elements, but those of `clean` keep their order.
    """
    try:
        both = isinstance(clean, dict) and isinstance(noisy, dict)
        # What is added stands at the top, most often: all else is as it was.
        if both and clean.keys() <= noisy.keys() and _encode_alike(_select(noisy, clean), clean):
            return True
        return _contains(noisy, clean)
    except RecursionError:
        return False


def _select(noisy: dict[str, Any], clean: dict[str, Any]) -> dict[str, Any]:
    """The members of one object that the other has too, in the other's order."""
    return dict(zip(clean, map(noisy.__getitem__, clean), strict=True))


def _encode_alike(noisy: Any, clean: Any) -> bool:
    """Whether two small values are the same one to the letter: True says so, False leaves it open."""
    try:
        if noisy != clean:
            return False
        text = msgspec.json.encode(clean)
        return text.count(b"{") + text.count(b"[") < MOST_BRACKETS and msgspec.json.encode(noisy) == text
    except (ValueError, TypeError, RecursionError):
        return False  # Lone surrogates and numbers that it can't write.


def _contains(noisy: Any, clean: Any) -> bool:
    if isinstance(clean, dict):
        return isinstance(noisy, dict) and all(
            key in noisy and _contains(noisy[key], clean[key]) for key in clean
        )
    if isinstance(clean, list):
        if not isinstance(noisy, list):
            return False
        if len(noisy) == len(clean):
            return _match_in_order(noisy, clean)
        remaining = iter(noisy)
        return all(any(_contains(candidate, element) for candidate in remaining) for element in clean)
    if isinstance(clean, str):
        return bool(noisy == clean) or (isinstance(noisy, str) and _continues(noisy, clean))
    # 1 == True == 1.0 in Python, NaN != NaN, and 0.0 == -0.0: types and texts decide.
    return type(noisy) is type(clean) and repr(noisy) == repr(clean)


def _continues(noisy: str, clean: str) -> bool:
    """Whether a text of several words stands whole before more text."""
    return is_prose(clean) and noisy.startswith(clean) and noisy[len(clean)].isspace()


LEAST_OF_PROSE = 6
"""Words of a text that is no name, title or value."""
LEAST_OF_WIDE = 12
"""The same in characters of a script without spaces."""
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_WIDE_MARK = re.compile("[\u3001\u3002\uff0c\uff01\uff1f,.!?]")


def is_prose(text: str) -> bool:
    """Whether a text is running text: most of its words stand in lines of several, and it is mostly letters.
    In a script without spaces it has several characters of it, most of all, and a mark of a sentence."""
    wide = len(_WIDE.findall(text))
    if wide >= LEAST_OF_WIDE and 2 * wide >= len(text):
        return _WIDE_MARK.search(text) is not None
    lines = [len(line.split()) for line in text.splitlines() if line.strip()]
    long = sum(one for one in lines if one >= LEAST_OF_PROSE)
    letters = sum(map(str.isalpha, text)) + sum(map(str.isspace, text))
    return long >= LEAST_OF_PROSE and 2 * long >= sum(lines) and letters >= 0.8 * len(text)


def _match_in_order(noisy: list[Any], clean: list[Any]) -> bool:
    """Whether each element holds that of `clean` at its place: most often all but one are as they were."""
    pairs = list(zip(noisy, clean, strict=True))
    changed = [pair for pair in pairs if pair[0] != pair[1]]
    same = [pair for pair in pairs if pair[0] == pair[1]] if len(changed) < len(pairs) else []
    if same and _encode_alike(*map(list, zip(*same, strict=True))):
        pairs = changed
    return all(_contains(*pair) for pair in pairs)


def looks_destroyed(noisy: str, clean: str) -> bool:
    """Whether an agent can tell, without having seen `clean`, that `noisy` is no valid result.

    Either a JSON payload doesn't parse any more, or it carries a fault field that the clean one lacks, or it
    is plain text that speaks of a fault where the clean text doesn't.
    """
    after = parse_json(noisy)
    if is_container(after):
        before = parse_json(clean)
        if _fault_marks(after) - _fault_marks(before) or _is_message(after, before) or _cuts(after, before):
            return True
        inner = read_mcp_text(after), read_mcp_text(before)
        return inner[0] is not None and inner[1] is not None and looks_destroyed(inner[0], inner[1])
    if after is NOT_JSON and noisy[:1] == clean[:1] and is_container(parse_json(clean)):
        return True  # JSON that was cut: no words need say so, as they do where it was replaced.
    lowered, original = noisy.lower(), clean.lower()
    if any(phrase in lowered and phrase not in original for phrase in FAULT_PHRASES):
        return True
    return after is NOT_JSON and (is_container(parse_json(clean)) or _breaks_off(noisy, clean))


def _cuts(after: Any, before: Any) -> bool:
    """Whether a text or a list of texts of a JSON result is cut, with a mark."""
    if isinstance(after, dict) and isinstance(before, dict):
        return any(_cuts(one, before.get(key)) for key, one in after.items() if one is not before.get(key))
    if isinstance(after, list) and isinstance(before, list):
        last = after[-1] if after else None
        return isinstance(last, str) and last not in before and _CUT_MARK.fullmatch(last) is not None
    if not isinstance(after, str) or not isinstance(before, str):
        return False
    mark = _CUT_MARK.search(after)
    return mark is not None and mark[0] not in before and before.startswith(after[: mark.start()].rstrip())


def _fault_marks(value: Any) -> set[str]:
    """What of a JSON result says that it isn't what was asked for: fields of its last object, without case
    and separators."""
    if isinstance(value, list):
        value = value[-1] if value else None
    if not isinstance(value, dict):
        return set()
    return {plain for plain, key in _find_telling(tuple(value)).items() if _tells(plain, value[key])}


def _tells(plain: str, told: Any) -> bool:
    """Whether a field with this name and value says so."""
    if plain in FAULT_KEYS:
        return told not in (None, False, "", [], {})
    if plain in WHOLE_KEYS:
        return told is False
    number = int(told) if isinstance(told, str) and told.isdecimal() and len(told) < 6 else told
    if not isinstance(number, int) or isinstance(number, bool):
        return False
    return number != 0 if plain.startswith(("exit", "return")) else 400 <= number < 600


def _find_telling(keys: tuple[str, ...]) -> Mapping[str, str]:
    """The fields that may say so, by their names without case and separators; of equal ones the last."""
    known = len(keys) <= MOST_KEYS and max(map(len, keys), default=0) <= LONGEST_KEY
    return _short_telling(keys) if known else _read_telling(keys)


MOST_KEYS, LONGEST_KEY = 40, 64
"""Fields of the largest object that is remembered, and characters of the longest name among them."""
_TELLING = FAULT_KEYS | WHOLE_KEYS | STATUS_KEYS


def _read_telling(keys: tuple[str, ...]) -> Mapping[str, str]:
    plain = {"".join(filter(str.isalnum, key)).lower(): key for key in keys}
    return {one: plain[one] for one in _TELLING.intersection(plain)}


_short_telling = lru_cache(256)(_read_telling)
"""Cached: a tool's results have the same fields, most often."""


def read_mcp_text(value: Any) -> str | None:
    """The texts of an MCP result; None: it is none."""
    parts = value.get("content") if isinstance(value, dict) else None
    if not isinstance(parts, list) or not parts:
        return None
    texts = [part.get("text") if isinstance(part, dict) else None for part in parts]
    return "\n".join(text for text in texts if isinstance(text, str))


def _is_message(after: Any, before: Any) -> bool:
    """Whether a message stands in the place of all that the result's object had."""
    if not isinstance(after, dict) or MESSAGE_KEYS.isdisjoint(after):
        return False
    return not isinstance(before, dict) or not before.keys() & after.keys()


def _breaks_off(noisy: str, clean: str) -> bool:
    """Whether a text stops where the whole one goes on: with a mark that it was cut or that its middle is
    missing, or within a word after some words of prose."""
    noisy, clean = noisy.strip(), clean.strip()
    mark = _CUT_MARK.search(noisy)
    if mark is not None and not clean.endswith(mark[0]) and clean.startswith(noisy[: mark.start()].rstrip()):
        return True
    gap = _GAP.search(noisy)
    if gap is not None and clean.startswith(noisy[: gap.start()].rstrip()) and gap[0] not in clean:
        return clean.endswith(noisy[gap.end() :].lstrip())
    at = len(noisy)
    within = 0 < at < len(clean) and clean[at - 1 : at + 1].isalpha() and clean.startswith(noisy)
    return within and len(noisy.split(None, 8)) > 8


_CUT_MARK = re.compile(
    r"(?:(?:\.\.\.|…)[^\n]{0,60}|\[[^\[\]]{1,80}\]|<[^<>]{1,80}>|\([^()]{1,80}\)|--[^\n]{1,40})\Z"
)
_GAP = re.compile(r"\[?(?:\.\.\.|…)\]?")
