"""Where an operator ought to have a place, by rules that know nothing of the operators' code.

The rules read the clean text, the gold values and the declared tools, nothing else. They are written down
before the operators run, and the noise's authors don't fit them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crosswind.studies.detectors import WORD

if TYPE_CHECKING:
    from crosswind.simulators.bfcl.inside.values import Value

READS = re.compile(
    "get|find|search|list|show|display|view|read|check|fetch|look|query|describe|estimate|compute|calculate|count"
    "|cat|ls|pwd|grep|tail|head|diff|du|wc|sort|mean|verify|status"
)
QUOTED = re.compile(r"'[^'\n]+'|\"[^\"\n]+\"|`[^`\n]+`|„[^“\n]+“|«[^»\n]+»|「[^」\n]+」|“[^”\n]+”")
LITERAL = re.compile(r"[/\\@_]|\.\w{1,5}$|://|^[\w-]*\d[\w-]*[A-Za-z][\w-]*$|^[A-Z]{1,5}-?\d+")
"""A value that a call needs as it stands: a path, an address, a name with an underscore, a code."""
NUMBER = re.compile(r"\d")
_LATIN = "[0-9A-Za-z\u00c0-\u024f]"
COMMAND = re.compile(r"\A\s*(?:[$>#]|[{\[<]|(?:SELECT|INSERT|UPDATE|def|import|git|docker|sudo)\b)")


@dataclass(frozen=True, slots=True)
class Place:
    """A text on which an operator may act, as the rules see it."""

    text: str
    gold: tuple[Value, ...] = ()
    tool: str = ""
    """Of a result: the tool that was called. Of a schema: its name."""
    schema: Mapping[str, Any] = field(default_factory=dict)
    """Of a schema: `description` and `parameters`."""
    tools: int = 0
    """How many are declared."""
    peers: tuple[str, ...] = ()
    """Their names."""


def is_eligible(operator: str, place: Place) -> bool:
    """Whether the operator ought to act here. An operator without a rule is judged by its family's."""
    family = operator.partition(".")[0]
    rule = RULES.get(operator) or FAMILIES.get(family)
    return rule is not None and rule(place)


def occurs(value: str, text: str) -> bool:
    """Whether a value stands in a text as a whole, whatever its case. Scripts without spaces end it."""
    return re.search(rf"(?<!{_LATIN}){re.escape(value)}(?!{_LATIN})", text, re.IGNORECASE) is not None


def find_spoken(place: Place) -> list[str]:
    """The gold values that stand in the user's own words: neither quoted nor needed letter by letter."""
    words = QUOTED.sub(" ", place.text)
    found = [next((one for one in value if occurs(one, words)), None) for value in place.gold]
    return [one for one in found if one is not None and not LITERAL.search(one) and len(one) > 1]


def _has_words(count: int) -> Callable[[Place], bool]:
    def rule(place: Place) -> bool:
        words = [one for one in WORD.findall(QUOTED.sub(" ", place.text)) if not NUMBER.search(one)]
        return len(words) >= count and COMMAND.search(place.text) is None

    return rule


def _has_spoken_value(place: Place) -> bool:
    return bool(find_spoken(place)) and _has_words(4)(place)


def _speaks_to_tools(place: Place) -> bool:
    return place.tools > 0 and _has_words(3)(place)


def _walk(text: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The leaves of a JSON text with the keys that lead to them; nothing of any other."""
    pending: list[tuple[tuple[str, ...], Any]] = []
    try:
        pending.append(((), json.loads(text)))
    except (ValueError, RecursionError):
        return
    while pending:
        path, part = pending.pop()
        if isinstance(part, dict):
            pending += [((*path, str(name)), value) for name, value in part.items()]
        elif isinstance(part, list):
            pending += [(path, value) for value in part]
        else:
            yield path, part


def _leaves(text: str) -> Iterator[tuple[str, Any]]:
    """The leaves of a JSON text, each with its key."""
    return ((path[-1] if path else "", part) for path, part in _walk(text))


def _split(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)]


def _has_result(place: Place) -> bool:
    return place.text.strip() not in ("", "None", "null", "{}", "[]", "Done.")


def _has_fact(place: Place) -> bool:
    """A number, a date, or a text that says more than that it went well."""
    facts = [value for _, value in _leaves(place.text) if not isinstance(value, bool) and value is not None]
    if facts:
        return any(NUMBER.search(str(one)) or len(str(one)) > 12 for one in facts)
    return NUMBER.search(place.text) is not None


def _is_read(place: Place) -> bool:
    words = _split(place.tool.rpartition(".")[2])
    return bool(words) and READS.fullmatch(words[0]) is not None


def _reads_fact(place: Place) -> bool:
    return _is_read(place) and _has_fact(place)


def _reads_kept_fact(place: Place) -> bool:
    """What is computed has no earlier state."""
    return _reads_fact(place) and _COMPUTES.match(place.tool.rpartition(".")[2]) is None


def _is_measured(place: Place) -> bool:
    """A number that isn't a name and no sum of money: no id, code, count, year, card or price."""
    named = re.compile(
        r"(?i)id$|_id|number|code|card|zip|phone|count|year|port|version|index|"
        r"price|cost|fees?$|fare|deposit|seats|places|amount|total$|balance|salary|budget|tax|insurance|_(?:eur|usd|gbp)$"
    )
    return any(
        isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool) and value > 9)
        for key, value in _leaves(place.text)
        if not named.search(key)
    )


