"""Several engines of one policy behind one: they swap in turn, and go back together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from policies.confirmation import Probe, confirm
from policies.engine import Engine, EngineError
from policies.publishers.registry import connect
from policies.publishers.replicas import Replicas
from policies.tiny.directory import write_policy
from policies.tiny.model import Shape, initial_weights
from policies.tiny.tokenizer import train_tokenizer
from policies.version import PolicyVersion, Registry
from tests.policies.conftest import Served, add_successor, serving


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
    assert isinstance(together, Replicas)
    assert together.health().version == "random-0"
    done = together.publish(served.registry.get("random-1"))
    assert done.version == "random-1"
    assert first.health().version == second.health().version == together.health().version == "random-1"
    assert together.health().swaps == 2
    scored = together.score([[1, 2, 3]], [[4, 5]])
    assert scored.version == "random-1"
    probe = Probe([[1, 2, 3]], [[4, 5]], first.score([[1, 2, 3]], [[4, 5]]).logprobs)
    assert confirm(together, "random-1", probe).max_difference == 0.0


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
    foreign = _foreign(tmp_path, "random-0")
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
    foreign = _foreign(tmp_path / "foreign", "gone")
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


def _foreign(root: Path, name: str) -> PolicyVersion:
    """A version of another vocabulary."""
    tokenizer = train_tokenizer(["a few other words, " * 3])
    shape = Shape(tokenizer.get_vocab_size())
    weights = initial_weights(shape, 0)
    return Registry(root).add(name, lambda path: write_policy(path, shape, weights, tokenizer))
