"""The example configuration says what the defaults are."""

from __future__ import annotations

import pytest

from crosswind.gateway.client import OpenedSession
from crosswind.gateway.config.loading import load, read_document
from crosswind.gateway.config.sections import Section
from crosswind.gateway.config.settings import Settings
from crosswind.gateway.errors import ConfigurationError
from crosswind.studies.chaos.tasks import Task
from crosswind.studies.chaos.variables import make_variables
from tests import ROOT

EXAMPLE = ROOT / "crosswind.yaml"


def test_the_example_has_every_key_at_its_default() -> None:
    example, written = load(EXAMPLE, {}), read_document(EXAMPLE)
    assert example.model_dump() == load(None, {"upstream": "http://127.0.0.1:8000/v1"}).model_dump()
    assert set(written) == set(Settings.model_fields)
    for name in Settings.model_fields:
        if isinstance(section := getattr(example, name), Section):
            assert set(written[name]) == set(type(section).model_fields), name


def test_reading_again_makes_no_classes() -> None:
    """A class of settings takes megabytes: a gateway that is reloaded every minute would hold hundreds."""
    load(EXAMPLE, {})
    before = [*Settings.__subclasses__()]
    assert load(EXAMPLE, {"seed": 3}).seed == 3
    assert load(None, {"upstream": "http://127.0.0.1:8000/v1"}).seed == 0
    assert Settings.__subclasses__() == before


def test_what_an_agent_is_given_may_stand_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent, a checker or a tool may start a command of ours, which loads a configuration."""
    session = OpenedSession(
        id="s", base_url="http://h/v1", anthropic_base_url="http://h", api_key="k", arm="clean", plan={}
    )
    legs = [{"name": kind, "kind": kind, "path": f"/s/SESSION/{kind}"} for kind in ("mcp", "api")]
    task = Task("t", {"prompt": "say hello"})
    for name, value in make_variables(task, session, 0, legs, "run").items():
        monkeypatch.setenv(name, value)
    assert load(None, {"upstream": "http://127.0.0.1:9/v1"}).upstream
    monkeypatch.setenv("CROSSWIND_SESION", "s")
    with pytest.raises(ConfigurationError, match="did you mean 'CROSSWIND_SESSION'"):
        load(None, {"upstream": "http://127.0.0.1:9/v1"})
