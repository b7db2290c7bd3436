"""vLLM while it serves a policy that gives odd answers when asked to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from crosswind.policies.versions.version import PolicyVersion
from tests.policies.vllm.reciting import reciting
from tests.vllm_server import VllmServed


@dataclass(frozen=True)
class Reciting:
    """Where vLLM is, and the version that it serves there."""

    url: str
    version: PolicyVersion
    served: VllmServed

    @property
    def path(self) -> Path:
        return self.version.path


@pytest.fixture(scope="session")
def reciting_version(vllm_server: VllmServed) -> PolicyVersion:
    return reciting(vllm_server.registry, vllm_server.first)


@pytest.fixture
def recites(vllm: VllmServed, reciting_version: PolicyVersion) -> Iterator[Reciting]:
    """vLLM serves the reciting policy within the test."""
    vllm.engine.publish(reciting_version)
    yield Reciting(vllm.url, reciting_version, vllm)