def _holds_words_of_others(place: Place) -> bool:
    """A result that holds a text which people write: running text in a field of such texts, or a page's. None
    where the user wrote it."""
    words = _split(place.tool)
    if _SENT & set(words) or _WRITES & set(words[:1]):
        return False
    if place.text.lstrip()[:1] not in ("{", "["):
        texts = [place.text] if _PAGES & set(words) else []
    else:
        texts = list(_list_written(place.text, inbox=bool(_MESSAGES & set(words))))
    return any(_is_running(one) and not _WENT.search(one) for one in texts)


def _list_written(text: str, *, inbox: bool) -> Iterator[str]:
    """The texts in fields that people write; `message` and `text` are such among messages."""
    for path, value in _walk(text):
        names = [_split(one) for one in path]
        last = set(names[-1][-1:]) if names else set[str]()
        among = inbox or any(_MESSAGES & set(one) for one in names[:-1])
        if isinstance(value, str) and (last & _WRITTEN or (among and last & _AMONG)):
            yield value


def _is_running(text: str) -> bool:
    """Six words in a line, most of them in such lines, and mostly letters; or twelve characters of a script
    without spaces."""
    wide = len(re.findall(r"[\u3040-\u30ff\u3400-\u9fff]", text))
    if wide >= 12 and 2 * wide >= len(text):
        return True
    lines = [len(line.split()) for line in text.splitlines() if line.strip()]
    long = sum(one for one in lines if one >= 6)
    letters = sum(one.isalpha() or one.isspace() for one in text)
    return long >= 6 and 2 * long >= sum(lines) and letters >= 0.8 * len(text)


_SENT = frozenset("sent outbox draft drafts".split())
_WRITES = frozenset("post create send write add edit update".split())
_PAGES = frozenset(
    """page pages website url browse browser fetch wikipedia wiki article articles news blog readme document
    documents file files cat head tail review reviews post posts email mail message messages letter""".split()
)
_MESSAGES = frozenset(
    """message messages inbox mail email emails mails chat conversation thread review reviews comment comments
    post posts reply replies feedback tweet tweets letter ticket tickets issue issues""".split()
)
_WRITTEN = frozenset(
    """body content comment comments review reviews description summary bio caption feedback remark remarks
    post tweet readme reply article abstract excerpt snippet note notes biography story about""".split()
)
_AMONG = frozenset({"message", "text"})
_WENT = re.compile(
    r"(?i)success|has been|completed|\b(?:moved|copied|added|deleted|sent) (?:to|from)\b|^\s*(?:[<{\[]|#!)"
)


def _has_object(place: Place) -> bool:
    """JSON with an object that has members, or what a command printed. Other systems' text has no room for
    more that says nothing."""
    try:
        value = json.loads(place.text)
    except (ValueError, RecursionError):
        return _has_result(place) and bool(_COMMANDS & set(_split(place.tool)))
    return _holds_member(value)


def _holds_member(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_holds_member, value))
    return isinstance(value, dict) and bool(value)


_COMMANDS = frozenset("bash shell terminal command exec execute".split())


def _says_certain(place: Place) -> bool:
    """A result beside which something is certain to say, by the tool's name or the result's fields: on a
    price, a rate, a forecast, an order, a booking, a delivery and the like. None beside computed values and
    logins."""
    words = _split(place.tool)
    if not _has_result(place) or {"calculate", "login", "authenticate"} & set(words):
        return False
    keys = {key for path, _ in _walk(place.text) for key in path}
    if place.text.lstrip()[:1] == "[" or (not keys and COMMAND.search(place.text)):
        return False
    return any(_TOPICS.search("_".join(_split(one))) for one in (place.tool, *keys))


