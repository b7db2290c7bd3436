"""What stands behind a tool, as far as its name and its call tell: a shell, a device, a service."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from crosswind.injectors.conversation import ToolList
from crosswind.injectors.guard.tool_evidence import words_of
from crosswind.injectors.stacks.model import ToolKind
from crosswind.injectors.targets import ToolResultTarget
from crosswind.injectors.text.json_payload import parse_json
from crosswind.injectors.text.word_lists import make_words

_MCP = re.compile(r"mcp(?:__|[./:])")
_SELECT = re.compile(
    r"(?:^|[\"'(;])\s*(?:select\b.*\bfrom\b|(?:insert\s+into|update\s+\S+\s+set|delete\s+from)\b"
    r"|with\s+\w+\s+as\s*\()",
    re.I | re.S,
)
SHELLS = make_words("bash shell command cmd")
_KINDS: Mapping[ToolKind, frozenset[str]] = {
    ToolKind.SQL: make_words("sql database db psql postgres postgresql mysql sqlite bigquery snowflake"),
    ToolKind.SHELL: SHELLS,
    ToolKind.CODE: make_words(
        """python notebook jupyter interpreter ipython repl javascript pytest tests lint dependency
        dependencies"""
    ),
    ToolKind.WEB: make_words("fetch browse browser url web scrape crawl http https page website curl"),
    ToolKind.GRAPHQL: make_words("graphql gql"),
    ToolKind.DEVICE: make_words(
        """vehicle car engine brake brakes pedal tire tires tyre tyres fuel tank gear door doors trunk
        headlight headlights cruise ignition odometer navigation parking thermostat lamp light lights bulb
        sensor device devices hvac climate robot drone vacuum blinds blind heater heating appliance
        valve pump motor fan oven washer dishwasher charger speaker plug outlet sprinkler"""
    ),
    ToolKind.FUNCTION: make_words(
        """calculate calculator compute mean median average sum sqrt square root deviation variance multiply
        divide subtract percentage logarithm power absolute round convert converter
        conversion
        imperial gallon gallons liter liters math factorial estimate calc solve area volume
        perimeter
        circumference hypotenuse triangle rectangle circle sphere prime primes gcd lcm hcf fibonacci
        derivative
        integral integrate equation quadratic roots matrix vector bmi density velocity displacement
        probability
        binomial permutation permutations combination combinations regression correlation compound"""
    ),
    ToolKind.CLOUD: make_words("aws s3 ec2 lambda dynamodb azure cloudwatch"),
}
_SAYS: Mapping[ToolKind, re.Pattern[str]] = {
    ToolKind.SHELL: re.compile(r"\b(?:file ?system|working directory|in the shell|terminal command)", re.I),
    ToolKind.DEVICE: re.compile(
        r"\b(?:vehicle control|(?:control|press|turn|lock|unlock|adjust|start|stop)\w* (?:of )?the "
        r"(?:vehicle|car|engine|doors?|brakes?|device|robot|drone|lights?)|smart home|home automation)",
        re.I,
    ),
    ToolKind.FUNCTION: re.compile(
        r"\b(?:two numbers|list of numbers|of a (?:given )?number|(?:square|cube) root|arithmetic"
        r"|math(?:s|ematical)? (?:api|operation|function|tool)|unit conversion"
        r"|converts? (?:a|the) (?:value|number|unit))",
        re.I,
    ),
}
"""What descriptions say of tools whose names tell nothing."""
_FILES = make_words("file files directory folder")
PROGRAMS = make_words(
    """ls cd grep mkdir rmdir mv cp rm wc du diff echo pwd chmod chown git ssh docker kubectl terminal cat
    touch tail head sort find"""
)
"""Programs: a tool is one where it has no other name, or one of a program's commands, as `git_log`."""
_WITH_COMMANDS = make_words("git docker kubectl ssh terminal")
_REMOTE = make_words(
    """rent rental book booking buy price prices sale find search nearest shop weather forecast insurance
    dealer reserve reservation recommend order review reviews zipcode city currency exchange rate rates stock
    stocks shipping flight flights route hotel market crypto upload share download drive email message
    ticket complaint claim sell listing listings model models history news legal tax"""
)
"""Words of tools that ask a remote service, whatever else they name: a car to rent, a rate of exchange."""
_RUNNING = make_words("run execute exec eval")
COMMAND_KEYS = ("command", "cmd", "script", "commands")
_LONGEST = 20_000
"""Characters of arguments that are read at most."""
LOOKED_AT = 1_500
"""Characters of a value in which SQL is looked for."""


