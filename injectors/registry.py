"""All operators by name: ours found by walking the sub-packages, third parties' by the entry point
`crosswind.operators`.

A third party's entry point names a module; importing it runs the module's `@operator` decorators.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points

from crosswind.injectors import operators as operators_package
from crosswind.injectors.operator import Registered, registered_operators

ENTRY_POINTS = "crosswind.operators"


class UnknownOperatorError(ValueError):
    """No operator has that name or alias; the message names the nearest."""


class BrokenOperatorPackageError(RuntimeError):
    """A third party's operator module can't be imported; the message names its entry point."""


@cache
def _import_all() -> None:
    for module in pkgutil.walk_packages(operators_package.__path__, f"{operators_package.__name__}."):
        importlib.import_module(module.name)
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            entry.load()
        except Exception as error:
            raise BrokenOperatorPackageError(
                f"entry point {entry.name!r} ({entry.value}) of group {ENTRY_POINTS!r} can't be imported: "
                f"{type(error).__name__}: {error}; repair or uninstall the package that declares it"
            ) from error


def has_third_parties() -> bool:
    """Whether any package besides ours brings operators. Imports none of them."""
    return bool(entry_points(group=ENTRY_POINTS))


def operators() -> Mapping[str, Registered]:
    _import_all()
    return registered_operators()


def is_ours(name: str) -> bool:
    """Whether an operator is installed, and no third party's."""
    entry = operators().get(name)
    return entry is not None and not entry.origin


def aliases() -> dict[str, str]:
    """Other people's names for our operators (the papers' code and display names), to our names."""
    found: dict[str, str] = {}
    for name, entry in operators().items():
        for alias in entry.aliases:
            if found.setdefault(alias, name) != name or alias in operators():
                raise ValueError(
                    f"operator alias {alias!r} of {name!r} is taken: give one of the two another alias"
                )
    return found


def resolve(name_or_alias: str) -> Registered:
    """The operator of that name or alias. Unknown: UnknownOperatorError naming the nearest."""
    known = operators()
    if name_or_alias in known:
        return known[name_or_alias]
    by_alias = aliases()
    if name_or_alias in by_alias:
        return known[by_alias[name_or_alias]]
    raise UnknownOperatorError(
        f"unknown operator {name_or_alias!r}; {nearest(name_or_alias, [*known, *by_alias])}"
    )


def nearest(value: str, names: list[str]) -> str:
    """The end of an error message: the nearest of `names` to a value that isn't among them, those that
    contain it, or all."""
    folded = {name.lower(): name for name in sorted(names)}
    close = difflib.get_close_matches(value.lower(), folded, n=1)
    within = sorted((name for name in folded if value and value.lower() in name), key=len)[:3]
    if found := close or within:
        return f"did you mean {' or '.join(repr(folded[name]) for name in found)}?"
    return f"known are: {', '.join(sorted(names))}"
