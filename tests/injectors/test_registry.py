"""How operators are found."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint

import pytest

from crosswind.injectors import operator, registry
from crosswind.injectors.conversation import Site
from crosswind.injectors.targets import Recovery


class Nothing:
    """Severity: none."""

    def draw(self, target: object, rng: object, severity: float) -> None:
        return None

    def apply(self, target: object, draw: object) -> operator.Result:
        return operator.Result("", "")


def test_an_unknown_name_is_an_error_that_names_the_nearest() -> None:
    with pytest.raises(registry.UnknownOperatorError, match=r"'user\.typoes'; did you mean 'user\.typos'\?"):
        registry.resolve("user.typoes")


@pytest.mark.usefixtures("own_registry")
def test_two_operators_of_one_name_or_alias_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"'tool\.timeout' is registered twice"):
        operator.operator("tool.timeout", site=Site.TOOL_RESULT, recovery=Recovery.RETRY)(Nothing)
    operator.operator("tool.other", site=Site.TOOL_RESULT, recovery=Recovery.IGNORE, aliases=("Timeout",))(
        Nothing
    )
    with pytest.raises(ValueError, match="alias 'Timeout'"):
        registry.resolve("transient_timeout")


@pytest.mark.usefixtures("own_registry")
def test_third_parties_operators_come_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(self: EntryPoint) -> None:
        operator.operator("user.third", site=Site.USER_TEXT, recovery=Recovery.IGNORE)(Nothing)

    entry = EntryPoint("third", "third_party.operators", registry.ENTRY_POINTS)
    monkeypatch.setattr(
        registry, "entry_points", lambda group: [entry] if group == registry.ENTRY_POINTS else []
    )
    monkeypatch.setattr(EntryPoint, "load", load)
    registry._import_all.__wrapped__()
    assert registry.resolve("user.third").name == "user.third"


def test_a_broken_third_party_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("third", "no_such_package.operators", registry.ENTRY_POINTS)
    monkeypatch.setattr(registry, "entry_points", lambda group: [entry])
    with pytest.raises(registry.BrokenOperatorPackageError, match=r"'third' \(no_such_package.operators\)"):
        registry._import_all.__wrapped__()


def test_finding_operators_imports_nothing_heavy() -> None:
    code = (
        "import sys; from crosswind.injectors import registry; "
        "from crosswind.injectors.engine import messages, faults; registry.operators();"
        "heavy = {'torch', 'fastapi', 'aiohttp', 'openai', 'rich', 'click'} & set(sys.modules);"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_operator_without_a_method_or_with_a_wrong_version_is_refused() -> None:
    class Half:
        def draw(self, target: object, rng: object, severity: float) -> None: ...

    def offer(version: int = 1) -> Callable[[type], type]:
        site, recovery = Site.TOOL_RESULT, Recovery.NONE_NEEDED
        return operator.operator("tool.half", site=site, recovery=recovery, version=version)

    with pytest.raises(TypeError, match=r"operator 'tool\.half': .*Half lacks apply\(self, target, draw\)"):
        offer()(Half)
    with pytest.raises(ValueError, match="version 0 is wrong"):
        offer(version=0)(Half)
