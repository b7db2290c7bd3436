"""What an error says of the call that failed: its tool, path, arguments, and the system behind it.

Values of arguments whose names speak of secrets are never repeated.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

from crosswind.injectors.guard.tool_evidence import words_of
from crosswind.injectors.guard.tool_words import ACTING, READING, TELLING, WRITING
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.stacks.backends import find_backend
from crosswind.injectors.stacks.kinds import (
    COMMAND_KEYS,
    LOOKED_AT,
    PROGRAMS,
    SHELLS,
    find_kinds,
    find_sql,
    read_arguments,
)
from crosswind.injectors.stacks.templates import draw_token
from crosswind.injectors.targets import ToolClass, ToolResultTarget
from crosswind.injectors.text.json_payload import parse_json
from crosswind.injectors.text.word_lists import make_words

_VERBS = READING | ACTING | TELLING | WRITING
_SMALL = make_words("by for of in from to with and all the id a on my")
_GENERIC = make_words(
    """bash shell python interpreter notebook graphql query sql database db table tables schema row rows
    column columns url urls http code command tool tools function run execute exec web api call page data
    git"""
)
"""Words that name no thing that a system is about."""
SECRET = re.compile(r"pass|secret|token|auth|key|credential|pin|cvv|ssn|card", re.IGNORECASE)
_PLAIN = re.compile(r"[\w#@+.:/~ -]{1,60}")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}")
_TABLE = re.compile(r"\b(?:from|into|update|join)\s+[\"`\[]?([A-Za-z_][\w.]{0,60})", re.I)
_REQUEST = "request"
"""What is asked for where no name says it."""
OPTIONAL = frozenset({"file", "sql"})
"""Slots that some calls can't fill."""

_URL = re.compile(r"https?://[\w.:-]+(/[\w./~%-]{0,120})?", re.I)
_ISO = "%Y-%m-%dT%H:%M:%SZ"

_VEHICLE = make_words(
    "vehicle car engine brake brakes pedal tire tires tyre tyres fuel tank gear trunk headlight headlights "
    "cruise ignition odometer parking"
)
_UTILITIES = {
    **dict.fromkeys(("read", "view", "get", "show", "open", "load", "fetch"), "cat"),
    **dict.fromkeys(("write", "create", "save", "append", "edit", "update"), "tee"),
    **dict.fromkeys(("delete", "remove"), "rm"),
    **{"list": "ls", "search": "grep", "find": "find", "move": "mv", "rename": "mv", "copy": "cp"},
}
"""The programs that do what tools' names say."""
_COMPLAINTS = {
    "rm": "cannot remove {}",
    **dict.fromkeys(("tail", "head"), "cannot open {} for reading"),
    "ls": "cannot access {}",
    "du": "cannot read directory {}",
    "mkdir": "cannot create directory {}",
    "rmdir": "failed to remove {}",
    "touch": "cannot touch {}",
    "cp": "cannot open {} for reading",
    "mv": "cannot stat {}",
    "chmod": "changing permissions of {}",
    "chown": "changing ownership of {}",
    "sort": "cannot read: {}",
}
"""What programs say before the reason for which they failed, where it isn't the file alone."""
_WITHOUT_FILE = {
    "cd": "cd: .",
    "ls": "ls: cannot open directory '.'",
    "find": "find: '.'",
    "du": "du: cannot read directory '.'",
    "pwd": "pwd: error retrieving current directory: getcwd: cannot access parent directories",
    "echo": "bash: /dev/stdout",
    "grep": "grep: (standard input)",
    "git": "error: cannot open '.git/index'",
}
_PATH_KEYS = tuple("path file_path filepath file filename file_name dir directory folder source".split())
_OF_PATHS = make_words("file files filename path dir directory folder dirname")