def read_arguments(target: ToolResultTarget) -> Mapping[str, Any]:
    """The call's arguments, by name; none where they are no object, or too long."""
    return _read_arguments(target.arguments)


def _read_arguments(said: str) -> Mapping[str, Any]:
    value = parse_json(said) if len(said) <= _LONGEST else None
    return {name: value[name] for name in sorted(value)} if isinstance(value, dict) else {}


def find_kinds(target: ToolResultTarget, backend: str) -> frozenset[ToolKind]:
    """What stands behind the tool; API where nothing tells."""
    arguments = target.arguments
    find = _short_kinds if len(target.tool) + len(arguments) <= _REMEMBERED else _find_kinds
    own = ToolList.of(target.tools).named(target.tool)
    described = own[0].description[:DESCRIBED] if own else ""
    has_data = False
    if "query" in arguments or "\\" in arguments:  # Only of such a call it matters.
        clean = parse_json(target.text)
        has_data = isinstance(clean, dict) and "data" in clean
    return find(target.tool, arguments, described, bool(backend), has_data)


DESCRIBED = 240
"""Characters of a tool's description that may tell its system."""


_REMEMBERED = 1_000
"""Characters of the longest call whose kinds are remembered: they are asked for several times a draw."""


def _find_kinds(tool: str, said: str, described: str, known: bool, has_data: bool) -> frozenset[ToolKind]:
    """The kinds of a call with those arguments, of a tool with that description, of a backend that is known,
    and of a result that has data."""
    arguments = _read_arguments(said)
    words = set(words_of(tool))
    found = {kind for kind, known_words in _KINDS.items() if known_words & words}
    if words & _REMOTE:
        found -= {ToolKind.DEVICE, ToolKind.FUNCTION}
    if (not known and words & _FILES and not words & _REMOTE) or _is_program(tool):
        found.add(ToolKind.SHELL)
    if "code" in words and words & _RUNNING:
        found.add(ToolKind.CODE)
    if find_sql(arguments) is not None:
        found.add(ToolKind.SQL)
    if any(isinstance(arguments.get(key), str) for key in COMMAND_KEYS):
        found.add(ToolKind.SHELL)
    if ToolKind.SQL in found:
        found -= {ToolKind.SHELL, ToolKind.CODE}
    if has_data and "{" in str(arguments.get("query", "")):
        found.add(ToolKind.GRAPHQL)
    if len(found) > 1:
        found -= {ToolKind.FUNCTION}  # `compute_query`, `convert_file`.
    if not found and not words & _REMOTE:
        found |= {kind for kind, says in _SAYS.items() if says.search(described)}
    if found <= {ToolKind.GRAPHQL}:
        found.add(ToolKind.API)
    return frozenset(found | {ToolKind.MCP} if _MCP.match(tool) else found)


def _is_program(tool: str) -> bool:
    """Whether a tool's name is that of a program: `ls`, `fs.ls` and `git_log`, but no `rhythm_type.find`."""
    words = words_of(tool)
    before = words_of(tool[: tool.lower().rfind("".join(words[:1]))])
    system = not before or not _SYSTEMS.isdisjoint(before)
    return words[:1] != [] and (
        words[0] in _WITH_COMMANDS or (len(words) == 1 and words[0] in PROGRAMS and system)
    )


_SYSTEMS = make_words("fs os file files filesystem system shell bash terminal unix linux gorilla mcp")


def find_sql(arguments: Mapping[str, Any]) -> str | None:
    """The statement among a call's arguments; what people write to one another is none."""
    for name, value in arguments.items():
        if isinstance(value, str) and _PROSE.isdisjoint(words_of(name)) and _SELECT.search(value[:LOOKED_AT]):
            return value
    return None


_PROSE = make_words("message text content body comment description title subject note post caption review")


_short_kinds = lru_cache(256)(_find_kinds)
