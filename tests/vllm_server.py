"""`crosswind policy serve` as a real process with real vLLM, and the versions to publish to it."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Empty, Queue

import torch
from safetensors.torch import load_file
from tokenizers import AddedToken, Tokenizer

from benchmarks.engine.stack import add_moved
from crosswind.policies.embedded.checkpoint import read_shape
from crosswind.policies.engine import Engine
from crosswind.policies.publishers.registry import connect
from crosswind.policies.tiny.directory import write_policy
from crosswind.policies.versions.version import PRETRAINED, PolicyVersion, Registry, read_version
from crosswind.policies.vllm.launch import list_members
from tests.outage import Forwarder

STARTS_WITHIN = 400.0
"""Seconds. It takes 30 to 70 on an idle machine."""
ENDS_WITHIN = 60.0
"""Seconds."""
VERSIONS = 3
THOUGHT = ("<think>", "</think>")


@dataclass
class Lines:
    """What a process says, by line."""

    process: subprocess.Popen[str]
    said: list[str] = field(default_factory=list)
    _new: Queue[str | None] = field(default_factory=Queue)

    def __post_init__(self) -> None:
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._new.put(line.rstrip("\n"))
        self._new.put(None)

    def until(self, pattern: str) -> re.Match[str]:
        """Wait for a line that the pattern is found in."""
        while True:
            try:
                line = self._new.get(timeout=STARTS_WITHIN)
            except Empty:
                raise AssertionError(
                    f"nothing like {pattern!r} within {STARTS_WITHIN} s: {self.said}"
                ) from None
            if line is None:
                raise AssertionError(
                    f"it ended with {self.process.wait()} and never said {pattern!r}: {self.said}"
                )
            self.said.append(line)
            if found := re.search(pattern, line):
                return found


@dataclass
class VllmServed:
    """A running vLLM, what it served first, and the registry of all there is to publish."""

    url: str
    """The server's root; requests call the model `policy`."""
    first: PolicyVersion
    registry: Registry
    """`moved-1` to `moved-3` are the first version with random noise in its weights."""
    engine: Engine
    lines: Lines
    folder: Path
    way: Forwarder
    """To the control plane of the gateway that its supervisor tells; down."""

    def reset(self) -> None:
        """Serve the first version."""
        if self.engine.health().version != self.first.version:
            self.engine.publish(self.first)


def thinking(registry: Registry) -> PolicyVersion:
    """The package's policy with tokens for the ends of a thought, by which vLLM's parsers know reasoning."""
    source = read_version(PRETRAINED / "retail").path
    tokenizer = Tokenizer.from_file(str(source / "tokenizer.json"))
    tokenizer.add_tokens([AddedToken(mark, special=False, normalized=False) for mark in THOUGHT])
    weights = load_file(source / "model.safetensors")
    known = weights["model.embed_tokens.weight"]
    new = torch.zeros(tokenizer.get_vocab_size() - len(known), known.shape[1])
    weights["model.embed_tokens.weight"] = torch.cat((known, new))
    shape = replace(read_shape(source), vocabulary=tokenizer.get_vocab_size())

    def write(path: Path) -> None:
        write_policy(path, shape, weights, tokenizer)
        # As many models' own: nothing of it may be in what requests that don't say how to sample get.
        habits = {"do_sample": True, "temperature": 0.5, "top_k": 3, "top_p": 0.5, "eos_token_id": 1}
        (path / "generation_config.json").write_text(json.dumps(habits))

    return registry.add("retail", write)


@contextmanager
def serving_vllm(folder: Path, *arguments: str) -> Iterator[VllmServed]:
    """The package's policy, nearly, on a free port of the loopback. Who asks it to think gets reasoning."""
    registry = Registry(folder / "versions")
    first = thinking(registry)
    for step in range(1, VERSIONS + 1):
        add_moved(registry, first, f"moved-{step}", step)
    way = Forwarder(0)
    way.down()
    control = f"http://127.0.0.1:{way.port}"
    options = ("--port", "0", "--log", str(folder / "vllm.log"), "--control", control, *arguments)
    with supervised(str(first.path), *options, "--", "--reasoning-parser", "deepseek_v3") as lines:
        url = lines.until(r"^serving retail at (\S+)/v1$")[1]
        lines.until(r"^retail is confirmed at ")
        with connect(url) as engine:
            yield VllmServed(url, first, registry, engine, lines, folder, way)


def end_with_the_starter(served: VllmServed) -> None:
    """Kill whoever started vLLM, outright, and wait for all its processes to end by themselves.

    Raises AssertionError, naming those that live on, after `ENDS_WITHIN` seconds.
    """
    groups = re.findall(r"process group (\d+)", "\n".join(served.lines.said))
    pids = list_members(int(groups[-1]))
    assert len(pids) >= 3, f"no server in process group {groups[-1]}"
    descriptors = {pid: os.pidfd_open(pid) for pid in pids}
    served.lines.process.kill()
    until = time.monotonic() + ENDS_WITHIN
    left = []
    for pid, descriptor in descriptors.items():
        ended, _, _ = select.select([descriptor], [], [], max(0.0, until - time.monotonic()))
        left += [] if ended else [pid]
        os.close(descriptor)
    assert not left, f"vLLM's processes {left} outlive the one that started them"


@contextmanager
def supervised(*arguments: str) -> Iterator[Lines]:
    """A `crosswind policy serve` process, ended as an operator would end it."""
    program = f"from crosswind.policies.commands.policy import policy; policy({['serve', *arguments]!r})"
    with subprocess.Popen(
        [sys.executable, "-u", "-c", program],
        # The development routes are what vLLM has without our extension; both ways are tried on one server.
        env=os.environ | {"OMP_NUM_THREADS": "1", "VLLM_SERVER_DEV_MODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield Lines(process)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()