class CallWords:
    """What fills the slots of an error: from the call, or drawn once for its backend and session."""

    def __init__(self, target: ToolResultTarget, rng: SeededRandom) -> None:
        self._target, self._rng = target, rng
        self.backend = find_backend(target.tool, target.arguments, target.tools)
        self._arguments = read_arguments(target)
        words = words_of(target.tool) or ["call"]
        self._words = words
        self._noun = _list_nouns(words) or [self._shared_noun()]
        self.kinds = find_kinds(target, self.backend)
        self.key = f"stack|{target.branch.key}|{self.backend}"
        """Seeds what is drawn once for the backend and session."""
        self._system = dict(self._draw_system(SeededRandom(self.key)))
        moment = SeededRandom(f"clock|{target.branch.key}").integer(1_735_700_000, 1_790_000_000)
        self._time = datetime.fromtimestamp(moment, UTC) + timedelta(
            seconds=47 * target.ordinal + rng.integer(0, 40), milliseconds=rng.integer(0, 999)
        )

    def _shared_noun(self) -> str:
        """The noun that most of the declared tools are about, or what the backend is called."""
        if self.backend and "." not in self.backend:
            return self.backend
        tools = self._target.tools
        nouns = Counter(word for tool in tools for word in _list_nouns(words_of(tool.name)))
        return min(nouns, key=lambda word: (-nouns[word], word)) if nouns else _REQUEST

    def _draw_system(self, rng: SeededRandom) -> Iterator[tuple[str, str]]:
        noun = self.backend or self._shared_noun()
        is_host = "." in noun
        neutral = rng.choice(("core", "platform", "gateway", "app", "main", "runtime", "edge"))
        word = neutral if noun == _REQUEST else re.split(r"[^a-z0-9]+", noun.lower())[0][:20] or neutral
        plural = word if self.backend or noun == _REQUEST else pluralise(word)
        service = rng.choice(
            (f"{plural}-api", f"{word}-service", f"{word}-svc", f"{plural}-backend", f"svc-{plural}", plural)
        )
        hosts = (
            f"{service}.internal",
            f"api.{word}.example.net",
            f"{service}.prod.svc.cluster.local",
            f"{plural}.eu-{rng.integer(1, 3)}.example.com",
            f"{service}-{rng.integer(1, 9)}.int.example.org",
        )
        host = rng.choice(hosts)
        yield "host", noun if is_host else host
        yield "service", service
        yield "service_word", word
        yield "module", word.replace("-", "_")
        yield "db", rng.choice((plural, f"{word}_prod", f"{word}db", "app", "main", "warehouse"))
        yield (
            "user",
            rng.choice((f"svc_{word}", "agent", "app", f"{word}_ro", "reporting", "assistant", "web")),
        )
        yield "package", rng.choice(("com.example", "io.example", "net.internal", "org.example")) + f".{word}"
        yield "ip", f"10.{rng.integer(0, 220)}.{rng.integer(0, 255)}.{rng.integer(2, 254)}"
        yield (
            "ip2",
            f"{rng.integer(34, 99)}.{rng.integer(1, 254)}.{rng.integer(1, 254)}.{rng.integer(2, 254)}",
        )
        yield "port", rng.choice(("443", "8080", "8443", "5432", "6379", "50051", "9200", "3000"))
        yield "container", draw_token(rng, "hex", "12")
        yield "base", rng.choice(("/v1", "/v2", "/api", "/api/v1", "/api/v2", "/rest", ""))

    def find(self, name: str) -> str | None:
        """What fills the slot of that name; None: nothing."""
        if name in self._system:
            return self._system[name]
        fill: Callable[[], str | None] | None = getattr(self, f"_fill_{name}", None)
        return fill() if fill is not None else None

    def _fill_tool(self) -> str:
        return self._target.tool

    def _fill_call(self) -> str:
        return re.split(r"__|[./:]", self._target.tool)[-1] or self._target.tool

    def _fill_pascal(self) -> str:
        return "".join(word.capitalize() for word in self._words)

    def _fill_camel(self) -> str:
        return self._words[0] + "".join(word.capitalize() for word in self._words[1:])

    def _fill_kebab(self) -> str:
        return "-".join(self._words)

    def _fill_unit(self) -> str:
        return "vehicle" if self._is_vehicle() else "device"

    def _fill_unit_part(self) -> str:
        return "ECU" if self._is_vehicle() else "Device controller"

    def _fill_unit_bus(self) -> str:
        return "CAN bus" if self._is_vehicle() else "Device"

    def _is_vehicle(self) -> bool:
        return any(_VEHICLE & set(words_of(name)) for name in (self._target.tool, *self._declared()))

    def _declared(self) -> Iterator[str]:
        return (tool.name for tool in self._target.tools)

    def _fill_words(self) -> str:
        return " ".join(self._words)

    def _fill_noun(self) -> str:
        return " ".join(self._noun[-2:])

    def _fill_nouns(self) -> str:
        return pluralise(self._noun[-1])

    def _fill_table(self) -> str:
        for value in self._arguments.values():
            if isinstance(value, str) and (found := _TABLE.search(value[:LOOKED_AT])) is not None:
                return found[1]
        return pluralise(self._noun[-1])

    def _fill_noun_class(self) -> str:
        return self._noun[-1].capitalize()

    def _fill_noun_var(self) -> str:
        return self._noun[-1] if _IDENTIFIER.fullmatch(self._noun[-1]) else "value"

    def _fill_noun_attr(self) -> str:
        """A field of the clean result, by name, or one that most results have."""
        clean: Any = parse_json(self._target.text)
        while isinstance(clean, list) and clean:
            clean = clean[0]
        named: list[str] = list(clean) if isinstance(clean, dict) else []
        fields = sorted(filter(_IDENTIFIER.fullmatch, named))
        return self._rng.choice(fields or ["id", "items", "status", "result", "data"])

    def _fill_method(self) -> str:
        reads = self._target.tool_class is ToolClass.READ_ONLY
        return "GET" if reads else "POST"

    def _fill_method_title(self) -> str:
        return self._fill_method().capitalize()

    def _fill_path(self) -> str:
        for value in self._arguments.values():
            if isinstance(value, str) and (url := _URL.match(value)) is not None:
                return url[1] or "/"
        path = f"{self._system['base']}/{pluralise(self._noun[-1])}"
        given = list(self._plain_values())
        for name, value in given:
            if words_of(name)[-1:] in (["id"], ["name"], ["code"], ["number"], ["key"], ["slug"]):
                return f"{path}/{quote(value, safe='-._~@')}"
        return f"{path}?{given[0][0]}={quote(given[0][1], safe='-._~@')}" if given else path

    def _fill_args(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in list(self._plain_values())[:2])

    def _plain_values(self) -> Iterator[tuple[str, str]]:
        """The arguments that may be repeated, short and without secrets, by name."""
        for name, value in self._arguments.items():
            if SECRET.search(name) or isinstance(value, bool) or not isinstance(value, str | int | float):
                continue
            if _PLAIN.fullmatch(text := str(value)):
                yield name, text

    def _fill_command(self) -> str:
        for key in COMMAND_KEYS:
            if isinstance(self._arguments.get(key), str):
                words = str(self._arguments[key])[:200].split()
                if words and _PLAIN.fullmatch(words[0]):
                    return words[0].rpartition("/")[2] or words[0]
        for word in self._words:
            if word in (PROGRAMS | SHELLS):
                return word
        return next((_UTILITIES[word] for word in self._words if word in _UTILITIES), self._words[0])

    def _fill_complaint(self) -> str:
        """What stands before the reason: the program, what it did, and with which file."""
        program, file = self._fill_command(), self._fill_file()
        if file is None or program == "git":
            return _WITHOUT_FILE.get(program, program)
        if program == "echo":
            return f"bash: {file}"
        said = _COMPLAINTS.get(program, "{}")
        quoted = file if said in ("{}", "cannot read: {}") else f"'{file}'"
        return f"{program}: {said.format(quoted)}"

    def _fill_named(self) -> str:
        return self._fill_file() or self._fill_command()

    def _fill_of_file(self) -> str:
        file = self._fill_file()
        return "" if file is None else f": '{file}'"

    def _fill_file(self) -> str | None:
        others = [key for key in self._arguments if not _OF_PATHS.isdisjoint(words_of(key))]
        for key in (*_PATH_KEYS, *others):
            value = self._arguments.get(key)
            if isinstance(value, str) and _PLAIN.fullmatch(value):
                return value
        for key in COMMAND_KEYS:
            if isinstance(self._arguments.get(key), str):
                words = [word for word in self._arguments[key][:200].split()[1:] if not word.startswith("-")]
                named = (word for word in words if re.fullmatch(r"[\w./~*-]+", word))
                return next((word for word in named if not word.isdigit()), None)
        return None

    def _fill_sql(self) -> str | None:
        found = find_sql(self._arguments)
        return None if found is None else " ".join(found.split())[:160]

    def _fill_pid(self) -> str:
        return str(self._rng.integer(800, 64_000))

    def _fill_retry(self) -> str:
        return str(self._rng.choice((1, 2, 3, 5, 7, 10, 12, 15, 18, 20, 24, 30, 42, 45, 60)))

    def _fill_earlier(self) -> str:
        return (self._time - timedelta(seconds=self._rng.integer(2, 900))).strftime(_ISO)

    def _fill_later(self) -> str:
        return (self._time + timedelta(seconds=self._rng.integer(20, 2_400))).strftime(_ISO)

    def _fill_epoch(self) -> str:
        return str(int(self._time.timestamp()))

    def _fill_time(self) -> str:
        return self._time.strftime(_ISO)

    def _fill_time_ms(self) -> str:
        return self._time.strftime("%Y-%m-%dT%H:%M:%S.") + f"{self._time.microsecond // 1000:03}Z"

    def _fill_time_offset(self) -> str:
        return self._time.strftime("%Y-%m-%dT%H:%M:%S.") + f"{self._time.microsecond // 1000:03}+00:00"

    def _fill_time_plain(self) -> str:
        return self._time.strftime("%Y-%m-%d %H:%M:%S")


def _list_nouns(words: list[str]) -> list[str]:
    """The words of a tool's name that say what it is about: `open orders` of `list_open_orders`."""
    rest = words[1:] if words[:1] and words[0] in _VERBS else words
    found = [word for word in rest if len(word) > 2 and word not in _SMALL and word not in _GENERIC]
    return [word for word in found if word not in READING] or found


def pluralise(word: str) -> str:
    if word.endswith(("s", "data", "info", "status", "weather")):
        return word
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("x", "ch", "sh", "z")) else "s")
