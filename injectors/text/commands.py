"""Commands to a shell or a database that stand in a text without any marks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosswind.injectors.text.tokens import WordKind

_SQL = r"""\b(?:explain\ +)?(?:
      select\b(?!\ (?:a|an|the|one|my|it)\b)[^\n;?!]{1,400}?\bfrom\ +\w
    | insert\ +into\ +\w
    | delete\ +from\ +\w+\ +where\b
    | update\ +\w+\ +set\b
    | (?:create|drop|alter|truncate)\ +(?:table|index|view|database)\ +\w
    )[^\n;?!]*"""
_PROGRAMS = """
    apt apt-get awk chmod chown cp docker dotnet ffmpeg gcc git gradle grep journalctl kubectl ls mkdir
    mv mvn mysql npm npx pip pip3 pnpm podman psql pytest python python3 rg rm rmdir rsync scp ssh sudo
    systemctl terraform vim wget xargs
"""
"""Programs whose names are no words of a language."""
_SHELL = rf"""(?<![\w./-])(?:{"|".join(_PROGRAMS.split())})(?:\ +[^\s,;?!`]+){{0,6}}
    | (?<!\S)[\w.-]{{1,40}}(?:\ +[\w./-]{{1,80}})?(?:\ +(?:--?[a-z][\w=-]*|/[a-z]\b)){{1,8}}(?:\ +\d+)?"""
_COMMANDS = re.compile(_SQL, re.IGNORECASE | re.VERBOSE), re.compile(_SHELL, re.VERBOSE)
_FIRST_WORDS = frozenset(
    ("select", "insert", "delete", "update", "create", "drop", "alter", "truncate", *_PROGRAMS.split())
)
_OPTION = r"\s[-/][-a-z]"
_SIGNS = re.compile(rf"\b(?:{'|'.join(sorted(_FIRST_WORDS))})\b|{_OPTION}", re.IGNORECASE)
"""One of these is in every command: most texts have none."""
_OPTIONS = re.compile(_OPTION, re.IGNORECASE)
_BEGINS_ONE = WordKind(frozenset(word.rstrip("3").partition("-")[0] for word in _FIRST_WORDS).__contains__)


def _has_sign(text: str) -> bool:
    if not text.isascii():
        return _SIGNS.search(text) is not None
    if _BEGINS_ONE.may_stand_in(text):
        return True
    return ("-" in text or "/" in text) and _OPTIONS.search(text) is not None


def find_commands(text: str) -> Iterator[tuple[int, int]]:
    """The spans of the commands. What they end with may be too much."""
    if not _has_sign(text):
        return
    for pattern in _COMMANDS:
        for match in pattern.finditer(text):
            yield match.start(), match.start() + len(match[0].rstrip(" ."))
