"""Phrases from the packs that fit an operator's target."""

from __future__ import annotations

from crosswind.injectors.conversation import ToolList, ToolSchema
from crosswind.injectors.packs.draw import Setting, make_setting
from crosswind.injectors.packs.parts import Address
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Branch, ToolResultTarget, ToolTarget, UserTarget
from crosswind.injectors.text.languages import Language, detect_language, is_foreign

_TWO_WAYS = frozenset(Language) - {Language.EN}
"""Languages with two ways to address a reader."""


def find_setting(target: UserTarget | ToolResultTarget | ToolTarget) -> Setting | None:
    """The setting of the target's conversation, in the language of its text. A text too short to tell is in
    the language of the opening. None: it is in a language that has no pack.
    """
    match target:
        case UserTarget():
            return _find(target.own, target.tools, target.branch)
        case ToolResultTarget():
            return _find(target.branch.opening, target.tools, target.branch)
        case ToolTarget():
            return _find(
                " ".join(tool.description for tool in target.declared), target.declared, target.branch
            )


def _find(text: str, tools: tuple[ToolSchema, ...], branch: Branch) -> Setting | None:
    language = detect_language(text)
    if language is None and not is_foreign(text):
        language = detect_language(branch.opening)
    if language is None:
        return None
    address = None
    if language in _TWO_WAYS:
        informal = SeededRandom(f"address|{branch.key}").chance(0.5)
        address = Address.INFORMAL if informal else Address.FORMAL
    return make_setting(ToolList.of(tools), branch.opening or text, language, branch.half, address)
