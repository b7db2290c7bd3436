"""Tools that nobody needs: unrelated ones, plausible neighbours, and variants that do not exist."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import Field

from crosswind.injectors.conversation import Site
from crosswind.injectors.guard.tools import NAME
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.model_text import check_general, read_json, read_text
from crosswind.injectors.operators.phrases import find_setting
from crosswind.injectors.operators.schema.added_tools import (
    answer_unavailable,
    complete_schema,
    draw_parameters,
    draw_place,
)
from crosswind.injectors.operators.schema.list_style import (
    ListStyle,
    find_style,
    specify,
    write_description,
)
from crosswind.injectors.operators.schema.names import join_words, list_variants, split_words
from crosswind.injectors.operators.schema.neighbours import draw_neighbour
from crosswind.injectors.operators.words.tools import SYSTEMS
from crosswind.injectors.packs.draw import Setting, list_named, shuffle_entries
from crosswind.injectors.packs.load import load
from crosswind.injectors.packs.model import Named
from crosswind.injectors.packs.parts import Domain
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import AddedTool, Draw, Effect, Recovery, Result, ToolChange, ToolTarget
from crosswind.injectors.text.languages import UNABLE, Language
from crosswind.injectors.wording import UnusableText, written_form

LONGEST_DESCRIPTION = 400
KINDS = ("string", "integer", "number", "boolean")
PART = ("schema.redundant_tool", "tool")
NO_PACK = "no phrase pack has tools in the language of these descriptions"


def _list_entries(setting: Setting, domains: Sequence[Domain]) -> list[Named]:
    """The tools of these domains' packs that fit beside the declared ones."""
    packs = [pack for domain in domains if (pack := load(setting.language, domain)) is not None]
    return [one for pack in packs for one in list_named(pack, *PART, setting)]


def _name_like(key: str, target: ToolTarget, rng: SeededRandom) -> str:
    """An entry's name in the style of the tool's. Services call it by several verbs that they list or get
    things, or by these things alone."""
    verb, *rest = split_words(key) or [key]
    if len(rest) > 1 and verb in _VERBS:
        verb = rng.named(key).choice(_VERBS[verb])
    return join_words((verb, *rest) if verb else rest, target.tool.name)


_VERBS = {"list": ("list", "get", "get", "", "", ""), "get": ("get", "get", "get", "", "", "")}
"""The verbs by which a name may begin in place of an entry's own one; empty: none."""


def _draw_tools(
    target: ToolTarget, entries: Sequence[Named], rng: SeededRandom, count: int, *, unrelated: bool = False
) -> dict[str, Any] | None:
    """Draw so many of the entries, each with parameters and a place. Those that the session has met come
    last; names that are taken don't come. Those that are `unrelated` are of another service."""
    found: dict[str, Named] = {}
    shuffled = shuffle_entries(rng, entries, target.branch.entries)
    met = target.branch.phrases
    for name, entry in sorted(shuffled, key=lambda one: one[0] in met):
        if len(found) == count:
            break
        shown = _name_like(entry.key, target, rng)
        if unrelated and (prefix := _PREFIX.match(target.tool.name)):
            shown = f"{_find_domain(name)}{prefix[1]}{shown}"
        if shown not in target.taken:
            found.setdefault(shown, (name, entry))
    if not found:
        return None
    style = find_style(target.declared)
    added = [
        {
            "name": shown,
            "says": _describe((name, entry), style, rng.named(f"says {shown}"), unrelated=unrelated),
            "parameters": draw_parameters(target, style, rng.named(shown), entry.parameter),
            "behind": draw_place(target, rng),
        }
        for shown, (name, entry) in found.items()
    ]
    return {"added": added, "phrases": [name for name, _ in found.values()]}


def _find_domain(name: str) -> str:
    """The domain of an entry's pack: `travel` of `en/travel@6#tool-001`."""
    return name.partition("/")[2].partition("@")[0]


_PREFIX = re.compile(r".*\w([./])\w")
"""The prefix of a name, and the mark behind it."""


def _describe(named: Named, style: ListStyle, rng: SeededRandom, *, unrelated: bool) -> str:
    name, entry = named
    prefix = _write_prefix(style, _find_domain(name) if unrelated else "", rng)
    return f"{prefix}{write_description(specify(entry.text, style, rng), entry.key, style, rng)}"


def _write_prefix(style: ListStyle, domain: str, rng: SeededRandom) -> str:
    """What the list has before a description: of its own service, or of one of that domain."""
    own = "" if style.foreign else rng.choice(style.prefixes or ("",))
    if not domain:
        return own
    found = _SYSTEM.fullmatch(own)
    if found is None or domain not in SYSTEMS:
        return ""
    system, purpose = SYSTEMS[domain]
    return f"{found[1]}{system}{found[2]}{purpose}{found[3]}"


_SYSTEM = re.compile(
    r"(.*\b(?:belongs to|part of) the ).+?"
    r"( (?:api|platform|service|system),? (?:that|which) [a-z ]*?users to )"
    r"[^.]+(\.\s.*)",
    re.IGNORECASE | re.DOTALL,
)
"""A prefix that says to which system a tool belongs, and what for."""


