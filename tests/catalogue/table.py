"""The table of the catalogue: every row, its operators and their aliases, profiles, protocols and tests.

`python -m tests.catalogue.table` writes the page. Profiles, protocols and tests
are found, not asserted: profiles by reading them, protocols by running a gateway, tests by their sources.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog
import yaml

from crosswind.injectors import registry
from crosswind.injectors.profiles import load as profile
from tests import ROOT
from tests.catalogue.probing import PROTOCOLS, find_protocols

PAGE = ROOT / "docs" / "noise-catalogue.md"
TESTS = ROOT / "tests" / "injectors"
EVERY = "test_every_operator.py"
"""The contract that every operator is under, named once above the table."""

HEAD = f"""\
# The catalogue of noise

Every kind of noise that the papers name, and some beyond them, with the operators that make it.
`crosswind noise show OPERATOR` says what one does, with an example. `make catalogue` writes this page. The
protocols are those on which the operator acted when a conversation went through a gateway. The profiles are
the built-in ones with a rule for it (`everything` has one for each). The tests are those under
`tests/injectors` that name it, besides `tests/{EVERY}`, which holds for all.

From: N NoisyAgent, B AgentNoiseBench, R RobustBench-TC, A state augmentation, W WildGrid, + beyond them.
"""


COLUMNS = ("noise", "from", "operator", "other names", "profiles", "protocols", "tests")


@dataclass(frozen=True, slots=True)
class Kind:
    """One row of the catalogue."""

    section: str
    noise: str
    papers: str
    says: str
    operators: tuple[str, ...]


def kinds() -> list[Kind]:
    """The catalogue's rows, in order."""
    document: dict[str, list[dict[str, Any]]] = yaml.safe_load(
        Path(__file__).with_name("rows.yaml").read_text("utf-8")
    )
    return [
        Kind(section, row["noise"], row["from"], row["is"], tuple(row["operators"]))
        for section, rows in document.items()
        for row in rows
    ]


def further() -> list[Kind]:
    """Operators that no row names, ours only: each a row of its own."""
    listed = {operator for kind in kinds() for operator in kind.operators}
    return [
        Kind("further", name.partition(".")[2], "", entry.documentation.partition("\n\n")[0], (name,))
        for name, entry in sorted(registry.operators().items())
        if name not in listed and not entry.origin
    ]


def profiles_of(operator: str) -> list[str]:
    """The built-in profiles with a rule for the operator, companions too; levels aside."""
    found = []
    for name in profile.names():
        rules = [one for rule in profile.load(name).rules for one in (rule, *rule.companions)]
        if name != "everything" and any(rule.operator == operator for rule in rules):
            found.append(name)
    return found


def tests_of(operator: str) -> list[str]:
    """The test modules that name the operator or an alias as a string, the list of all names aside."""
    entry = registry.operators()[operator]
    names = "|".join(re.escape(name) for name in (operator, *entry.aliases))
    named = re.compile(rf"(?<![\w./-])(?:{names})(?![\w./-])")
    return [
        str(file.relative_to(TESTS)).removesuffix(".py").replace("test_", "")
        for file in sorted({*TESTS.rglob("test_*.py"), *TESTS.rglob("worked/*.py")})
        if file.name != "test_names.py"
        and named.search("\n".join(re.findall(r"\"[^\"\n]*\"", file.read_text("utf-8"))))
    ]


def page(protocols: dict[str, list[str]]) -> str:
    """The page, where each operator acts on these protocols."""
    lines = [HEAD]
    section = ""
    for kind in (*kinds(), *further()):
        if kind.section != section:
            section = kind.section
            lines += [
                f"\n## {section.capitalize()}\n",
                f"| {' | '.join(COLUMNS)} |",
                f"|{'---|' * len(COLUMNS)}",
            ]
        lines += _rows(kind, protocols)
    return "\n".join(lines) + "\n"


def _rows(kind: Kind, protocols: dict[str, list[str]]) -> Iterator[str]:
    for number, operator in enumerate(kind.operators):
        entry = registry.operators()[operator]
        cells = (
            f"**{kind.noise}**: {kind.says}" if number == 0 else "",
            kind.papers if number == 0 else "",
            f"`{operator}`",
            ", ".join(f"`{alias}`" for alias in entry.aliases),
            ", ".join(profiles_of(operator)),
            "all" if protocols[operator] == list(PROTOCOLS) else ", ".join(protocols[operator]),
            ", ".join(tests_of(operator)),
        )
        yield f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    # Logs would end the gateway's recorder when whoever reads them closes the pipe.
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    with tempfile.TemporaryDirectory() as scratch:
        PAGE.write_text(page(asyncio.run(find_protocols(Path(scratch)))), encoding="utf-8")