_TOPICS = re.compile(
    r"(?:^|_)(?:prices?|fares?|cost|stock_(?:price|info|symbol)|ticker|watchlist|portfolio|exchange_rate"
    r"|weather|forecast|route|directions|distance|balance|orders?|delivery|tracking|shipment|products?"
    r"|availability|reservation|booking|hotels?|flights?|itinerary|airline|trains?|opening_hours|concerts?"
    r"|events?|calories|nutrition|recipes?|estimate|prediction|medication|translat(?:e|ion)|ratings?|reviews?)"
    r"(?:_|$)"
)


def _is_discrete(place: Place) -> bool:
    """A read that gives a state in one or two words, or yes or no."""
    return _is_read(place) and any(
        isinstance(value, bool) or (isinstance(value, str) and value.isalpha() and len(value) < 16)
        for _, value in _leaves(place.text)
    )


def _has_login(place: Place) -> bool:
    """A tool of its own system logs in or says who is: it shares a word with that tool's name."""
    own = set(_WORDS.findall(place.tool.lower()))
    return _LOGS_IN.isdisjoint(own) and any(
        not _LOGS_IN.isdisjoint(words := set(_WORDS.findall(peer.lower())))
        and not words.isdisjoint(own - _VERBS)
        for peer in place.peers
    )


_WORDS = re.compile("[a-z]{3,}?(?=s?(?![a-z]))")
_LOGS_IN = frozenset({"login", "logout", "authenticate", "signin", "session"})
_VERBS = frozenset("get check show status statu user account".split())


def _may_lack_a_part(place: Place) -> bool:
    """A list of four and more, a long text, or what a tool reads and doesn't compute: a list or a long
    text among its fields, or three fields or more."""
    try:
        value = json.loads(place.text)
    except (ValueError, RecursionError):
        value = place.text
    if isinstance(value, str):
        return _is_long(value)
    if isinstance(value, list):
        return len(value) > 3
    if not isinstance(value, dict) or not _is_read(place) or _COMPUTES.match(place.tool.rpartition(".")[2]):
        return False
    return len(value) > 2 or any(
        (isinstance(one, list) and len(one) > 3) or (isinstance(one, str) and _is_long(one))
        for one in value.values()
    )


def _is_long(text: str) -> bool:
    return len(text) >= 60 and " " in text.strip()


_COMPUTES = re.compile("estimate|compute|calculate|count|mean")


def _parameters(place: Place) -> Mapping[str, Any]:
    found = place.schema.get("parameters") or {}
    properties = found.get("properties") if isinstance(found, Mapping) else None
    return properties if isinstance(properties, Mapping) else {}


def _describes_parameter(place: Place) -> bool:
    described = [one.get("description") for one in _parameters(place).values() if isinstance(one, Mapping)]
    return any(len(str(one or "").split()) >= 3 for one in described)


def _has_peer(place: Place) -> bool:
    return place.tools > 1


def _has_long_name(place: Place) -> bool:
    return re.search("[A-Za-z]{5}", place.tool) is not None


FAMILIES: Mapping[str, Callable[[Place], bool]] = {
    "user": _has_words(3),
    "tool": _has_result,
    "state": _has_result,
    "schema": lambda place: True,
}
RULES: Mapping[str, Callable[[Place], bool]] = {
    "user.ambiguous": _has_spoken_value,
    "user.inconsistent": _has_spoken_value,
    "user.paraphrase": _has_words(6),
    "user.typos": _has_words(4),
    "user.out_of_scope": _speaks_to_tools,
    "user.boundary_probing": _speaks_to_tools,
    "user.topic_drift": _speaks_to_tools,
    "user.interaction_pattern": _has_words(6),
    "tool.erroneous": _has_fact,
    "tool.fabricated_observation": _reads_fact,
    "tool.stale_resource": _reads_kept_fact,
    "tool.numeric_noise": _is_measured,
    "tool.misread": _is_discrete,
    # All of the corpora's calls were carried out: a success is the truth.
    "tool.silent_noop": lambda place: False,
    "tool.prerequisite": _has_login,
    "tool.incomplete": _may_lack_a_part,
    "tool.misleading": _says_certain,
    "tool.prompt_injection": _holds_words_of_others,
    "tool.context_pressure": _has_object,
    "schema.paraphrase_tool": lambda place: len(str(place.schema.get("description", "")).split()) >= 5,
    "schema.paraphrase_parameter": _describes_parameter,
    "schema.type_mismatch": lambda place: bool(_parameters(place)),
    "schema.duplicate_swapped": _has_peer,
    "schema.reorder": _has_peer,
    "schema.misleading_description_abbreviated": lambda place: (
        re.search("[A-Za-z]{5}", place.tool) is not None
    ),
    "schema.misleading_time_abbreviated": _has_long_name,
}