def _draw_own(target: ToolTarget, rng: SeededRandom, setting: Setting, count: int) -> list[dict[str, Any]]:
    """Of so many neighbours, those that are of the tool's own words: these are told in English only."""
    found: dict[str, dict[str, Any]] = {}
    if setting.language is not Language.EN:
        return []
    for number in range(count):
        one = rng.named(f"own {number}")
        if (
            one.chance(OWN_SHARE)
            and (drawn := draw_neighbour(target, one, setting.half, set(found))) is not None
        ):
            found[drawn["name"]] = {**drawn, "behind": draw_place(target, one)}
    return list(found.values())


def _draw_near(
    target: ToolTarget, rng: SeededRandom, setting: Setting, count: int, own: Sequence[Mapping[str, Any]]
) -> dict[str, Any] | None:
    """Draw so many of the domain's entries, with other names than the neighbours that are `own`."""
    domains = tuple(dict.fromkeys((setting.domain, Domain.GENERAL)))
    taken = target.taken | {one["name"] for one in own}
    entries = _list_entries(setting, domains)
    # A long list uses its domain's entries up.
    if all(_name_like(entry.key, target, rng) in taken for _, entry in entries):
        entries = _list_entries(setting, [one for one in Domain if one not in domains])
    return _draw_tools(replace(target, taken=frozenset(taken)), entries, rng, count)


OWN_SHARE = 0.85
"""The share of a tool's neighbours that are made of its own words: the others are of its domain."""


@operator(
    "schema.bloat",
    site=Site.TOOL_SCHEMA,
    recovery=Recovery.IGNORE,
    source="beyond the papers; assistants that are connected to too many servers",
    effect=Effect.ADDS,
    version=6,
)
@dataclass(frozen=True)
class Bloat:
    """Unrelated tools stand among the declared ones: those that the phrase packs have for other domains,
    written as the list writes its own: with the
    name of their own system, where the list says to which one a tool belongs.

    Severity: their number per declared tool is binomial with mean `per_tool` x severity, until the packs are
    used up. A call of one of them is answered that the tool isn't enabled. Tools that are described in a
    language without packs are left alone, with an event.
    """

    per_tool: Annotated[int, Field(ge=1, le=32)] = 8
    """Added tools per declared tool at severity 1."""

    def draw(self, target: ToolTarget, rng: SeededRandom, severity: float) -> Draw | None:
        count = rng.successes(self.per_tool, severity)
        if (setting := find_setting(target)) is None:
            return {UNABLE: NO_PACK} if count else None
        others = [one for one in Domain if one not in (setting.domain, Domain.GENERAL)]
        entries = _list_entries(setting, others) or _list_entries(setting, (Domain.GENERAL,))
        return _draw_tools(target, entries, rng, count, unrelated=True) if count else None

    def apply(self, target: ToolTarget, draw: Draw) -> Result:
        added = tuple(_make_tool(**one) for one in draw.get("added", ()))
        what = "One unrelated tool was" if len(added) == 1 else f"{len(added)} unrelated tools were"
        return Result(ToolChange(target.tool, added), f"{what} added to the list.")


@operator(
    "schema.redundant_tool",
    site=Site.TOOL_SCHEMA,
    recovery=Recovery.IGNORE,
    aliases=("redundant", "RedunTool"),
    source="RobustBench-TC, table 1 and appendices C and F (Action); by rule here, by a model there",
    effect=Effect.ADDS,
    version=6,
)
@dataclass(frozen=True)
class RedundantTool:
    """Plausible tools of the same service: `export_standings` beside `get_standings`, with some of its
    parameters, or one that a phrase pack has for the domain: `get_swift_directory_entry` in a bank.

    Each has a purpose of its own, none does what the task needs, and a call of one is answered that it isn't
    enabled. It is described as the list describes its tools. Severity: the number of neighbours per tool is
    binomial with mean `num_tools` x severity. Tools that are described in a language without packs are left
    alone, with an event.
    """

    num_tools: Annotated[int, Field(ge=1, le=8)] = 2
    """Neighbours per tool at severity 1, as in the benchmark's examples."""

    def draw(self, target: ToolTarget, rng: SeededRandom, severity: float) -> Draw | None:
        count = rng.successes(self.num_tools, severity)
        if (setting := find_setting(target)) is None:
            return {UNABLE: NO_PACK} if count else None
        if not count:
            return None
        own = _draw_own(target, rng, setting, count)
        drawn = _draw_near(target, rng, setting, count - len(own), own) if len(own) < count else None
        if drawn is None:
            return {"added": own, "phrases": []} if own else None
        return {**drawn, "added": [*own, *drawn["added"]]}

    def apply(self, target: ToolTarget, draw: Draw) -> Result:
        added = tuple(_make_tool(**one) for one in draw.get("added", ()))
        names = " and ".join(tool.name or "" for tool in added)
        return Result(ToolChange(target.tool, added), f"Beside {target.tool.name} there is {names}.")


