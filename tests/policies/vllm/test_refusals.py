"""What must not be served is refused with its reason, and the last good version serves on."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
import torch
from safetensors.torch import load_file

from crosswind.policies.engine import EngineError
from crosswind.policies.tiny.directory import write_successor
from crosswind.policies.versions.version import METADATA, PolicyVersion, Registry, write_metadata
from tests.policies.asking import ask, chat, sampled
from tests.policies.conftest import SPOILT, add_random
from tests.policies.vllm.reference import TOLERANCE, furthest, logprobs
from tests.vllm_server import VllmServed

pytestmark = pytest.mark.vllm

Weights = dict[str, torch.Tensor]


def _spoilt(served: VllmServed, root: Path, spoil: Callable[[Weights], None]) -> PolicyVersion:
    weights = load_file(served.first.path / "model.safetensors")
    spoil(weights)
    return Registry(root).add("spoilt", lambda path: write_successor(path, served.first.path, weights))


@SPOILT
def test_spoilt_weights(
    vllm: VllmServed, tmp_path: Path, spoil: Callable[[Weights], None], reason: str
) -> None:
    _assert_refused(vllm, _spoilt(vllm, tmp_path, spoil), reason)


def test_missing_and_changed_files(vllm: VllmServed, tmp_path: Path) -> None:
    for number, name in enumerate(("model.safetensors", METADATA, "tokenizer.json", "config.json")):
        bad = _spoilt(vllm, tmp_path / str(number), lambda weights: None)
        (bad.path / name).unlink()
        _assert_refused(vllm, bad, f"{name}: can't be read")
    torn = _spoilt(vllm, tmp_path / "torn", lambda weights: None)
    weights = torn.path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    _assert_refused(vllm, torn, "checksum")
    _assert_refused(vllm, write_metadata(torn), r"has \d+ bytes, must have \d+")
    _assert_refused(vllm, PolicyVersion("nowhere", tmp_path / "nowhere"), "can't be read")
    _assert_refused(vllm, PolicyVersion("renamed", vllm.first.path), "holds version 'retail'")


def test_another_architecture_vocabulary_or_template(vllm: VllmServed, tmp_path: Path) -> None:
    other = add_random(Registry(tmp_path / "a"), "other", ["quite other words than those of the first, " * 3])
    _assert_refused(vllm, other, "its tokenizer.json isn't the one that is served")

    def edited(name: str, edit: Callable[[Any], bytes]) -> PolicyVersion:
        made = _spoilt(vllm, tmp_path / name, lambda weights: None)
        (made.path / name).write_bytes(edit((made.path / name).read_bytes()))
        return write_metadata(made)

    wider = edited("config.json", lambda raw: orjson.dumps(orjson.loads(raw) | {"rope_theta": 5000.0}))
    _assert_refused(vllm, wider, "config.json's rope_theta is 5000.0, this engine serves 10000.0")
    templated = edited("chat_template.jinja", lambda raw: raw + b" ")
    _assert_refused(vllm, templated, "its chat_template.jinja isn't the one that is served")


def test_a_disk_that_doesnt_take_what_a_restart_needs(vllm: VllmServed) -> None:
    """Refused before anything is swapped, or the version would be forgotten with the process."""
    server = int(re.findall(r"process group (\d+)", "\n".join(vllm.lines.said))[-1])
    variables = Path(f"/proc/{server}/environ").read_bytes().decode().split("\0")
    (state,) = [one.partition("=")[2] for one in variables if one.startswith("CROSSWIND_STATE=")]
    in_the_way = Path(f"{state}.new")
    in_the_way.mkdir()
    try:
        _assert_refused(vllm, vllm.registry.get("moved-1"), "can't be written down .* serves on: free space")
    finally:
        in_the_way.rmdir()
    assert orjson.loads(Path(state).read_bytes())["version"] == "retail"
    vllm.engine.publish(vllm.registry.get("moved-1"))
    assert orjson.loads(Path(state).read_bytes())["version"] == "moved-1"


def _assert_refused(served: VllmServed, version: PolicyVersion, reason: str) -> None:
    swaps = served.engine.health().swaps
    with pytest.raises(EngineError, match=reason):
        served.engine.publish(version)
    health = served.engine.health()
    assert (health.version, health.swaps) == ("retail", swaps)
    read = sampled(ask(served.url, chat("Hello", max_tokens=3)))
    assert read.versions == ["retail"]
    assert furthest(read.logprobs, logprobs(served.first.path, read.prompt, read.tokens)) < TOLERANCE
