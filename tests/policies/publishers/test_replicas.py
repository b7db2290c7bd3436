"""Several engines of one policy behind one: they swap in turn, and go back together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from crosswind.policies.deployment.confirmation import Probe, confirm
from crosswind.policies.engine import Engine, EngineError
from crosswind.policies.publishers.registry import connect
from crosswind.policies.publishers.replicas import ReplicatedEngine
from crosswind.policies.versions.version import Registry
from tests.outage import Forwarder
from tests.policies.conftest import Served, add_random, add_successor, serving

WORDS = ["a few other words, " * 3]
"""Another vocabulary."""


@pytest.fixture
def both(served: Served) -> Iterator[tuple[Engine, Engine, Engine]]:
    """Two replicas that serve `random-0` as one engine, and each by itself."""
    with (
        serving(served.first.path) as other,
        connect(f"{served.url}, {other}/v1") as together,
        connect(other) as second,
    ):
        yield together, served.client, second


def test_all_are_published_to_in_turn(served: Served, both: tuple[Engine, Engine, Engine]) -> None:
    together, first, second = both
    assert isinstance(together, ReplicatedEngine)
    assert together.health().version == "random-0"
    done = together.publish(served.registry.get("random-1"))
    assert done.version == "random-1"
    assert first.health().version == second.health().version == together.health().version == "random-1"
    assert together.health().swaps == 2
    scored = together.score([[1, 2, 3]], [[4, 5]])
    assert scored.version == "random-1"
    probe = Probe([[1, 2, 3]], [[4, 5]], first.score([[1, 2, 3]], [[4, 5]]).logprobs)
    assert confirm(together, "random-1", probe).difference.largest == 0.0


def test_replicas_that_part_are_seen(
    served: Served, both: tuple[Engine, Engine, Engine], tmp_path: Path
) -> None:
    together, first, second = both
    second.publish(served.registry.get("random-2"))
    assert together.health().version == "random-0 and random-2"
    with pytest.raises(EngineError, match=r"serves 'random-0', .* 'random-2': publish again"):
        together.score([[1]], [[2]])
    # Other weights under the same name: nobody but the log-probabilities tells.
    impostor = add_successor(Registry(tmp_path), served.first, "random-2", step=9)
    first.publish(impostor)
    with pytest.raises(EngineError, match=r"differ by .* both as 'random-2'"):
        together.score([[1, 2, 3]], [[4, 5]])


def test_where_one_refuses_all_go_back(served: Served, tmp_path: Path) -> None:
    foreign = add_random(Registry(tmp_path), "random-0", WORDS)
    with serving(foreign.path) as other, connect(f"{served.url},{other}") as together:
        with pytest.raises(EngineError, match=r"tokenizer.*; all serve 'random-0' again"):
            together.publish(served.registry.get("random-1"))
        assert served.client.health().version == "random-0"
        assert served.client.health().swaps == 2
    with (
        serving(foreign.path) as other,
        connect(f"{other},{served.url}") as together,
        pytest.raises(EngineError, match="no replica serves the new version"),
    ):
        together.publish(served.registry.get("random-1"))


def test_one_that_cant_go_back_doesnt_keep_the_others_from_it(served: Served, tmp_path: Path) -> None:
    gone = add_successor(Registry(tmp_path / "gone"), served.first, "gone")
    foreign = add_random(Registry(tmp_path / "foreign"), "gone", WORDS)
    with (
        serving(gone.path) as one,
        serving(gone.path) as two,
        serving(foreign.path) as other,
        connect(f"{one},{two},{other}") as together,
    ):
        (gone.path / "model.safetensors").unlink()
        with pytest.raises(EngineError, match="tokenizer") as caught:
            together.publish(served.registry.get("random-1"))
    assert all(f"{url} can't go back to 'gone': " in str(caught.value) for url in (one, two))


def test_one_that_is_away_is_left_out_until_it_is_published_to(served: Served) -> None:
    with serving(served.first.path) as other:
        way = Forwarder(int(other.rpartition(":")[2]))
        url = f"http://127.0.0.1:{way.port}"
        with connect(f"{url},{served.url}") as together:
            way.down()
            assert together.health().version == "random-0"
            done = together.publish(served.registry.get("random-1"))
            assert list(done.away) == [url] and "is the engine up?" in done.away[url]
            way.up()
            # It is back with what it served before: the others' word is not its own.
            assert together.health().version == "random-0 and random-1"
            scored = together.score([[1, 2, 3]], [[4, 5]])
            assert (scored.version, list(scored.away)) == ("random-1", [url])
            done = together.publish(served.registry.get("random-2"))
            assert together.health().version == "random-2" and not done.away
            assert not together.score([[1]], [[2]]).away
        way.down()
        with connect(f"{url},{served.url}") as together:
            assert list(together.publish(served.registry.get("random-1")).away) == [url]
            way.up()
            assert not together.publish(served.registry.get("random-2")).away
        way.down()
        with pytest.raises(EngineError, match="no engine answers there"):
            connect(f"{url},{url}/v1")