@written_form("schema.redundant_tool")
class RedundantToolWording:
    """The model invents as many tools as the rule would add, at the same places in the list. The gateway
    answers calls of them; the guard refuses a name that is taken."""

    ahead = False

    def ask(self, target: ToolTarget, draw: Draw, severity: float) -> tuple[str, str] | None:
        if UNABLE in draw:
            return None
        task = (
            f"The material is a tool. Think of {len(draw['added'])} others of the same service on the same "
            "kind of thing, each with another purpose: none may do what this one does or give what it gives. "
            'Answer with a JSON array of objects {"name", "says", "parameter", "kind"}: a name in the style '
            "of the tool's own, what it does in a sentence, the name of its parameter, and one of "
            f"{', '.join(KINDS)}."
        )
        tool = target.tool
        material = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        return task, json.dumps(material, ensure_ascii=False, default=str)

    def apply(self, target: ToolTarget, draw: Draw, text: str) -> Result:
        tools = read_json(text, list)
        if len(tools) < len(draw["added"]):
            raise UnusableText(
                f"the model wrote {len(tools)} tools where {len(draw['added'])} were asked for"
            )
        added = [
            _read_tool(tool) | {"behind": one["behind"]}
            for tool, one in zip(tools, draw["added"], strict=False)
        ]
        names = [tool["name"] for tool in added]
        if len(set(names)) < len(names) or target.tool.name in names:
            raise UnusableText("the model wrote one name twice")
        return RedundantTool().apply(target, {"added": added})


def _read_tool(tool: Any) -> dict[str, Any]:
    members = ("name", "says", "parameter", "kind")
    if not isinstance(tool, dict) or not all(isinstance(tool.get(member), str) for member in members):
        raise UnusableText("the model wrote a tool without name, says, parameter and kind")
    if not (NAME.fullmatch(tool["name"]) and NAME.fullmatch(tool["parameter"]) and tool["kind"] in KINDS):
        raise UnusableText(f"the model wrote a tool that can't be declared ({tool['name']!r:.80})")
    parameter = tool["parameter"]
    return {
        "name": tool["name"],
        "says": read_text(tool["says"], LONGEST_DESCRIPTION),
        "parameters": {
            "type": "object",
            "properties": {parameter: {"type": tool["kind"]}},
            "required": [parameter],
        },
    }


def _make_tool(name: str, says: str, parameters: dict[str, Any], behind: str) -> AddedTool:
    return AddedTool(name, says, parameters, answer_unavailable(name), behind)


SHORTEST = 3
"""Words of a description."""


@operator(
    "schema.ghost_tool",
    site=Site.TOOL_SCHEMA,
    recovery=Recovery.OTHER_TOOL,
    source="RobustBench-TC, appendix N (7): a future axis; there the model errs, here the list does",
    effect=Effect.ADDS,
    version=2,
)
class GhostTool:
    """The list advertises a variant of a tool, and a call of it is answered "no such tool".

    Its name is one that services have beside such a tool, or had before: `fetch_order`, `get_order_v2`,
    `get_orders` beside `get_order`. It has the tool's description and parameters, so that whoever calls it
    can call the tool instead. Severity: the share of tools that have such a phantom.
    """

    def draw(self, target: ToolTarget, rng: SeededRandom, severity: float) -> Draw | None:
        present, behind = rng.chance(severity), draw_place(target, rng)
        free = [name for name in list_variants(target.tool.name) if name not in target.taken]
        return {"name": rng.choice(free), "behind": behind} if present and free else None

    def apply(self, target: ToolTarget, draw: Draw) -> Result:
        return _advertise(target, draw, target.tool.description or None)


@written_form("schema.ghost_tool")
class GhostToolWording:
    """The phantom has the rule's name and place, and the model's description."""

    ahead = False

    def ask(self, target: ToolTarget, draw: Draw, severity: float) -> tuple[str, str] | None:
        task = (
            f"The material describes the tool {target.tool.name}. Describe {draw['name']}, another variant "
            "of it that does the same, in one or two sentences such as a service's documentation has. Name "
            "nothing in particular."
        )
        return task, target.tool.description

    def apply(self, target: ToolTarget, draw: Draw, text: str) -> Result:
        says = read_text(text, 600)
        if len(says.split()) < SHORTEST:
            raise UnusableText("the model wrote too little to describe a tool")
        check_general(says.replace(draw["name"], "").replace(target.tool.name, ""))
        return _advertise(target, draw, says)


def _advertise(target: ToolTarget, draw: Draw, description: str | None) -> Result:
    tool, name = target.tool, draw["name"]
    answer = json.dumps({"error": "unknown_tool", "message": f"no such tool: {name}"})
    phantom = AddedTool(name, description, complete_schema(tool.parameters), (answer,), draw["behind"])
    note = f"The list advertises {name}, which isn't there, beside {tool.name}."
    return Result(ToolChange(tool, (phantom,)), note)
