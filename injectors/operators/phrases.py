"""Phrases from the packs that fit an operator's target."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from crosswind.injectors.conversation import ToolList, ToolListKey, ToolSchema, UserText
from crosswind.injectors.packs.address import detect_address, find_common_address
from crosswind.injectors.packs.draw import (
    ANY,
    Phrase,
    Setting,
    draw_phrase,
    list_fitting,
    list_settings,
    make_setting,
)
from crosswind.injectors.packs.model import Entry, Named
from crosswind.injectors.packs.parts import Address
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Branch, ToolResultTarget, ToolTarget, UserTarget
from crosswind.injectors.text.json_leaves import list_leaves
from crosswind.injectors.text.json_payload import is_container, parse_json
from crosswind.injectors.text.languages import LONGEST, Language, detect_language, is_foreign

NO_PACK = "no phrase pack is in this text's language"
"""Why a rule can't act on it, for the draw's member `unable`."""

_TWO_WAYS = frozenset(Language) - {Language.EN}
"""Languages with two ways to address a reader."""


def find_setting(target: UserTarget | ToolTarget) -> Setting | None:
    """The setting of the target's conversation, in the language of its text; of a text too short to tell, in
    that of the opening. None: it is in a language that has no pack.
    """
    said: tuple[str, ...] = ()
    if isinstance(target, UserTarget):
        text, tools, said = target.own, target.tools, (target.own,)
    else:
        text, tools = " ".join(tool.description for tool in target.declared), target.declared
    language = _tell_language(text, target.branch)
    return None if language is None else _make(text, tools, target.branch, language, said)


def find_system(target: ToolResultTarget, *, described: bool = True, fields: bool = True) -> Setting:
    """The setting of the system behind a result: of its tool alone, by its name, its description and the
    names of the result's fields. What systems say beside an answer is in English, whatever the conversation.
    """
    own = ToolList.of(target.tools).named(target.tool) if described else ()
    tools = own or (_name_tool if len(target.tool) <= LONGEST_NAME else _name_tool.__wrapped__)(target.tool)
    named = list_leaves(target.text).names if fields and is_container(parse_json(target.text)) else ()
    said = " ".join(dict.fromkeys(named))[:MOST_NAMED]
    return make_setting(tools, said, Language.EN, target.branch.half, entries=target.branch.entries)


@lru_cache(256)
def _name_tool(name: str) -> ToolList:
    """A tool of which no more than its name is known, as a list."""
    return ToolList((ToolSchema(name, "", {}),))


LONGEST_NAME = 64
"""Characters of the longest name that is remembered."""


def list_own(target: ToolResultTarget, operator: str, part: str) -> tuple[Setting, tuple[Named, ...]]:
    """The entries on the system behind a result, with its setting: those on what the tool's name speaks of go
    before those on what the result's fields do, and these before those on its description; none where there
    are only such that fit everywhere."""
    for described, fields in ((False, False), (False, True), (True, True)):
        setting = find_system(target, described=described, fields=fields)
        if own := list_about(setting, operator, part):
            return setting, own
    return setting, ()


@lru_cache(1024)
def list_about(setting: Setting, operator: str, part: str) -> tuple[Named, ...]:
    """The fitting entries that say what they are about."""
    return tuple(one for one in list_fitting(setting, operator, part) if one[1].about)


MOST_NAMED = 600
"""Characters of the fields' names that are looked at."""


def find_prose(text: str) -> str:
    """The running text of a tool's result: its language is that of the result. Empty where it has none."""
    value = parse_json(text)
    if not is_container(value):
        return text[:LONGEST] if len(text.split()) >= PROSE else ""
    said = [leaf for leaf in list_leaves(text).values if type(leaf) is str and len(leaf) > LEAST]
    return " ".join([one for one in said if (len(one) > _SURE and one.isascii()) or _is_prose(one)])[:LONGEST]


def _is_prose(text: str) -> bool:
    if text.isascii():
        return len(text) // 2 > LEAST or len(text.split()) >= PROSE
    size = len(text.encode(errors="surrogatepass")) // 2
    return len(text) > size > LEAST or len(text.split()) >= PROSE


PROSE, LEAST = 5, 8
_SURE = 2 * LEAST + 1
"""The fewest words of running text; it is longer than so many characters."""


def _tell_language(text: str, branch: Branch) -> Language | None:
    language = detect_language(text)
    if language is None and not is_foreign(text):
        return detect_language(branch.opening)
    return language


def _make(
    text: str,
    tools: tuple[ToolSchema, ...],
    branch: Branch,
    language: Language,
    said: tuple[str, ...],
) -> Setting:
    address, guessed, listed = None, False, ToolList.of(tools)
    if language in _TWO_WAYS:
        address = detect_address(_list_user_texts(branch, said), language)
        address = address or _find_tools_address(listed.key, language)
        if guessed := address is None:
            informal = SeededRandom(f"address|{branch.key}").chance(0.5)
            address = Address.INFORMAL if informal else Address.FORMAL
    opening = branch.opening or text
    return make_setting(listed, opening, language, branch.half, address, branch.entries, guessed=guessed)


@lru_cache(256)
def _find_tools_address(keyed: ToolListKey, language: Language) -> Address | None:
    """How the tools' descriptions address people, where they are in the language."""
    described = " ".join([tool.description for tool in keyed.tools if tool.description])[:LONGEST]
    return find_common_address((described,), language) if detect_language(described) is language else None


def _list_user_texts(branch: Branch, said: tuple[str, ...]) -> Iterator[str]:
    """The text at hand, and what the user has said before it."""
    yield from said
    yield branch.opening
    yield from (one.text for one in branch.earlier if isinstance(one, UserText))


class PhraseDraw:
    """Draws an operator's phrases for one target. None comes twice in a conversation."""

    def __init__(self, target: UserTarget, setting: Setting, rng: SeededRandom, operator: str) -> None:
        self.settings = list_settings(setting)
        """In which entries are looked for, one after the other."""
        self._rng, self._operator = rng, operator
        self._met = target.branch.phrases
        self.names: list[str] = []
        """The entries that were drawn, for the draw's member `phrases`."""

    def draw(
        self,
        part: str,
        accept: Callable[[Entry], bool] | None = None,
        slots: Mapping[str, str] | None = None,
        *,
        among: int = ANY,
        own_first: bool = True,
        within: Setting | None = None,
    ) -> Phrase | None:
        """Draw an entry that fits. `own_first`: most often one of the conversation's own domain. `within`:
        in one of the settings only."""
        own = own_first and self._rng.chance(_OWN)
        used = self._met.union(self.names)
        for setting in (within,) if within else self.settings:
            found = draw_phrase(
                self._rng,
                setting,
                self._operator,
                part,
                slots=slots,
                used=used,
                accept=accept,
                among=among,
                own_first=own,
            )
            if found is not None:
                self.names.append(found.entry)
                return found
        return None


_OWN = 0.6
"""How often the pack of the conversation's own domain goes first."""
