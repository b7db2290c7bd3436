"""Every kind of engine behind one protocol, and which kind a server is seen to be."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from crosswind.policies import kinds
from crosswind.policies.deployment.confirmation import Probe, confirm
from crosswind.policies.engine import EngineError, ScoredTokens
from crosswind.policies.publishers import registry
from crosswind.policies.publishers.embedded import EmbeddedEngine
from crosswind.policies.publishers.hosted import HostedModel
from tests.policies.conftest import Served
from tests.policies.scripted import answering


def test_the_embedded_engine_is_known_by_what_it_says(served: Served) -> None:
    for url in (served.url, f"{served.url}/v1"):
        with registry.connect(url) as engine:
            assert isinstance(engine, EmbeddedEngine)
            assert engine.health().untrainable is None


@pytest.mark.parametrize(("status", "body"), [(200, {"data": [{"id": "m"}]}), (401, {"error": "a key"})])
def test_a_hosted_model_is_there_and_cant_be_trained(served: Served, status: int, body: Any) -> None:
    with answering({"/v1/models": body}, status) as url, registry.connect(url) as engine:
        assert isinstance(engine, HostedModel)
        assert "no token ids" in str(engine.health().untrainable)
        with pytest.raises(EngineError, match="'random-0' can't be published"):
            engine.publish(served.first)
        with pytest.raises(EngineError, match="can't be scored"):
            engine.score([[1]], [[2]])


def test_what_is_no_engine_is_refused_by_name() -> None:
    with (
        answering({"/v1/models": ["not", "models"]}) as url,
        pytest.raises(EngineError, match="embedded, hosted"),
    ):
        registry.connect(url)
    with pytest.raises(EngineError, match="is it up"):
        registry.connect("http://127.0.0.1:9", timeout=2)


def test_another_packages_engine_is_found_by_its_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "their_engine.py").write_text(
        "class Theirs:\n"
        "    name = 'theirs'\n"
        "    def __init__(self, url, *, timeout=1.0): self.url = url\n"
        "    @classmethod\n"
        "    def recognises(cls, url, timeout): return url.startswith('their:')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    entry = EntryPoint("theirs", "their_engine", registry.ENTRY_POINTS)
    monkeypatch.setattr(kinds, "entry_points", lambda group: [entry])
    kinds.find_kinds.cache_clear()
    try:
        assert type(registry.connect("their://engine")).__name__ == "Theirs"
    finally:
        kinds.find_kinds.cache_clear()
        sys.modules.pop("their_engine", None)


class _Scores(HostedModel):
    """An engine that scores by a given table."""

    def __init__(self, rows: list[list[float]]) -> None:
        super().__init__("http://engine")
        self.rows = rows

    def score(self, prompts: Any, completions: Any) -> ScoredTokens:
        return ScoredTokens("v", self.rows)


def test_a_number_that_is_none_is_never_within_tolerance() -> None:
    probe = Probe([[1], [2]], [[3, 4], [5]], [[-1.0, -2.0], [-3.0]])
    assert confirm(_Scores([[-1.0, -2.5], [-3.25]]), "v", probe).difference.largest == 0.5
    assert confirm(_Scores([[-1.0, float("nan")], [-3.0]]), "v", probe).difference.largest == float("inf")
    with pytest.raises(EngineError, match="2 log-probabilities for 3 tokens"):
        confirm(_Scores([[-1.0], [-3.0]]), "v", probe)
